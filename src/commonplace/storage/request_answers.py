"""Answers of requests in a database that SQLite or PostgreSQL holds; see :mod:`.request_claims`."""

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import asdict
from datetime import timedelta
from functools import cache, partial
from pathlib import Path
from typing import Final

from commonplace.core.clock import Clock, format_timestamp, utc_now
from commonplace.core.errors import ClaimLostError
from commonplace.storage.database import Database, Dialect, StatementSet, load_queries
from commonplace.storage.request_claims import (
    HeldTransaction,
    KeptAnswer,
    RequestClaim,
    RequestConflict,
    claim_of_request,
)
from commonplace.storage.statements import RequestStatements

KEEP: Final = timedelta(days=1)
"""The time that an answer is kept."""

_SQL: Final = Path(__file__).parent / "sql" / "requests"


@cache
def _queries(dialect: Dialect) -> StatementSet[RequestStatements]:
    return load_queries(RequestStatements, [_SQL], dialect)


class RequestAnswers:
    """The answers of requests that changed a database.

    Args:
        database: The database of a memory.
    """

    def __init__(self, database: Database, *, clock: Clock = utc_now) -> None:
        self._database = database
        self._clock = clock

    async def answer(self, claim: RequestClaim) -> KeptAnswer | RequestConflict | None:
        """Return the answer to an earlier attempt of a request, or why it must not run again.

        Returns:
            ``None`` if no attempt has changed this database.

        Raises:
            StorageUnavailableError: The database cannot be reached.
        """
        async with self._database.reading(_queries(self._database.dialect), once=True) as sql:
            row = await sql.answer_of(
                tenant_id=claim.tenant_id, key=claim.key, now=format_timestamp(self._clock())
            )
        if row is None:
            return None
        if row["fingerprint"] != claim.fingerprint:
            return RequestConflict.REUSED
        return RequestConflict.LOST if row["status"] is None else KeptAnswer.from_row(row)


@asynccontextmanager
async def held_for_answer(
    database: Database, begun: AbstractAsyncContextManager[object]
) -> AsyncGenerator[object]:
    """Open a transaction that marks the claim of the current request and waits for its answer.

    Args:
        database: The database.
        begun: Opens a transaction, and commits it at the end of its block.

    Yields:
        The connection.

    Raises:
        ClaimLostError: Another process has run the request; nothing was written.
    """
    claim = await claim_of_request()
    async with AsyncExitStack() as stack:
        connection = await stack.enter_async_context(begun)
        if claim is None:
            yield connection
            return
        sql = _queries(database.dialect).on(connection)
        if claim.must_mark(database.where):
            await _mark(sql, claim)
        yield connection
        keep = partial(_keep, sql, claim)
        await claim.hold(HeldTransaction(stack=stack.pop_all(), place=database.where, keep=keep))


async def _mark(sql: RequestStatements, claim: RequestClaim) -> None:
    now = utc_now()
    await sql.delete_expired_answers(now=format_timestamp(now))
    marked = await sql.mark_request(
        tenant_id=claim.tenant_id,
        key=claim.key,
        fingerprint=claim.fingerprint,
        claim=str(claim.id),
        expires_at=format_timestamp(now + KEEP),
    )
    if marked is None:
        raise ClaimLostError(claim.key)


async def _keep(sql: RequestStatements, claim: RequestClaim, answer: KeptAnswer) -> None:
    await sql.keep_answer(tenant_id=claim.tenant_id, key=claim.key, **asdict(answer))
