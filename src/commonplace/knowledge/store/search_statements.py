"""The statements of a search, written once and made for each table.

Episodes, facts and rules are searched alike. The files in ``sql_by_table/`` have placeholders where the tables differ.
The texts for the placeholders are constants of this module, never values of a caller.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from string import Template
from typing import Final

import aiosql

from commonplace.core.errors import InvalidInputError
from commonplace.knowledge.model.bounds import DEFAULT_IMPORTANCE, MAX_LIMIT
from commonplace.knowledge.model.kinds import COLUMNS, Episode, Fact, Memory, MemoryType, Rule
from commonplace.knowledge.rules.scoring import RRF_K
from commonplace.knowledge.store.search_filters import FILTERED
from commonplace.knowledge.store.statements import SearchStatements
from commonplace.language.literal import PLAIN_SIGNS
from commonplace.storage.database import StatementLoader, StatementSet

PRODUCTS: Final = ("product_0", "product_1", "product_2", "product_3", "product_4")
"""Columns with the product of the vectors of a turn and of the turn 0, 1, 2, 3 or 4 places after it."""

_STEPS: Final = (20, 40, 60, 100, 200, 500, 1000, 2 * MAX_LIMIT)
_DIRECTORY: Final = Path(__file__).parent / "sql_by_table" / "search"
_OWN: Final = "tenant_id = current_setting('commonplace.tenant_id', true)"
_PASSAGE_DISTANCE: Final = (
    "(SELECT min((p.embedding <=> CAST(CAST(:embedding AS vector(384)) AS halfvec(384))) + 0) FROM {passages} AS p"
    " WHERE (SELECT exist FROM passages) AND p.tenant_id = m.tenant_id AND p.memory_id = m.id)"
)
"""The distance of the nearest passage of a memory ``m``; null without passages. ``+ 0`` keeps the server from the index
on vectors, which cannot look for the passages of one memory."""

_CONFIDENT: Final = (
    "(CAST(:min_confidence AS float8) IS NULL OR CASE WHEN last_confirmed_at IS NULL AND decay_rate <> 0 THEN 0"
    " ELSE commonplace_effective_confidence(confidence, decay_rate, last_confirmed_at, :now) END >= :min_confidence)"
)

_TRUSTED: Final = (
    "trust = ANY(CAST(:trusts AS text[]))"
    " AND (CAST(:with_flagged AS boolean) OR flags = '[]' OR trust = 'person')"
)
_FORGOTTEN_EPISODE: Final = (
    "EXISTS (SELECT FROM memory_events AS event WHERE event.tenant_id = current_setting('commonplace.tenant_id', true)"
    " AND event.event_type = 'episode_forgotten' AND event.about_id = CAST({episode} AS text)"
    " AND event.created_at > coalesce({confirmed}, '-infinity') AND NOT EXISTS (SELECT FROM memory_events AS later"
    " WHERE later.tenant_id = event.tenant_id AND later.about_id = event.about_id"
    " AND later.event_type = 'episode_restored' AND later.created_at > event.created_at))"
)
_FACT_THEN: Final = (
    "commonplace_fact_then(id, created_at, confidence, decay_rate, CAST(:as_of AS timestamptz),"
    " CAST(:valid_at AS timestamptz), :now, CAST(:min_confidence AS float8))"
)
_RULE_THEN: Final = (
    "(CAST(:as_of AS timestamptz) IS NULL OR created_at <= :as_of) AND commonplace_rule_forgotten(id, metadata,"
    " CAST(:as_of AS timestamptz)) IS FALSE"
)

_BARE: Final = (
    "CASE WHEN octet_length({text}) = length({text}) THEN lower({text}) ELSE translate("
    "lower(regexp_replace(normalize({text}, NFKD), '[\u0300-\u036f]+', '', 'g')), {signs}) END"
)
"""Bare text, see :func:`~commonplace.language.literal.bare`. Normalising takes ten times as long as the rest, and does
not change ASCII."""

_TEXT_OF_FACT: Final = "concat_ws(' ', m.subject, m.predicate, m.content)"
_NAMES_OF_ENTITY: Final = "concat_ws(' ', m.canonical_name, array_to_string(m.aliases, ' '))"
_ABOUT_ENTITY: Final = (
    "(m.entity_id = ANY(CAST(:about_ids AS uuid[]))"
    " OR EXISTS (SELECT FROM commonplace_mentioned(m.id) AS named (entity)"
    " WHERE named.entity = ANY(CAST(:about_ids AS uuid[]))))"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """The conditions that the statements of a search contain.

    No index serves a condition that may be absent, so each combination has its own statements.

    Attributes:
        scoped: Only rows of some scopes are found.
        past: Rows that were found at an earlier moment are found.
        guarded: Rows of little trust, and rows with flags, are left out.
        filtered: Only rows that pass :data:`~.search_filters.FILTERED` are found; all of them are compared.
    """

    scoped: bool
    past: bool = False
    guarded: bool = False
    filtered: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchTable:
    """Properties of a table that a search uses.

    Attributes:
        memory_type: The kind of its memories.
        noun: The class of its memories.
        memories: Its name; the table of its words is named after the memory's type.
        scope: The column that a scope filters by.
        scopes: The parameter with the scopes.
        active: The condition for rows that are found, apart from their confidence, in SQL.
        countable: The condition for rows that count for the size of the table, in SQL, so that an index can count.
        then: The condition for rows that were found at an earlier moment, in SQL.
        has_confidence: Whether rows with too little confidence are left out.
        importance: The importance of a row, in SQL.
        scope_then: The scope of a row at that moment, in SQL; empty if the scope is that of the present.
    """

    memory_type: MemoryType
    noun: type[Memory]
    memories: str
    scope: str
    scopes: str
    active: str
    countable: str
    then: str
    has_confidence: bool = True
    importance: str = "m.importance"
    scope_then: str = ""

    @property
    def stale(self) -> str:
        """The condition for a row whose source no longer holds, in SQL."""
        if self.memory_type is MemoryType.EPISODE:
            return "false"
        forgotten = _FORGOTTEN_EPISODE.format(episode="m.source_episode_id", confirmed="m.last_confirmed_at")
        return f"(commonplace_is_stale('{self.memory_type}', m.id, m.last_confirmed_at) OR {forgotten})"

    def live(self, form: Form) -> str:
        """Return the condition for rows that are found now, or were found at an earlier moment, in SQL."""
        found = self.then if form.past else self.active
        if self.has_confidence and not form.past:
            found = f"{found} AND {_CONFIDENT}"
        return f"{found} AND {_TRUSTED}" if form.guarded else found


TABLES: Final[Mapping[str, SearchTable]] = {
    table.memories: table
    for table in (
        SearchTable(
            memory_type=MemoryType.EPISODE,
            noun=Episode,
            memories="episodes",
            scope="butler",
            scopes="butlers",
            active="(expires_at IS NULL OR expires_at > :now)",
            countable="true",
            has_confidence=False,
            then="(CAST(:as_of AS timestamptz) IS NULL OR created_at <= :as_of)"
            " AND (expires_at IS NULL OR expires_at > coalesce(CAST(:as_of AS timestamptz), :now))",
        ),
        SearchTable(
            memory_type=MemoryType.FACT,
            noun=Fact,
            memories="facts",
            scope="scope",
            scopes="scopes",
            active="validity = 'active' AND (valid_to IS NULL OR valid_to > :now)",
            countable="validity = 'active'",
            then=f"{_FACT_THEN} IS NOT NULL",
            scope_then=_FACT_THEN,
        ),
        SearchTable(
            memory_type=MemoryType.RULE,
            noun=Rule,
            memories="rules",
            scope="scope",
            scopes="scopes",
            active="(metadata -> 'forgotten') IS DISTINCT FROM 'true'",
            countable="true",
            importance=f"CAST({DEFAULT_IMPORTANCE} AS float8)",
            then=_RULE_THEN,
        ),
    )
}
"""By the table's name."""


