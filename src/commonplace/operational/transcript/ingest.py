"""Follows a stream of events and stores what it holds, marker by marker.

A marker is its own transaction: it is durable when its receipt is given, and one that cannot be stored takes no
other with it. Which markers of a session were taken is kept, so that reading a transcript again, whole or from
the middle, stores only what is missing. Source: OPS-03, OPS-04, OPS-20.
"""

import hashlib
import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, assert_never

from commonplace.core.errors import StorageError
from commonplace.core.secrets import find_secret, mask_secrets
from commonplace.operational import cooldowns, events, lifecycle, output, sessions
from commonplace.operational.memories import Author
from commonplace.operational.output import Fingerprints, Shown, shown_of
from commonplace.operational.receipts import Receipt, ReceiptKind, ReceiptOutcome, SessionReport
from commonplace.operational.sessions import Session, SessionStatus
from commonplace.operational.transcript.markers import (
    CooldownMarker,
    EventMarker,
    Marker,
    MemoryMarker,
    RejectedMarker,
    parse_markers,
)
from commonplace.operational.transcript.stream import (
    AssistantText,
    CliNotice,
    Damaged,
    SessionResult,
    SessionStarted,
    StreamEvent,
    ToolResult,
    ToolUse,
)
from commonplace.storage.database import Statements
from commonplace.storage.store import Store

AGENT: Final = "agent"

log = logging.getLogger(__name__)


