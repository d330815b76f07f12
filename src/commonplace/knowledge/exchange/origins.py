"""The episode that a fact or rule came from: it may arrive later than the fact, and expire before it."""

from typing import Any, Final

from commonplace.knowledge.exchange.fields import Fields, parameters
from commonplace.knowledge.store.statements import KnowledgeStatements

ABSENT: Final = "absent_source"
"""The key in the metadata of a fact or rule with the id of its source, as long as the episode is not here."""


async def sourced_parameters(sql: KnowledgeStatements, fields: Fields) -> dict[str, Any]:
    """Return the fields of a fact or rule as parameters of a statement.

    If the source is not here, the metadata has its id.
    """
    values: dict[str, Any] = {"source_episode_id": None, **parameters(fields)}
    source = values["source_episode_id"]
    if source is None or await sql.hold_source(id=source) is not None:
        return values
    return {**values, "source_episode_id": None, "metadata": {**values["metadata"], ABSENT: str(source)}}
