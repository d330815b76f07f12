"""Resolution of a name to ranked candidates; new entities are never created.

Folded names decide (see :mod:`.names`); the database only narrows the search. Source: KNW-17.
"""

import asyncio
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from commonplace.core.choices import optional_one_of
from commonplace.knowledge.entities.registry import require_tenant
from commonplace.knowledge.model.entity_fields import EntityType, require_name
from commonplace.knowledge.model.entity_names import (
    BASE_SCORES,
    NameMatch,
    fold_name,
    fold_names,
    match_name,
    split_names,
)
from commonplace.knowledge.rules.neighbourhood import (
    MAX_FACTS,
    ContextHints,
    neighbourhood_boost,
    require_hints,
)
from commonplace.knowledge.rules.trigrams import MIN_CHARS, THRESHOLD, most_similar, required_pieces
from commonplace.knowledge.store.session import KnowledgeSession
from commonplace.knowledge.store.statements import KnowledgeStatements
from commonplace.storage.database import Columns
from commonplace.storage.rows import Noun, read_row

MAX_CANDIDATES: Final = 500
"""Maximum number of candidates from exact, alias and prefix matches together, and again from fuzzy matches."""

_HAS_PG_TRGM: Final = "SELECT to_regprocedure('similarity(text, text)') IS NOT NULL"

# Not a named statement, because only servers with the extension can prepare it.
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
class EntityCandidate:
    """An entity that a name may refer to.

    Attributes:
        score: The points of the match (100, 80, 50 or 20), plus up to 20 for its facts, plus the caller's points;
            rounded to four places.
        name_match: How the name matched.
    """

    entity_id: UUID
    canonical_name: str
    entity_type: EntityType
    score: float
    name_match: NameMatch
    aliases: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedEntity(Noun):
    """An entity with its names; ``name_keys`` are the folded names."""

    id: UUID
    canonical_name: str
    entity_type: EntityType
    aliases: tuple[str, ...]
    name_keys: str

    @classmethod
    def from_row(cls, row: Columns) -> "NamedEntity":
        """Read a row of ``entities``; names in a row written by another program are folded here."""
        return read_row(
            cls, row, name_keys=row["name_keys"] or fold_names(row["canonical_name"], row["aliases"])
        )


class EntityResolution:
    """Resolution of names to entities."""

    def __init__(self, session: KnowledgeSession) -> None:
        self._session = session

    async def resolve(
        self,
        name: str,
        *,
        tenant_id: str | None = None,
        entity_type: str | None = None,
        context_hints: Mapping[str, Any] | None = None,
        enable_fuzzy: bool = False,
    ) -> list[EntityCandidate]:
        """Return the entities that a name may refer to, most likely first; an empty list if no entity matches."""
        require_tenant(self._session.tenant_id, tenant_id)
        wanted = require_name(name, field="name", allow_secrets=True)
        kind = optional_one_of(EntityType, entity_type, field="entity_type")
        hints = require_hints(context_hints)
        fuzzy = enable_fuzzy and len(wanted) >= MIN_CHARS
        key = fold_name(wanted)
        async with self._session.reading() as sql:
            finds = await _by_name(sql, key, kind, hints)
            similar, possible = await _similar(sql, key, kind) if fuzzy else ([], [])
        if possible:
            similar = await asyncio.to_thread(_closest, key, possible)
        for entity in similar:
            finds.setdefault(entity, NameMatch.FUZZY)
        boosts: Mapping[UUID, float] = {}
        if hints.terms and finds:
            async with self._session.reading() as sql:
                boosts = await _boosts(sql, [entity.id for entity in finds], hints.terms)
        return rank(finds, boosts, hints.domain_scores)


def rank(
    finds: Mapping[NamedEntity, NameMatch], boosts: Mapping[UUID, float], domain_scores: Mapping[UUID, float]
) -> list[EntityCandidate]:
    """Return candidates by score, then canonical name, then id (KNW-17.7)."""
    candidates = [
        EntityCandidate(
            entity_id=entity.id,
            canonical_name=entity.canonical_name,
            entity_type=entity.entity_type,
            score=round(
                BASE_SCORES[match] + boosts.get(entity.id, 0.0) + domain_scores.get(entity.id, 0.0), 4
            ),
            name_match=match,
            aliases=entity.aliases,
        )
        for entity, match in finds.items()
    ]
    return sorted(candidates, key=lambda each: (-each.score, each.canonical_name, each.entity_id))


async def _by_name(
    sql: KnowledgeStatements, key: str, entity_type: EntityType | None, hints: ContextHints
) -> dict[NamedEntity, NameMatch]:
    rows = await sql.entity_search(
        key=key, entity_type=entity_type, preferred=list(hints.domain_scores), limit=MAX_CANDIDATES
    )
    matched = ((entity, match_name(key, entity.name_keys)) for entity in map(NamedEntity.from_row, rows))
    return {entity: match for entity, match in matched if match is not None}


async def _similar(
    sql: KnowledgeStatements, key: str, entity_type: EntityType | None
) -> tuple[list[NamedEntity], list[NamedEntity]]:
    """Return the similar entities or, without ``pg_trgm`` on the server, the entities that may be similar."""
    connection: Any = sql.connection
    if await connection.fetchval(_HAS_PG_TRGM):
        found = await connection.fetch(_FUZZY_BY_PG_TRGM, key, entity_type, THRESHOLD, MAX_CANDIDATES)
        return NamedEntity.from_rows(found), []
    pieces, least = required_pieces(key)
    rows = await sql.entity_holding(pieces=pieces, least=least, entity_type=entity_type)
    return [], NamedEntity.from_rows(rows)


def _closest(key: str, entities: list[NamedEntity]) -> list[NamedEntity]:
    """Return the entities with a similar name, most similar first."""
    names = [(entity, folded) for entity in entities for folded in split_names(entity.name_keys)]
    best: defaultdict[NamedEntity, float] = defaultdict(float)
    for position, value in most_similar(key, {n: folded for n, (_, folded) in enumerate(names)}).items():
        entity = names[position][0]
        best[entity] = max(best[entity], value)
    order = sorted(best, key=lambda entity: (-best[entity], entity.canonical_name, entity.id))
    return order[:MAX_CANDIDATES]


async def _boosts(sql: KnowledgeStatements, ids: list[UUID], terms: frozenset[str]) -> dict[UUID, float]:
    rows = await sql.entity_neighbourhood(ids=ids, limit=MAX_FACTS)
    texts: defaultdict[UUID, list[str]] = defaultdict(list)
    for row in rows:
        texts[row["entity_id"]] += (row["predicate"], row["content"])
    return {entity_id: neighbourhood_boost(said, terms) for entity_id, said in texts.items()}