class Recorder:
    """Stores the sessions of one stream.

    What a session shows is held back until :meth:`flush`, so that a transcript costs one transaction a piece.

    Args:
        store: The store of operational memory.
        tiers: The tier of the first session, of the second, and so on; the last one counts for all that follow.
        trigger: Why the sessions ran.
        allow_secrets: Whether text that looks like a secret is stored all the same.
        on_receipt: Called with each receipt as soon as what it says is durable.
        prompt_text: What the sessions were told, where it is known.
        asks_model: Whether a model decides what the judge is in doubt about, afterwards.
    """

    def __init__(
        self,
        store: Store,
        *,
        tiers: Sequence[int],
        trigger: str,
        allow_secrets: bool,
        on_receipt: Callable[[Receipt], None] | None,
        prompt_text: str | None = None,
        asks_model: bool = False,
    ) -> None:
        self._store = store
        self._asks_model = asks_model
        self._tiers = [sessions.require_tier(tier) for tier in tiers] or [1]
        self._trigger = trigger
        self._allow_secrets = allow_secrets
        self._on_receipt = on_receipt
        self._prompt_text = None if prompt_text is None else self._masked(prompt_text)
        self._session: Session | None = None
        self._is_announced = False
        self._result: SessionResult | None = None
        self._receipts: list[Receipt] = []
        self._seen: Counter[tuple[str | None, str]] = Counter()
        self._output: list[tuple[Shown, str]] = []
        self._fingerprints = Fingerprints()
        self._reports: list[SessionReport] = []

    async def begin(self) -> Session:
        """Begin a session before its stream does; the next session that the stream announces is this one.

        Raises:
            StorageError: It cannot be stored; the stream begins one itself then.
        """
        session = await self._open(None, None)
        self._is_announced = False
        return session

    async def take(self, event: StreamEvent) -> None:
        """Store what an event holds.

        Raises:
            StorageError: The session itself cannot be stored. A marker that cannot gives a receipt instead.
        """
        await self._take(event)
        shown = shown_of(event)
        if shown is not None:
            self.show(shown)

    def show(self, shown: Shown) -> None:
        """Show something to whoever looks at the session; it is stored by the next :meth:`flush`."""
        if self._session is not None:
            self._output.append((shown, self._fingerprints.name(shown)))

    async def flush(self) -> None:
        """Store what was shown. What cannot be stored is logged and given up: it teaches nothing."""
        lines, self._output = self._output, []
        if self._session is None or not lines:
            return
        try:
            async with self._store.writing() as sql:
                await output.store(sql, self._session.id, lines, self._store.now())
        except StorageError as error:
            log.warning("session %s: %d lines of output are lost: %s", self._session.id, len(lines), error)

    async def see(self) -> None:
        """Note that the session is still being recorded.

        Raises:
            StorageError: It cannot be noted.
        """
        if self._session is not None:
            async with self._store.writing() as sql:
                await sessions.see(sql, self._session.id, self._store.now())

    async def _take(self, event: StreamEvent) -> None:
        match event:
            case SessionStarted():
                await self._begin(event)
            case AssistantText():
                session = self._session or await self._open(event.session_id, None)
                if not self._is_announced and event.session_id is not None:
                    session = await self._announce(session, event.session_id, None)
                for marker in parse_markers(event.text):
                    await self._take_marker(session, marker, event.message_id)
            case SessionResult():
                if self._session is None:
                    await self._open(event.session_id, None)
                self._result = event
            case Damaged():
                reason = f"line {event.line_number}: {event.reason}"
                self._give(
                    Receipt(
                        session=self._session.id if self._session else None,
                        kind=ReceiptKind.LINE,
                        outcome=ReceiptOutcome.REJECTED,
                        text=event.excerpt,
                        reason=reason,
                    )
                )
            case ToolUse() | ToolResult() | CliNotice():
                pass
            case _:
                assert_never(event)

    async def end(
        self, *, exit_code: int | None = None, status: SessionStatus | None = None
    ) -> list[SessionReport]:
        """End the last session and return a report of each, in order; a second call adds nothing.

        Args:
            exit_code: Of the agent's process, where it is known.
            status: In place of what the result line and the exit status say.

        Raises:
            StorageError: The end cannot be stored.
        """
        await self._finish(exit_code=exit_code, status=status)
        return self._reports

    async def _begin(self, event: SessionStarted) -> None:
        if self._session is not None:
            if event.session_id is not None and event.session_id == self._session.agent_session_id:
                return  # resumed
            if not self._is_announced:
                await self._announce(self._session, event.session_id, event.model)
                return
            await self._finish()
        await self._open(event.session_id, event.model)

    async def _announce(self, begun: Session, agent_session_id: str | None, model: str | None) -> Session:
        async with self._store.writing() as sql:
            session = await sessions.announce(sql, begun.id, agent_session_id=agent_session_id, model=model)
        self._session, self._is_announced = session, True
        return session

    async def _open(self, agent_session_id: str | None, model: str | None) -> Session:
        tier = self._tiers[min(len(self._reports), len(self._tiers) - 1)]
        async with self._store.writing() as sql:
            session = await sessions.begin(
                sql,
                agent_session_id=agent_session_id,
                tier=tier,
                model=model,
                trigger=self._trigger,
                prompt_text=self._prompt_text,
                now=self._store.now(),
            )
            await output.forget_older(sql, session.id)
        self._session, self._is_announced = session, True
        return session

    async def _finish(self, *, exit_code: int | None = None, status: SessionStatus | None = None) -> None:
        if self._session is None:
            return
        await self.flush()
        result = self._result
        if result is not None and result.response is not None:
            result = replace(result, response=self._masked(result.response))
        async with self._store.writing() as sql:
            session = await sessions.finish(
                sql, self._session.id, result, self._store.now(), exit_code=exit_code, status=status
            )
        self._reports.append(SessionReport(session=session, receipts=tuple(self._receipts)))
        self._session, self._result = None, None
        self._receipts, self._seen = [], Counter()
        self._fingerprints = Fingerprints()

    def _masked(self, text: str) -> str:
        return text if self._allow_secrets else mask_secrets(text)

    def _give(self, receipt: Receipt) -> None:
        if receipt.outcome in {ReceiptOutcome.REJECTED, ReceiptOutcome.FAILED}:
            log.warning("%s %s: %s: %r", receipt.kind, receipt.outcome, receipt.reason, receipt.text)
        self._receipts.append(receipt)
        if self._on_receipt is not None:
            self._on_receipt(receipt)

    async def _take_marker(self, session: Session, marker: Marker, message_id: str | None) -> None:
        if isinstance(marker, RejectedMarker):
            self._give(_receipt(session, marker, ReceiptOutcome.REJECTED, reason=marker.reason))
            return
        secret = (
            None if self._allow_secrets else find_secret(_text(marker)) or find_secret(marker.service or "")
        )
        if secret is not None:
            reason = f"text appears to contain a secret ({secret.kind})"
            hidden = _receipt(session, marker, ReceiptOutcome.REJECTED, text="(not shown)", reason=reason)
            self._give(replace(hidden, service=mask_secrets(marker.service or "") or None))
            return
        fingerprint = self._fingerprint(marker, message_id)
        try:
            async with self._store.writing(lock=_lock(marker)) as sql:
                receipt = await self._store_marker(sql, session, marker, fingerprint)
        except StorageError as error:
            receipt = _receipt(session, marker, ReceiptOutcome.FAILED, reason=str(error))
        self._give(receipt)

    async def _store_marker(
        self,
        sql: Statements,
        session: Session,
        marker: MemoryMarker | EventMarker | CooldownMarker,
        fingerprint: str,
    ) -> Receipt:
        now = self._store.now()
        if not await sessions.note_marker(sql, session.id, fingerprint):
            reason = "taken from this session before"
            return _receipt(session, marker, ReceiptOutcome.REPEATED, reason=reason)
        match marker:
            case MemoryMarker():
                author = Author(actor=AGENT, session_id=session.id, tier=session.tier)
                learned = await lifecycle.learn(sql, marker, author, now, asks_model=self._asks_model)
                return _receipt(
                    session,
                    marker,
                    ReceiptOutcome(learned.outcome.value),
                    reason=learned.reason,
                    record_id=learned.memory.id,
                    confidence=learned.memory.confidence,
                    contradicted=learned.contradicted,
                )
            case EventMarker():
                event = await events.record(sql, marker, session.id, now)
                return _receipt(session, marker, ReceiptOutcome.RECORDED, record_id=event.id)
            case CooldownMarker():
                cooldown = await cooldowns.record(sql, marker, session.id, session.tier, now)
                return _receipt(session, marker, ReceiptOutcome.RECORDED, record_id=cooldown.id)
            case _:
                assert_never(marker)

    def _fingerprint(self, marker: Marker, message_id: str | None) -> str:
        """Name a marker within its session: the message it stands in, its text, and which of several equal ones."""
        key = (message_id, repr(marker))
        self._seen[key] += 1
        return hashlib.sha256(repr((*key, self._seen[key])).encode()).hexdigest()[:32]