def require_table(name: str) -> SearchTable:
    """Return a table of memories.

    Raises:
        InvalidInputError: No table has the name.
    """
    table = TABLES.get(name) if isinstance(name, str) else None  # pyright: ignore[reportUnnecessaryIsInstance] - from callers
    if table is None:
        raise InvalidInputError("table", f"one of {', '.join(TABLES)}", name)
    return table


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """Reach of a search: how many memories are kept for their words, and how many for their vectors."""

    matches: int
    neighbours: int

    @classmethod
    def of(cls, *, matches: int, neighbours: int) -> "Reach":
        """Return the smallest reach in a fixed set that covers the wanted reach, so that few statements are made."""
        return cls(matches=_step(matches), neighbours=_step(neighbours))


def _step(number: int) -> int:
    return next(step for step in _STEPS if step >= number)


@cache
def search_queries(table: SearchTable, reach: Reach, form: Form) -> StatementSet[SearchStatements]:
    """Return the named statements that search one table; made once."""
    return _queries(_read("searches").substitute(_gaps(table, reach, form)))


@cache
def ranking_queries(
    tables: tuple[SearchTable, ...], reach: Reach, form: Form
) -> StatementSet[SearchStatements]:
    """Return the statement ``ranked_candidates``, with a row for each table; made once."""
    parts = (
        _read("ranked_of_table").substitute(_session_gaps(table, _gaps(table, reach, form)))
        for table in tables
    )
    return _queries(_read("ranked").substitute(tables="UNION ALL\n".join(parts)))


