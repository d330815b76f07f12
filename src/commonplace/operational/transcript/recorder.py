"""Recorder: follows the events of a stream and stores its sessions, markers and output."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import assert_never

from commonplace.core.errors import StorageError
from commonplace.core.quarantine import Quarantine
from commonplace.core.secrets import mask_secrets
from commonplace.operational.model.output import Shown
from commonplace.operational.model.receipts import Receipt, ReceiptKind, ReceiptOutcome, SessionReport
from commonplace.operational.model.sessions import Session, SessionStatus, require_tier
from commonplace.operational.model.stream import (
    AssistantText,
    CliNotice,
    Damaged,
    SessionResult,
    SessionStarted,
    StreamEvent,
    ToolResult,
    ToolUse,
)
from commonplace.operational.rules.fingerprints import Fingerprints
from commonplace.operational.rules.markers import parse_markers
from commonplace.operational.rules.output_lines import notice, shown_of
from commonplace.operational.rules.session_status import status_after
from commonplace.operational.store import output, sessions
from commonplace.operational.store.statements import OperationalStatements
from commonplace.operational.transcript.marker_store import store_marker
from commonplace.operational.transcript.recording_process import this_process
from commonplace.storage.store import Store

log = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class _OpenSession:
    """The current session of the stream; ``is_announced`` is true once the stream has named it."""

    session: Session
    is_announced: bool = True
    result: SessionResult | None = None
    lines: list[tuple[Shown, str]] = field(default_factory=list[tuple[Shown, str]])
    fingerprints: Fingerprints = field(default_factory=Fingerprints)


class Recorder:
    """Stores the sessions of one stream.

    Output lines are buffered until :meth:`flush`, so that each chunk of a transcript costs one transaction.

    Args:
        tiers: The tiers of the first session, the second, and so on; the last tier also holds for later sessions.
        allow_secrets: Whether to store text that looks like a secret.
        on_receipt: Called with each receipt as soon as its marker is durable.
        asks_model: Whether a model decides doubtful pairs after the session.
        quarantine: Tells which memories no prompt shows, for their receipts.
    """

    def __init__(
        self,
        store: Store[OperationalStatements],
        *,
        tiers: Sequence[int],
        trigger: str,
        allow_secrets: bool = False,
        on_receipt: Callable[[Receipt], None] | None = None,
        prompt_text: str | None = None,
        asks_model: bool = False,
        quarantine: Quarantine = Quarantine(),  # noqa: B008 - frozen
    ) -> None:
        self._store = store
        self._quarantine = quarantine
        self._asks_model = asks_model
        self._tiers = [require_tier(tier) for tier in tiers] or [1]
        self._trigger = trigger
        self._allow_secrets = allow_secrets
        self._on_receipt = on_receipt
        self._prompt_text = self._masked(prompt_text)
        self._open: _OpenSession | None = None
        self._receipts: list[Receipt] = []
        self._reports: list[SessionReport] = []

    async def begin(self) -> Session:
        """Begin a session before its stream; the next session that the stream announces is this one.

        Raises:
            StorageError: The session cannot be stored; the stream will begin it later.
        """
        begun = await self._begin(None, None)
        begun.is_announced = False
        return begun.session

    async def take(self, event: StreamEvent) -> None:
        """Store an event.

        Raises:
            StorageError: The session cannot be stored. A marker that cannot be stored gives a receipt instead of an
                error.
        """
        given = len(self._receipts)
        match event:
            case SessionStarted():
                await self._start(event)
            case AssistantText():
                await self._take_markers(event)
            case SessionResult():
                current = self._open or await self._begin(event.session_id, None)
                current.result = event
            case Damaged():
                self._give(
                    Receipt(
                        session=self._open.session.id if self._open else None,
                        kind=ReceiptKind.LINE,
                        outcome=ReceiptOutcome.REJECTED,
                        text=event.excerpt,
                        reason=f"line {event.line_number}: {event.reason}",
                    )
                )
            case ToolUse() | ToolResult() | CliNotice():
                pass
            case _:
                assert_never(event)
        shown = shown_of(event)
        if shown is not None:
            self.show(shown)
        for said in filter(None, map(_complaint, self._receipts[given:])):
            self.show(notice(said))

    def show(self, shown: Shown) -> None:
        """Add an output line to the session; the next :meth:`flush` stores it."""
        if self._open is not None:
            name = self._open.fingerprints.of(shown.kind.value, shown.key, shown.text)
            self._open.lines.append((shown, name))

    async def flush(self) -> None:
        """Store the output lines. Lines that cannot be stored are logged and dropped."""
        if self._open is None or not self._open.lines:
            return
        lines, self._open.lines = self._open.lines, []
        session_id = self._open.session.id
        try:
            async with self._store.writing() as sql:
                await output.store(sql, session_id, lines, self._store.now())
        except StorageError as error:
            log.warning("session %s: %d lines of output are lost: %s", session_id, len(lines), error)

    async def see(self) -> None:
        """Store that the session is still being recorded.

        Raises:
            StorageError: The time cannot be stored.
        """
        if self._open is not None:
            async with self._store.writing() as sql:
                await sql.see_session(id=self._open.session.id, moment=self._store.moment())

    async def end(
        self, *, exit_code: int | None = None, status: SessionStatus | None = None
    ) -> list[SessionReport]:
        """End the last session and return a report for each session, in order; a second call has no effect.

        Args:
            exit_code: The exit status of the agent's process, if known.
            status: Replaces the status that the result line and the exit status give.

        Raises:
            StorageError: The end cannot be stored.
        """
        if self._open is None:
            return self._reports
        await self.flush()
        result = self._open.result
        if result is not None:
            result = replace(result, response=self._masked(result.response))
        async with self._store.writing() as sql:
            session = await sessions.finish(
                sql,
                self._open.session.id,
                status or status_after(result, exit_code),
                result,
                self._store.now(),
                exit_code=exit_code,
            )
        self._reports.append(SessionReport(session=session, receipts=tuple(self._receipts)))
        self._open, self._receipts = None, []
        return self._reports

    async def _start(self, event: SessionStarted) -> None:
        if self._open is not None:
            if event.session_id is not None and event.session_id == self._open.session.agent_session_id:
                return  # resumed
            if not self._open.is_announced:
                await self._announce(self._open, event.session_id, event.model)
                return
            await self.end()
        await self._begin(event.session_id, event.model)

    async def _begin(self, agent_session_id: str | None, model: str | None) -> _OpenSession:
        tier = self._tiers[min(len(self._reports), len(self._tiers) - 1)]
        async with self._store.writing() as sql:
            session = await sessions.begin(
                sql,
                agent_session_id=agent_session_id,
                tier=tier,
                model=model,
                trigger=self._trigger,
                prompt_text=self._prompt_text,
                recorder=this_process(),
                now=self._store.now(),
            )
            await sql.forget_output(up_to_session=session.id - output.KEPT_SESSIONS)
        self._open = _OpenSession(session=session)
        return self._open

    async def _announce(self, current: _OpenSession, agent_session_id: str | None, model: str | None) -> None:
        async with self._store.writing() as sql:
            row = await sql.announce_session(
                id=current.session.id, agent_session_id=agent_session_id, model=model
            )
        current.session = Session.existing(row, current.session.id)
        current.is_announced = True

    async def _take_markers(self, event: AssistantText) -> None:
        current = self._open or await self._begin(event.session_id, None)
        if not current.is_announced and event.session_id is not None:
            await self._announce(current, event.session_id, None)
        for marker in parse_markers(event.text):
            name = current.fingerprints.of(event.message_id, repr(marker))
            self._give(
                await store_marker(
                    self._store,
                    current.session,
                    marker,
                    name,
                    allow_secrets=self._allow_secrets,
                    quarantine=self._quarantine,
                    asks_model=self._asks_model,
                )
            )

    def _give(self, receipt: Receipt) -> None:
        self._receipts.append(receipt)
        if self._on_receipt is not None:
            self._on_receipt(receipt)
        elif receipt.outcome in {ReceiptOutcome.REJECTED, ReceiptOutcome.FAILED}:
            log.warning("%s %s: %s: %r", receipt.kind, receipt.outcome, receipt.reason, receipt.text)

    def _masked(self, text: str | None) -> str | None:
        return text if text is None or self._allow_secrets else mask_secrets(text)


def _complaint(receipt: Receipt) -> str:
    """Return what the output of a session says about a marker that was not stored; empty for other receipts."""
    is_lost = receipt.outcome in {ReceiptOutcome.REJECTED, ReceiptOutcome.FAILED}
    if not is_lost or receipt.kind is ReceiptKind.LINE:
        return ""
    return f"{receipt.kind} {receipt.outcome}: {receipt.text}: {receipt.reason}"
