"""Storage of markers, each in its own transaction.

A marker is durable when its receipt is returned, and a marker that cannot be stored does not affect the others. The
fingerprints of stored markers are kept, so that reading a transcript again stores only missing markers.
Source: OPS-03, OPS-04, OPS-20.
"""

from dataclasses import replace
from typing import Final, assert_never

from commonplace.core.errors import StorageError
from commonplace.core.quarantine import Quarantine
from commonplace.core.secrets import find_secret, mask_secrets
from commonplace.operational.lessons import lifecycle
from commonplace.operational.model.markers import (
    CooldownMarker,
    EventMarker,
    Marker,
    MemoryMarker,
    RejectedMarker,
)
from commonplace.operational.model.memories import Author
from commonplace.operational.model.receipts import Receipt, ReceiptKind, ReceiptOutcome
from commonplace.operational.model.sessions import Session
from commonplace.operational.store.statements import OperationalStatements
from commonplace.storage.store import Store

AGENT: Final = "agent"

ValidMarker = MemoryMarker | EventMarker | CooldownMarker


async def store_marker(
    store: Store[OperationalStatements],
    session: Session,
    marker: Marker,
    fingerprint: str,
    *,
    allow_secrets: bool,
    quarantine: Quarantine,
    asks_model: bool = False,
) -> Receipt:
    """Store a marker of a session, or refuse it, and return the receipt.

    A memory with a secret is refused. An event or a cooldown is stored with the secret hidden.

    The fingerprint identifies the marker in its session. With ``asks_model``, a model decides doubtful pairs after the
    session. The receipt of a memory in ``quarantine`` says so.
    """
    receipt = _receipt(session, marker)
    if isinstance(marker, RejectedMarker):
        return replace(receipt, reason=marker.reason)
    in_service = find_secret(marker.service or "")
    if not allow_secrets and (secret := find_secret(receipt.text) or in_service):
        reason = f"text appears to contain a secret ({secret.kind})"
        if isinstance(marker, MemoryMarker) or in_service:
            service = mask_secrets(marker.service or "") or None
            return replace(receipt, text="(not shown)", service=service, reason=reason)
        marker = _masked(marker)
        receipt = replace(receipt, text=mask_secrets(receipt.text), reason=f"{reason}; it is hidden")
    try:
        async with store.writing(lock=_lock(marker)) as sql:
            if await sql.note_marker(session_id=session.id, fingerprint=fingerprint) is None:
                reason = "this session stored it before"
                return replace(receipt, outcome=ReceiptOutcome.REPEATED, reason=reason)
            return await _store(store, sql, session, marker, receipt, quarantine, asks_model=asks_model)
    except StorageError as error:
        return replace(receipt, outcome=ReceiptOutcome.FAILED, reason=str(error))


async def _store(
    store: Store[OperationalStatements],
    sql: OperationalStatements,
    session: Session,
    marker: ValidMarker,
    receipt: Receipt,
    quarantine: Quarantine,
    *,
    asks_model: bool,
) -> Receipt:
    match marker:
        case MemoryMarker():
            author = Author(actor=AGENT, now=store.now(), session_id=session.id, tier=session.tier)
            learned = await lifecycle.learn(sql, marker, author, asks_model=asks_model)
            return replace(
                receipt,
                outcome=learned.outcome,
                reason=learned.reason,
                record_id=learned.memory.id,
                confidence=learned.memory.confidence,
                contradicted=learned.contradicted,
                flags=quarantine.reasons(learned.memory.observation),
                remark=learned.remark,
            )
        case EventMarker():
            record_id = await sql.insert_event(
                session_id=session.id,
                level=marker.level,
                service=marker.service,
                message=marker.message,
                moment=store.moment(),
            )
        case CooldownMarker():
            record_id = await sql.insert_cooldown(
                session_id=session.id,
                service=marker.service,
                action=marker.action,
                reason=marker.reason,
                tier=session.tier,
                moment=store.moment(),
            )
        case _:
            assert_never(marker)
    return replace(receipt, outcome=ReceiptOutcome.RECORDED, record_id=record_id)


def _masked(marker: EventMarker | CooldownMarker) -> EventMarker | CooldownMarker:
    """Return a marker without its secrets: the outage or the restart happened, whatever the text holds."""
    if isinstance(marker, EventMarker):
        return replace(marker, message=mask_secrets(marker.message))
    return replace(marker, reason=mask_secrets(marker.reason))


def _lock(marker: ValidMarker) -> str | None:
    """Return the lock of a memory's service and category, which keeps two processes from creating the same memory."""
    if isinstance(marker, MemoryMarker):
        return f"operational:{marker.category}:{(marker.service or '').lower()}"
    return None


def _receipt(session: Session, marker: Marker) -> Receipt:
    """Return the receipt of a marker that is not stored yet."""
    service = None if isinstance(marker, RejectedMarker) else marker.service
    match marker:
        case MemoryMarker():
            kind, category, text = ReceiptKind.MEMORY, marker.category, marker.observation
        case EventMarker():
            kind, category, text = ReceiptKind.EVENT, marker.level, marker.message
        case CooldownMarker():
            kind, category, text = ReceiptKind.COOLDOWN, marker.action, marker.reason
        case RejectedMarker():
            kind, category, text = ReceiptKind.MARKER, None, marker.line
        case _:
            assert_never(marker)
    return Receipt(
        session=session.id,
        kind=kind,
        outcome=ReceiptOutcome.REJECTED,
        text=text,
        category=category,
        service=service,
    )
