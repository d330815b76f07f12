"""Which entity a name means: ranked candidates, never a new entity.

Source: KNW-17. Folded names decide, see :mod:`.names`; the database only narrows down what is looked at.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

import asyncpg

from commonplace.knowledge.entities.fields import EntityType, require_name, require_type
from commonplace.knowledge.entities.names import (
    BASE_SCORES,
    NameMatch,
    fold_name,
    fold_names,
    match_name,
    split_names,
)
from commonplace.knowledge.entities.neighbourhood import (
    MAX_FACTS,
    ContextHints,
    neighbourhood_boost,
    require_hints,
)
from commonplace.knowledge.entities.registry import require_tenant
from commonplace.knowledge.entities.trigrams import MIN_CHARS, THRESHOLD, most_similar, required_pieces
from commonplace.knowledge.unit_of_work import unit_of_work
from commonplace.storage.database import Row, Statements

MAX_CANDIDATES: Final = 500
"""Of the first three tiers, and again of the fuzzy one: the best by tier or similarity, then by name."""

_HAS_PG_TRGM: Final = "SELECT to_regprocedure('similarity(text, text)') IS NOT NULL"

# Not among the named statements: it can be prepared only where the extension is.
_FUZZY_BY_PG_TRGM: Final = """
SELECT e.id, e.canonical_name, e.entity_type, e.aliases, e.name_keys
FROM entities AS e
CROSS JOIN LATERAL (
  SELECT max(similarity(name, $1)) AS value
  FROM unnest(
    coalesce(string_to_array(trim(e.name_keys, chr(10)), chr(10)), e.canonical_name || e.aliases)
  ) AS name
) AS closest
WHERE e.tenant_id = current_setting('commonplace.tenant_id')
  AND e.metadata ->> 'merged_into' IS NULL
  AND e.entity_type = coalesce($2::text, e.entity_type)
  AND closest.value >= $3::real
ORDER BY closest.value DESC, e.canonical_name COLLATE "C", e.id
LIMIT $4
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """An entity that a name may mean.

    Attributes:
        entity_id: Its id.
        canonical_name: Its name.
        entity_type: What it is.
        score: By how well the name fits (100, 80, 50 or 20), plus up to 20 by what its facts say, plus the caller's
            points; rounded to four places.
        name_match: How it was found.
        aliases: Its further names.
    """

    entity_id: UUID
    canonical_name: str
    entity_type: EntityType
    score: float
    name_match: NameMatch
    aliases: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Find:
    """A row of an entity, and the best tier in which it was found."""

    row: Row
    match: NameMatch


async def entity_resolve(
    pool: asyncpg.Pool,
    name: str,
    *,
    tenant_id: str | None = None,
    entity_type: str | None = None,
    context_hints: object = None,
    enable_fuzzy: bool = False,
) -> list[Candidate]:
    """Return the entities that a name may mean, the likeliest first; none where none fits.

    Case, the encoding of accents and runs of spaces do not count; every character, ``%`` and ``_`` too, counts as
    itself. Entities that were merged away are left out.

    Args:
        pool: Of knowledge memory's database.
        name: 1 to 500 characters.
        tenant_id: Where it is given, it must be the request's.
        entity_type: Only entities of this type.
        context_hints: What the talk is about, see :func:`~.neighbourhood.require_hints`.
        enable_fuzzy: Whether similar names count too, for names of three characters and more.

    Returns:
        By score, then canonical name, then id; at most 500 found by name and 500 by similarity.

    Raises:
        InvalidInputError: A value is not of its form.

    Source: KNW-17, R-KNW-7, R-KNW-10.
    """
    require_tenant(tenant_id)
    wanted = require_name(name, field="name", allow_secrets=True)
    kind = None if entity_type is None else require_type(entity_type)
    hints = require_hints(context_hints)
    fuzzy = enable_fuzzy and len(wanted) >= MIN_CHARS
    key = fold_name(wanted)
    async with unit_of_work(pool, readonly=True) as sql:
        finds = await _by_name(sql, key, kind, hints)
        similar, names = await _fuzzy_rows(sql, key, kind) if fuzzy else ([], [])
    if names:
        similar = await asyncio.to_thread(_closest, key, names)
    for row in similar:
        finds.setdefault(row["id"], Find(row=row, match=NameMatch.FUZZY))
    boosts = await _boosts(pool, finds, hints.terms) if hints.terms and finds else {}
    return rank(finds.values(), boosts, hints.domain_scores)


