"""Rules of other databases and their applications: every application counts once, wherever it was made."""

from collections.abc import Sequence
from uuid import UUID

from commonplace.core.errors import ConflictError
from commonplace.knowledge.exchange.facts import payload_of
from commonplace.knowledge.exchange.fields import Fields, fields_of, parameters
from commonplace.knowledge.exchange.origins import sourced_parameters
from commonplace.knowledge.exchange.texts import Text
from commonplace.knowledge.model.events import EventType
from commonplace.knowledge.model.feedback import Outcome
from commonplace.knowledge.model.kinds import MemoryType
from commonplace.knowledge.model.search_text import search_text
from commonplace.knowledge.rules.maturity import Standing, rated
from commonplace.knowledge.store.events import record_event
from commonplace.knowledge.store.statements import KnowledgeStatements
from commonplace.storage.database import Columns
from commonplace.storage.rows import read_row


async def put_rule(
    sql: KnowledgeStatements, key: UUID, fields: Fields, row: Columns | None, text: Text
) -> None:
    """Insert or change a rule; see :func:`.facts.put_fact`."""
    before = fields_of(row)
    await sql.put_rule(
        id=key,
        forgotten=fields["state"] == "replaced" or _stays_expired(fields, row),
        search_text=search_text(fields["content"]),
        **await sourced_parameters(sql, fields),
        **text.columns,
    )
    states = (None if before is None else before["state"], fields["state"])
    if states[0] is None:
        event = EventType.RULE_CREATED if row is None else EventType.RULE_RESTORED
    else:
        event = EventType.RULE_SYNCED
    await record_event(sql, event, payload=payload_of(MemoryType.RULE, key, *states))


async def drop_rule(sql: KnowledgeStatements, key: UUID, others: Sequence[Fields]) -> None:
    """Forget a rule that was forgotten elsewhere, and what replaced it meanwhile by somebody who did not know."""
    if any(each.get("state") == "replaced" for each in others):
        for row in await sql.successors(memory_type=MemoryType.RULE, id=key):
            await sql.forget_rule(id=row["id"])
    await sql.forget_rule(id=key)


async def put_application(sql: KnowledgeStatements, key: UUID, fields: Fields) -> None:
    """Insert an application of a rule and count it; the rule waits for its inversion if all harm together is too much.

    Raises:
        ConflictError: Its rule has not arrived yet.
    """
    if await sql.exchanged_application(id=key) is not None:
        return
    row = await sql.put_application(id=key, **parameters(fields))
    if row is None:
        message = "An application waits for its rule, which has not arrived yet."
        raise ConflictError("rule_id", message, fields["rule_id"])
    latest = await sql.latest_outcome(rule_id=UUID(fields["rule_id"]))
    standing = rated(read_row(Standing, row), is_helpful=latest == Outcome.HELPFUL)
    await sql.rate_rule(
        id=UUID(fields["rule_id"]),
        effectiveness=standing.effectiveness,
        needs_inversion=standing.needs_inversion,
    )


def _stays_expired(fields: Fields, row: Columns | None) -> bool:
    """Return whether a rule that expired here was not confirmed since."""
    if row is None or row["state"] != "expired":
        return False
    here = fields_of(row) or {}
    return (fields["last_confirmed_at"] or "") <= (here.get("last_confirmed_at") or "")