@cache
def related_queries(form: Form) -> StatementSet[SearchStatements]:
    """Return the statement ``related_facts``; made once."""
    reach = Reach.of(matches=1, neighbours=1)
    return _queries(_read("related").substitute(_gaps(TABLES["facts"], reach, form)))


@cache
def reading_queries(form: Form) -> StatementSet[SearchStatements]:
    """Return the statement ``read_memories`` over all tables; made once."""
    columns = [
        f"{table.memory_type}.{column} AS {table.memory_type}_{column}"
        for table in TABLES.values()
        for column in COLUMNS[table.memory_type]
    ]
    forgotten = _FORGOTTEN_EPISODE.format(
        episode="coalesce(fact.source_episode_id, rule.source_episode_id)",
        confirmed="coalesce(fact.last_confirmed_at, rule.last_confirmed_at)",
    )
    gaps = {"columns": ", ".join(columns), "forgotten_episode": forgotten}
    for table in TABLES.values():
        gaps[f"own_{table.memory_type}"] = _own(table, _scope(table, form), form)
        active = table.then if form.past else table.active
        if form.filtered:
            active = f"{active} AND {FILTERED[table.memory_type]}"
        gaps[f"active_{table.memory_type}"] = f"{active} AND {_TRUSTED}" if form.guarded else active
    return _queries(_read("read").substitute(gaps))


@cache
def literal_queries(table: SearchTable, form: Form) -> StatementSet[SearchStatements]:
    """Return the statement ``literal_search`` over one table; made once."""
    is_fact = table.memory_type is MemoryType.FACT
    gaps = _gaps(table, Reach.of(matches=1, neighbours=1), form)
    text = _TEXT_OF_FACT if is_fact else "m.content"
    about = _ABOUT_ENTITY if is_fact else "false"
    return _queries(_read("literal").substitute(gaps, bare_text=_bare(text), is_about=about))


@cache
def literal_entity_queries() -> StatementSet[SearchStatements]:
    """Return the statement ``literal_entities``; made once."""
    return _queries(_read("literal_entities").substitute(own=_OWN, bare_text=_bare(_NAMES_OF_ENTITY)))