def rank(
    finds: Iterable[Find], boosts: Mapping[UUID, float], domain_scores: Mapping[UUID, float]
) -> list[Candidate]:
    """Return candidates by score, then canonical name, then id. Source: KNW-17.7."""
    candidates = [
        Candidate(
            entity_id=find.row["id"],
            canonical_name=find.row["canonical_name"],
            entity_type=EntityType(find.row["entity_type"]),
            score=round(
                BASE_SCORES[find.match]
                + boosts.get(find.row["id"], 0.0)
                + domain_scores.get(find.row["id"], 0.0),
                4,
            ),
            name_match=find.match,
            aliases=tuple(find.row["aliases"]),
        )
        for find in finds
    ]
    return sorted(candidates, key=lambda each: (-each.score, each.canonical_name, each.entity_id))


async def _by_name(
    sql: Statements, key: str, entity_type: EntityType | None, hints: ContextHints
) -> dict[UUID, Find]:
    rows = await sql.entity_search(
        key=key, entity_type=entity_type, preferred=list(hints.domain_scores), limit=MAX_CANDIDATES
    )
    matched = ((row, match_name(key, _keys(row))) for row in rows)
    return {row["id"]: Find(row=row, match=match) for row, match in matched if match is not None}


async def _fuzzy_rows(
    sql: Statements, key: str, entity_type: EntityType | None
) -> tuple[list[Row], list[Row]]:
    """Return the similar entities where the server can tell, and those that may be similar where it cannot."""
    connection: Any = sql.connection
    if await connection.fetchval(_HAS_PG_TRGM):
        found = await connection.fetch(_FUZZY_BY_PG_TRGM, key, entity_type, THRESHOLD, MAX_CANDIDATES)
        return list(found), []
    pieces, least = required_pieces(key)
    return [], await sql.entity_holding(pieces=pieces, least=least, entity_type=entity_type)


def _closest(key: str, rows: list[Row]) -> list[Row]:
    """Return the entities with a name as similar as it takes, the most similar first."""
    owners: list[int] = []
    names: list[str] = []
    for number, row in enumerate(rows):
        for folded in split_names(_keys(row)):
            owners.append(number)
            names.append(folded)
    best: defaultdict[int, float] = defaultdict(float)
    for position, value in most_similar(key, dict(enumerate(names))).items():
        best[owners[position]] = max(best[owners[position]], value)
    order = sorted(
        best, key=lambda number: (-best[number], rows[number]["canonical_name"], rows[number]["id"])
    )
    return [rows[number] for number in order[:MAX_CANDIDATES]]


def _keys(row: Row) -> str:
    """Return an entity's folded names; rows that another program wrote have none stored."""
    return row["name_keys"] or fold_names(row["canonical_name"], row["aliases"])


async def _boosts(pool: asyncpg.Pool, ids: Iterable[UUID], terms: frozenset[str]) -> dict[UUID, float]:
    async with unit_of_work(pool, readonly=True) as sql:
        rows = await sql.entity_neighbourhood(ids=list(ids), limit=MAX_FACTS)
    texts: defaultdict[UUID, list[str]] = defaultdict(list)
    for row in rows:
        texts[row["entity_id"]] += (row["predicate"], row["content"])
    return {entity_id: neighbourhood_boost(said, terms) for entity_id, said in texts.items()}