def _lock(marker: MemoryMarker | EventMarker | CooldownMarker) -> str | None:
    """Name what must not be decided twice at once: two processes that learn the same would both create it."""
    if isinstance(marker, MemoryMarker):
        return f"operational:{marker.category}:{(marker.service or '').lower()}"
    return None


def _text(marker: Marker) -> str:
    match marker:
        case MemoryMarker():
            return marker.observation
        case EventMarker():
            return marker.message
        case CooldownMarker():
            return marker.reason
        case RejectedMarker():
            return marker.line
        case _:
            assert_never(marker)


def _receipt(  # the fields of a receipt that every marker has
    session: Session,
    marker: Marker,
    outcome: ReceiptOutcome,
    *,
    reason: str = "",
    text: str | None = None,
    record_id: int | None = None,
    confidence: float | None = None,
    contradicted: tuple[lifecycle.Effect, ...] = (),
) -> Receipt:
    kind, category, service = _headline(marker)
    return Receipt(
        session=session.id,
        kind=kind,
        outcome=outcome,
        text=_text(marker) if text is None else text,
        category=category,
        service=service,
        record_id=record_id,
        confidence=confidence,
        reason=reason,
        contradicted=contradicted,
    )


def _headline(marker: Marker) -> tuple[ReceiptKind, str | None, str | None]:
    """Return kind, category and service of a marker."""
    match marker:
        case MemoryMarker():
            return ReceiptKind.MEMORY, marker.category, marker.service
        case EventMarker():
            return ReceiptKind.EVENT, marker.level, marker.service
        case CooldownMarker():
            return ReceiptKind.COOLDOWN, marker.action, marker.service
        case RejectedMarker():
            return ReceiptKind.MARKER, None, None
        case _:
            assert_never(marker)
