"""Applications of rules from other databases: every application counts once, wherever it was made."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import ClassVar
from uuid import UUID

from commonplace.core.errors import ConflictError
from commonplace.knowledge.exchange.fields import Fields, by_id, parameters
from commonplace.knowledge.exchange.vectors import PageVectors
from commonplace.knowledge.exchange.writes import RowDrop, RowPut
from commonplace.knowledge.model.feedback import Outcome
from commonplace.knowledge.rules.maturity import Standing, rated
from commonplace.knowledge.store.statements import KnowledgeStatements
from commonplace.storage.database import Columns
from commonplace.storage.rows import read_row


class ApplicationTable:
    """Applications of rules."""

    most: ClassVar[int | None] = None

    async def lock(
        self, sql: KnowledgeStatements, names: Sequence[str], *, now: datetime
    ) -> Mapping[str, Columns]:
        """Return the applications that exist."""
        del now
        return by_id(await sql.some_exchanged_applications(ids=list(map(UUID, names))))

    async def put(
        self, sql: KnowledgeStatements, rows: Sequence[RowPut], vectors: PageVectors, *, now: datetime
    ) -> Mapping[str, ConflictError]:
        """Insert applications, unless they are there, and count them; those whose rule has not arrived wait."""
        del vectors, now
        waiting: dict[str, ConflictError] = {}
        for each in rows:
            if each.row is None and not await _put_application(sql, UUID(each.name), each.fields):
                message = "An application waits for its rule, which has not arrived yet."
                waiting[each.name] = ConflictError("rule_id", message, each.fields["rule_id"])
        return waiting

    async def drop(self, sql: KnowledgeStatements, rows: Sequence[RowDrop], *, now: datetime) -> None:
        """Delete applications; the counts of their rules stay."""
        del now
        for each in rows:
            await sql.delete_application(id=UUID(each.name))


async def _put_application(sql: KnowledgeStatements, key: UUID, fields: Fields) -> bool:
    """Insert an application and count it; return whether its rule exists.

    The rule waits for its inversion if all harm together is too much.
    """
    row = await sql.put_application(id=key, **parameters(fields))
    if row is None:
        return False
    rule = UUID(fields["rule_id"])
    latest = await sql.latest_outcome(rule_id=rule)
    standing = rated(read_row(Standing, row), is_helpful=latest == Outcome.HELPFUL)
    await sql.rate_rule(
        id=rule, effectiveness=standing.effectiveness, needs_inversion=standing.needs_inversion
    )
    return True
