"""The episodes that facts and rules came from: they may arrive later than the facts, and expire before them."""

from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

from commonplace.knowledge.store.statements import KnowledgeStatements

ABSENT: Final = "absent_source"
"""The key in the metadata of a fact or rule with the id of its source, as long as the episode is not here."""

Record = dict[str, Any]
"""The row of a fact or rule for a statement that takes many."""


async def with_sources(sql: KnowledgeStatements, records: Sequence[Record]) -> list[Record]:
    """Return the records of facts or rules; the metadata of those whose source is not here has its id."""
    sources = sorted({UUID(each["source_episode_id"]) for each in records if each.get("source_episode_id")})
    present = {str(row["id"]) for row in await sql.hold_sources(ids=sources)} if sources else set[str]()
    return [_with_source(each, present) for each in records]


def _with_source(record: Record, present: set[str]) -> Record:
    source = record.get("source_episode_id")
    if source is None or source in present:
        return record
    return {**record, "source_episode_id": None, "metadata": {**record["metadata"], ABSENT: source}}