def _bare(text: str) -> str:
    signs = ", ".join("'" + each.replace("'", "''") + "'" for each in PLAIN_SIGNS)
    return _BARE.format(text=text, signs=signs)


@cache
def spelling_queries(tables: tuple[SearchTable, ...], form: Form) -> StatementSet[SearchStatements]:
    """Return the statement ``known_words``, which returns the words that memories of the tables hold; made once."""
    parts = (
        _read("known_words_of_table").substitute(
            words=f"{table.memory_type}_words", own_words=_own(table, "scope", form)
        )
        for table in tables
    )
    return _queries(_read("known_words").substitute(tables="UNION ALL\n".join(parts)))


def _queries(text: str) -> StatementSet[SearchStatements]:
    # A statement uses some of the parameters of its candidates, so the files list none.
    queries = aiosql.from_str(  # pyright: ignore[reportUnknownMemberType] - its stubs
        text, "asyncpg", mandatory_parameters=False, loader_cls=StatementLoader
    )
    return StatementSet(SearchStatements, queries)


def _own(table: SearchTable, column: str, form: Form) -> str:
    return f"{_OWN} AND {column} = ANY(CAST(:{table.scopes} AS text[]))" if form.scoped else _OWN


def _scope(table: SearchTable, form: Form) -> str:
    return (table.scope_then if form.past else "") or table.scope


def _gaps(table: SearchTable, reach: Reach, form: Form) -> dict[str, str]:
    live = table.live(form)
    gaps = {
        "memories": table.memories,
        "words": f"{table.memory_type}_words",
        "own": _own(table, _scope(table, form), form),
        "own_words": _own(table, "scope", form),
        "passages": f"{table.memory_type}_passages",
        "own_passages": _OWN,
        "passage_distance": _PASSAGE_DISTANCE.format(passages=f"{table.memory_type}_passages"),
        "all_scopes": "false" if form.scoped else "true",
        "matches": str(reach.matches),
        "neighbours": str(reach.neighbours),
        "live": f"{live} AND {FILTERED[table.memory_type]}" if form.filtered else live,
        "stale": table.stale,
        "countable": table.countable,
        "importance": table.importance,
        "rrf_k": str(RRF_K),
        "columns": ", ".join(f"m.{column}" for column in COLUMNS[table.memory_type]),
    }
    gaps |= {part: _read(part).substitute(gaps) for part in ("query_words", "semantic")}
    beginning = "candidates_then" if form.past or form.filtered else "candidates"
    return gaps | {"candidates": _read(beginning).substitute(gaps)}


def _session_gaps(table: SearchTable, gaps: Mapping[str, str]) -> dict[str, str]:
    """Return the texts that differ between turns of a session and other memories."""
    gaps = {
        **gaps,
        "type": f"CAST('{table.memory_type}' AS text)",
        "scope": table.scope,
    }
    if table.memory_type is not MemoryType.EPISODE:
        return {
            **gaps,
            "pool": "SELECT id, CAST(NULL AS uuid) AS next_id FROM seed",
            "order": "m.id",
            "direction": "",
            "products": "",
            "product_arrays": ", ".join(f"CAST(NULL AS float8[]) AS {name}" for name in PRODUCTS),
        }
    products = (
        f"-(m.direction <#> lead(m.direction, {distance}) OVER in_order) AS {name},"
        for distance, name in enumerate(PRODUCTS)
    )
    return {
        **gaps,
        "pool": _read("turns").substitute(gaps),
        "order": "m.session_id, m.created_at, m.insertion_order",
        "direction": ", l2_normalize(stored.meaning) AS direction",
        "products": " ".join(products),
        "product_arrays": ", ".join(
            f"array_agg(coalesce({name}, 0) ORDER BY place) AS {name}" for name in PRODUCTS
        ),
    }


@cache
def _read(name: str) -> Template:
    return Template((_DIRECTORY / f"{name}.sql").read_text(encoding="utf-8"))
