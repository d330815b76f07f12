"""Rules that new rules repeat, say in other words, or oppose (TRU-05)."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from commonplace.judge import Relatives, relatives
from commonplace.knowledge.memories.replaced import oppose
from commonplace.knowledge.model.kinds import MemoryType
from commonplace.knowledge.rules.occasions import without_occasions
from commonplace.knowledge.store.statements import KnowledgeStatements
from commonplace.storage.database import Columns

MOST_COMPARED: Final = 25
"""The maximum number of rules that a new rule is compared with: those with the nearest meaning."""

MOST_NEW: Final = 20
"""The maximum number of rules that are compared when they are stored at once, which limits the time of an import."""


async def relate(
    sql: KnowledgeStatements, new: Sequence[tuple[UUID, str]], *, now: datetime
) -> dict[UUID, Relatives[UUID]]:
    """Link new rules to the older rules that they may contradict, and return the relatives of each new rule by its id.

    More than 20 rules are not compared.

    Args:
        sql: The transaction that inserted the rules.
        new: The ids and texts of the rules.
        now: The present.
    """
    if len(new) > MOST_NEW:
        return {}
    rows = await sql.near_rules(ids=[rule_id for rule_id, _ in new], limit=MOST_COMPARED)
    related = await asyncio.to_thread(_compared, dict(new), rows)
    for rule_id, each in related.items():
        for opposition in each.opposed:
            await oppose(sql, MemoryType.RULE, rule_id, opposition.other, now=now)
    return related


def _compared(texts: Mapping[UUID, str], rows: Iterable[Columns]) -> dict[UUID, Relatives[UUID]]:
    near: dict[UUID, dict[UUID, str]] = defaultdict(dict)
    for row in rows:
        near[row["rule_id"]][row["id"]] = without_occasions(row["content"])
    return {
        rule_id: relatives(without_occasions(texts[rule_id]), list(older), older.__getitem__)
        for rule_id, older in near.items()
    }
