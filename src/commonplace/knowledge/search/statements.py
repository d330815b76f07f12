"""The statements of a search, written once and made for each table.

Episodes, facts and rules are searched alike. The files of ``search_sql/`` have gaps where they differ; what fills
them is fixed here, and no value of a caller ever does.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from string import Template
from typing import Final

import aiosql
from aiosql.queries import Queries

from commonplace.core.errors import InvalidInputError
from commonplace.knowledge.kinds import COLUMNS, DEFAULT_IMPORTANCE, Episode, Fact, Memory, MemoryType, Rule
from commonplace.knowledge.search.scoring import RRF_K

_DIRECTORY: Final = Path(__file__).parent / "sql_by_table"
_OWN: Final = "tenant_id = current_setting('commonplace.tenant_id', true)"
_CONFIDENT: Final = (
    "(CAST(:min_confidence AS float8) IS NULL OR CASE WHEN last_confirmed_at IS NULL AND decay_rate <> 0 THEN 0"
    " ELSE commonplace_effective_confidence(confidence, decay_rate, last_confirmed_at, :now) END >= :min_confidence)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchTable:
    """What the search needs to know of a table.

    Attributes:
        memory_type: The kind of its memories.
        noun: The class of its memories.
        memories: Its name; the table of its words is named after the memory's type.
        scope: The column that a scope filters by.
        live: Which rows are found, in SQL.
        countable: Which rows are counted to know its size, where an index can tell.
        importance: The importance of a row, in SQL.
    """

    memory_type: MemoryType
    noun: type[Memory]
    memories: str
    scope: str
    live: str
    countable: str
    importance: str = "m.importance"


TABLES: Final[Mapping[str, SearchTable]] = {
    table.memories: table
    for table in (
        SearchTable(
            memory_type=MemoryType.EPISODE,
            noun=Episode,
            memories="episodes",
            scope="butler",
            live="(expires_at IS NULL OR expires_at > :now)",
            countable="true",
        ),
        SearchTable(
            memory_type=MemoryType.FACT,
            noun=Fact,
            memories="facts",
            scope="scope",
            live=f"validity = 'active' AND {_CONFIDENT}",
            countable="validity = 'active'",
        ),
        SearchTable(
            memory_type=MemoryType.RULE,
            noun=Rule,
            memories="rules",
            scope="scope",
            live=f"(metadata -> 'forgotten') IS DISTINCT FROM 'true' AND {_CONFIDENT}",
            countable="true",
            importance=f"CAST({DEFAULT_IMPORTANCE} AS float8)",
        ),
    )
}
"""By the table's name."""


def require_table(name: str) -> SearchTable:
    """Return a table of memories, or refuse the name.

    Raises:
        InvalidInputError: It is none of the three.
    """
    table = TABLES.get(name)
    if table is None:
        raise InvalidInputError("table", f"one of {', '.join(TABLES)}", name)
    return table


@cache
def search_queries(table: SearchTable, *, scoped: bool) -> Queries:
    """Return the named statements of one table; made once.

    Args:
        table: Which.
        scoped: With the parameter ``scopes``, and only for rows in one of them. The condition is not a part of
            the other form, because no index serves one that may be absent.
    """
    in_scopes = " AND {} = ANY(CAST(:scopes AS text[]))" if scoped else ""
    gaps = {
        "memories": table.memories,
        "words": f"{table.memory_type}_words",
        "own": _OWN + in_scopes.format(table.scope),
        "own_words": _OWN + in_scopes.format("scope"),
        "live": table.live,
        "countable": table.countable,
        "rrf_k": str(RRF_K),
        "columns": ", ".join(f"m.{column}" for column in COLUMNS[table.memory_type]),
    }
    gaps["candidates"] = _read("candidates").substitute(gaps)
    gaps |= _session_gaps(table, gaps)
    text = "\n\n".join(_read(file).substitute(gaps) for file in ("searches", "ranked"))
    # Which parameters there are follows from what a statement takes of the candidates, so none is listed.
    return aiosql.from_str(  # pyright: ignore[reportUnknownMemberType] - its stubs
        text, "asyncpg", mandatory_parameters=False
    )


def _session_gaps(table: SearchTable, gaps: Mapping[str, str]) -> dict[str, str]:
    """Return what differs between turns of a session and memories that stand alone."""
    gaps = {**gaps, "scope": table.scope, "importance": table.importance}
    if table.memory_type is not MemoryType.EPISODE:
        alone = {"pool": "SELECT id FROM seed", "next_id": "CAST(NULL AS uuid)", "order": "m.id"}
        return {**gaps, **alone, "vector": "CAST(NULL AS bytea)"}
    return {
        **gaps,
        "pool": _read("turns").substitute(gaps),
        "next_id": _read("next_turn").substitute(gaps),
        "order": "m.session_id, m.created_at, m.insertion_order",
        "vector": "vector_send(coalesce(m.embedding, CAST(array_fill(0, ARRAY[384]) AS vector(384))))",
    }


@cache
def _read(name: str) -> Template:
    return Template((_DIRECTORY / f"{name}.sql").read_text(encoding="utf-8"))
