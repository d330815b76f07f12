"""A transaction of one tenant, with the named statements of knowledge memory.

Row-level security shows a transaction only the rows of its tenant, and no rows if no tenant is set. For all of
knowledge memory, the tenant is set here.
"""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict
from functools import cache, partial
from pathlib import Path
from typing import Final

import asyncpg

from commonplace.core.errors import ClaimLostError, TenantUnsetError
from commonplace.core.request_context import RequestContext, current_context, require_tenant
from commonplace.core.tracing import span
from commonplace.knowledge.model.keys import KEY_GAPS
from commonplace.knowledge.model.kinds import COLUMNS, KIND_GAPS, SQL_GAPS, MemoryType
from commonplace.knowledge.store.replicas import Replicas
from commonplace.knowledge.store.statements import KindStatements, KnowledgeStatements
from commonplace.knowledge.store.vectors import refused_vectors
from commonplace.storage.database import Statements, StatementSet, load_queries
from commonplace.storage.postgres_database import translated_errors
from commonplace.storage.request_claims import HeldTransaction, KeptAnswer, RequestClaim, claim_of_request

_STORE: Final = Path(__file__).parent
_PARTS: Final = _STORE / "sql_parts"
"""Fragments that several statements share; each fills the placeholders with its name."""

_WHERE: Final = "the database of knowledge memory"


@cache
def queries() -> StatementSet[KnowledgeStatements]:
    """Return the named statements of knowledge memory, except those of the workers' queue."""
    parts = {file.stem: file.read_text(encoding="utf-8") for file in _PARTS.glob("*.sql")}
    gaps = SQL_GAPS | KEY_GAPS | parts
    return load_queries(KnowledgeStatements, [_STORE / "sql"], "postgresql", gaps=gaps)


@cache
def kind_queries(kind: MemoryType) -> StatementSet[KindStatements]:
    """Return the named statements that are written once for several kinds of memory, for one of them."""
    folders = ["any_memory"] if kind is MemoryType.EPISODE else ["any_memory", "fact_or_rule"]
    gaps = {**KIND_GAPS[kind], "memory_type": kind.value, "columns": ", ".join(COLUMNS[kind])}
    directories = [_STORE / "sql_by_kind" / folder for folder in folders]
    return load_queries(KindStatements, directories, "postgresql", gaps=gaps)


def of_kind(kind: MemoryType, sql: Statements) -> KindStatements:
    """Return the statements of one kind of memory, on the connection of other statements."""
    return kind_queries(kind).on(sql.connection)


def require_context() -> RequestContext:
    """Return the tenant and actor of the current work.

    Raises:
        TenantUnsetError: No request context is set.
        InvalidInputError: The tenant's id is not 1 to 64 letters, digits, ``_``, ``.`` or ``-``.
    """
    context = current_context()
    if context is None:
        raise TenantUnsetError
    require_tenant(context.tenant_id)
    return context


@asynccontextmanager
async def unit_of_work(
    pool: asyncpg.Pool | Replicas,
    *,
    readonly: bool = False,
    search: bool = False,
    awaits_answer: bool = False,
) -> AsyncGenerator[KnowledgeStatements]:
    """Open a transaction of the current tenant; it commits at the end of the block, and rolls back on any exception.

    Args:
        pool: A pool from :func:`commonplace.storage.postgres.open_pool`, or replicas for reading.
        readonly: Open one consistent view that cannot write.
        search: Tune a read-only view for searches, in the same round trip.
        awaits_answer: Whether the transaction may wait for the answer of a request with a key, so that they are
            committed together; work that waits for a model must not set it.

    Yields:
        The statements; ``.connection`` is the asyncpg connection under them.

    Raises:
        TenantUnsetError: No request context is set.
        InvalidInputError: The tenant's id is malformed.
        ClaimLostError: Another process runs the request; nothing was written.
        ModelMismatchError: The vectors to store are of another model than the vectors of the memories.
        StorageUnavailableError: The server cannot be reached; nothing was written.
    """
    context = require_context()
    isolation = "repeatable_read" if readonly else "read_committed"
    request = await claim_of_request()
    claim = None if readonly or request is None or request.tenant_id != context.tenant_id else request
    with span("knowledge.unit_of_work", readonly=readonly), refused_vectors():
        async with AsyncExitStack() as stack:
            stack.enter_context(translated_errors(_WHERE))
            connection = await stack.enter_async_context(pool.acquire())
            await stack.enter_async_context(connection.transaction(isolation=isolation, readonly=readonly))
            sql = queries().on(connection)
            reading = sql.set_search_context if search else sql.set_context
            begin = reading if readonly else sql.set_writing_context
            sql.begun = await begin(tenant_id=context.tenant_id, actor=context.actor, source=context.source)
            if claim is not None:
                await _mark(sql, claim)
            yield sql
            if claim is not None and awaits_answer:
                keep = partial(_keep, sql, claim)
                await claim.hold(HeldTransaction(stack=stack.pop_all(), place=_WHERE, keep=keep))
        if claim is not None and not awaits_answer:
            claim.mark(_WHERE)


async def _mark(sql: KnowledgeStatements, claim: RequestClaim) -> None:
    if claim.must_mark(_WHERE) and await sql.mark_claim(key=claim.key, claim=claim.id) is None:
        raise ClaimLostError(claim.key)


async def _keep(sql: KnowledgeStatements, claim: RequestClaim, answer: KeptAnswer) -> None:
    await sql.keep_answer(key=claim.key, claim=claim.id, **asdict(answer))
