"""The queue of digests: a worker claims a digest before it asks a model; the row stays until the digest is done.

A claim expires, so that another worker can make the digests of a killed process.
"""

from datetime import timedelta
from typing import Final
from uuid import uuid4

from commonplace.apps.model.digests import (
    DigestClaim,
    DigestState,
    ListedState,
    MemoryCreationRequest,
    QueuedDigest,
)
from commonplace.apps.model.receipts import DigestOutcome
from commonplace.apps.store import conversations
from commonplace.apps.store.statements import AppStatements
from commonplace.core.clock import format_timestamp
from commonplace.storage.store import Store

LEASE: Final = timedelta(minutes=15)
"""Longer than twenty conversations of one app take that end at once, each with two model answers of 30 s."""


async def claim(
    sql: AppStatements, store: Store[AppStatements], app_id: str, conversation_id: str
) -> DigestClaim | None:
    """Claim a digest; ``None`` if it is done, or another worker has claimed it."""
    now, token = store.now(), uuid4().hex
    row = await sql.claim_digest(
        app_id=app_id,
        conversation_id=conversation_id,
        claim=token,
        moment=format_timestamp(now),
        until=format_timestamp(now + LEASE),
    )
    return None if row is None else DigestClaim(app_id=app_id, conversation_id=conversation_id, token=token)


async def settle(
    sql: AppStatements,
    store: Store[AppStatements],
    claim: DigestClaim,
    outcome: DigestOutcome,
    reason: str = "",
) -> bool:
    """Store the outcome of a claimed digest; return ``False`` if the claim has expired or the app was purged."""
    return await _leave(sql, store, claim, DigestState.DONE, outcome, reason, None)


async def defer(
    sql: AppStatements,
    store: Store[AppStatements],
    claim: DigestClaim,
    request: MemoryCreationRequest,
    reason: str,
) -> bool:
    """Put a claimed digest back to wait, and return whether the claim was still valid."""
    stored = await sql.get_conversation(conversation_id=request.conversation_id)
    kept = None if stored is not None else request.to_json()
    return await _leave(sql, store, claim, DigestState.DEFERRED, None, reason, kept)


async def release(sql: AppStatements, store: Store[AppStatements], claim: DigestClaim) -> bool:
    """Put a stopped digest back into the queue, and return whether the claim was still valid."""
    return await _leave(sql, store, claim, DigestState.WAITING, None, "stopped", None)


async def _leave(
    sql: AppStatements,
    store: Store[AppStatements],
    claim: DigestClaim,
    state: DigestState,
    outcome: DigestOutcome | None,
    reason: str,
    request: str | None,
) -> bool:
    row = await sql.settle_digest(
        app_id=claim.app_id,
        conversation_id=claim.conversation_id,
        claim=claim.token,
        state=state,
        outcome=outcome,
        reason=reason,
        request=request,
        moment=store.moment(),
    )
    return row is not None


async def listed(sql: AppStatements, state: ListedState, *, limit: int) -> list[QueuedDigest]:
    """Return the digests in a state, newest first."""
    state = ListedState.SKIPPED if state is ListedState.FAILED else state
    return QueuedDigest.from_rows(await sql.digests_in(state=state, limit=limit))


async def request_for(sql: AppStatements, app_id: str, conversation_id: str) -> MemoryCreationRequest:
    """Return the request that the queue holds, else a request for the stored conversation.

    Raises:
        NotFoundError: Neither exists.
    """
    row = await sql.get_digest(app_id=app_id, conversation_id=conversation_id)
    if row is not None and row["request"] is not None:
        return MemoryCreationRequest.from_json(app_id, conversation_id, row["request"])
    conversation = await conversations.get(sql, conversation_id)
    return MemoryCreationRequest(
        app_id=app_id,
        conversation_id=conversation_id,
        messages=tuple(await conversations.messages_of(sql, conversation_id)),
        user_id=conversation.user_id,
        ended_at=conversation.ended_at,
    )
