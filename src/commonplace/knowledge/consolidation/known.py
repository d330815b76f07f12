"""Known facts, rules and entities, given to the model with the episodes; an answer may refer only to these."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import asyncpg

from commonplace.knowledge.consolidation.leases import Lease
from commonplace.knowledge.consolidation.prompt import KnownEntity, KnownFact, KnownRule
from commonplace.knowledge.store.unit_of_work import unit_of_work

MAX_FACTS: Final = 100
MAX_RULES: Final = 50
"""Source: KNW-12.1."""

MAX_ENTITIES: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """Facts and rules by id, nearest in meaning to an episode first, and the entities that the episodes mention."""

    facts: Mapping[UUID, KnownFact]
    rules: Mapping[UUID, KnownRule]
    entities: Sequence[KnownEntity] = ()


async def known_to(pool: asyncpg.Pool, lease: Lease) -> Known:
    """Return the facts and rules that the butler of a lease sees, its own and global ones, and mentioned entities.

    Source: KNW-12.1.
    """
    async with unit_of_work(pool, readonly=True) as sql:
        facts = await sql.known_facts(run_id=lease.run_id, butler=lease.butler, limit=MAX_FACTS)
        rules = await sql.known_rules(run_id=lease.run_id, butler=lease.butler, limit=MAX_RULES)
        entities = await sql.known_entities(run_id=lease.run_id, limit=MAX_ENTITIES)
    return Known(
        facts={fact.id: fact for fact in map(KnownFact.from_row, facts)},
        rules={rule.id: rule for rule in map(KnownRule.from_row, rules)},
        entities=tuple(map(KnownEntity.from_row, entities)),
    )
