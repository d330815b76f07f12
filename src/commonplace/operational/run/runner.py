"""Runner of one session: builds the prompt, stores markers and output live, and ends all processes.

A failure of memory never stops the agent. If the database cannot be reached, the session runs without its block; if
a write fails, the stream stays in a file that the next run stores. Both failures are logged.
Source: OPS-06, OPS-19, OPS-20, and the host's part of the ADR.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Final

from commonplace.core.clock import utc_now
from commonplace.core.secrets import mask_secrets
from commonplace.core.settings import Settings
from commonplace.core.text import trim_to
from commonplace.llm.cli_process import outside_a_session
from commonplace.operational.memory import OperationalMemory
from commonplace.operational.model.output import Shown
from commonplace.operational.model.receipts import Receipt
from commonplace.operational.model.second_opinions import SecondOpinion
from commonplace.operational.model.sessions import Session, SessionStatus
from commonplace.operational.model.stream import SessionResult, StreamEvent
from commonplace.operational.rules.output_lines import describe_failure, notice, shown_of
from commonplace.operational.rules.session_status import status_after
from commonplace.operational.run.agent import AgentProcess, RunRequest, build_command, prompt_options
from commonplace.operational.run.lock import RunLock
from commonplace.operational.run.processes import new_mark
from commonplace.operational.run.prompt import build_system_prompt, render_environment
from commonplace.operational.run.recall import open_or_none, recall
from commonplace.operational.run.recording import LiveRecording, SessionEnd, TranscriptFile
from commonplace.operational.run.schedule import Stop
from commonplace.operational.run.second_opinion import Adviser, ask_second_opinion, session_adviser
from commonplace.operational.transcript.stream import StreamReader

_REASON_CHARS: Final = 500
_MAX_LINE_BYTES: Final = 1 << 16

log = logging.getLogger(__name__)


class RunOutcome(StrEnum):
    """The outcome of a run."""

    COMPLETED = "completed"
    FAILED = "failed"
    """The agent reported a failure in its result or by its exit status."""
    INTERRUPTED = "interrupted"
    """The agent ended without a result."""
    TIMED_OUT = "timed_out"
    STOPPED = "stopped"
    """The operator ended the session."""

    @property
    def status(self) -> SessionStatus:
        """The status of the session's row."""
        match self:
            case RunOutcome.COMPLETED:
                return SessionStatus.COMPLETED
            case RunOutcome.FAILED | RunOutcome.TIMED_OUT:
                return SessionStatus.FAILED
            case RunOutcome.INTERRUPTED | RunOutcome.STOPPED:
                return SessionStatus.INTERRUPTED


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """A run that has ended.

    Attributes:
        reason: Why the run did not succeed; empty if it did.
        exit_code: The exit status of the CLI; negative for a signal.
        session: The row of the session; ``None`` if the database could not be reached.
        receipts: A receipt for each marker that was stored or refused.
        transcript: The file of a stream that is not stored completely; the next run stores it.
        second_opinion: The decisions of a model on the doubtful pairs; ``None`` if nobody was asked.
    """

    outcome: RunOutcome
    reason: str
    exit_code: int
    session: Session | None
    receipts: tuple[Receipt, ...]
    transcript: Path | None
    second_opinion: SecondOpinion | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Watcher:
    """An observer of a running session.

    Attributes:
        on_output: Called with each output line as it comes.
        on_receipt: Called with each receipt as soon as its marker is durable.
        on_end: Called when the session has ended and is stored, before anybody is asked about doubtful pairs.
    """

    on_output: Callable[[Shown], None] | None = None
    on_receipt: Callable[[Receipt], None] | None = None
    on_end: Callable[[RunReport], None] | None = None


async def run_session(
    settings: Settings,
    request: RunRequest,
    *,
    lock: RunLock,
    stop: Stop,
    watcher: Watcher | None = None,
) -> RunReport:
    """Run a session to its end and record it.

    The caller holds the lock.

    Raises:
        InvalidInputError: The CLI cannot be started, or the prompt is too long.
    """
    watcher = watcher or Watcher()
    async with open_or_none(settings) as memory:
        adviser = session_adviser(settings, request)
        recalled = await recall(memory, request, settings.home, is_advised=adviser is not None)
        environment = render_environment(utc_now(), request.services, recalled.actions)
        system_prompt = build_system_prompt(request.prompt, environment, recalled.block)
        recorder = memory and memory.recorder(
            tier=request.tier,
            trigger=request.trigger,
            prompt_text=f"{system_prompt}\n\n---\n\n{request.task}",
            asks_model=recalled.asks_model,
            on_receipt=watcher.on_receipt,
        )
        with prompt_options(system_prompt, by_file=settings.prompt_by_file) as option:
            process = await AgentProcess.start(
                build_command(request, option),
                environ=outside_a_session(request.environ),
                directory=request.directory,
            )
            try:
                lock.name_agent(process.pid, process.mark)
                process.on_listed = lock.name_tools
                recording = LiveRecording(recorder) if recorder else None
                transcript = TranscriptFile.create(settings.home, tier=request.tier, now=utc_now())
                report = await _Run(process, request, stop, watcher, recording, transcript).to_its_end()
            finally:
                await process.close()
                lock.forget_agent()
        if watcher.on_end is not None:
            watcher.on_end(report)
        if memory is None or adviser is None or stop.asked.is_set():
            return report
        return replace(report, second_opinion=await _second_opinion(memory, adviser, lock, stop))


async def _second_opinion(
    memory: OperationalMemory, adviser: Adviser, lock: RunLock, stop: Stop
) -> SecondOpinion | None:
    """Ask about doubtful pairs; no CLI outlives the call, and if this process is killed, the next start ends it."""
    mark = new_mark()
    lock.name_helper(mark)
    try:
        return await ask_second_opinion(memory, adviser.marked(mark), stop=stop)
    finally:
        lock.forget_agent()


@dataclass(slots=True)
class _Run:
    """A run in progress: reads the stream, shows and records it, and ends the process when asked."""

    process: AgentProcess
    request: RunRequest
    stop: Stop
    watcher: Watcher
    recording: LiveRecording | None
    transcript: TranscriptFile | None
    result: SessionResult | None = None
    last_error: str = ""
    ended_by: RunOutcome | None = None

    async def to_its_end(self) -> RunReport:
        """Follow the process to its end and return the report."""
        try:
            exit_code = await self._follow()
            if not self._has_finished(exit_code):
                # Tools of an agent that ended early would keep running unattended.
                await self.process.kill()
            return await self._report(exit_code)
        finally:
            if self.recording is not None:
                await self.recording.abandon()

    async def _follow(self) -> int:
        guard = asyncio.create_task(self._end_when_told())
        errors = asyncio.create_task(self._follow_errors())
        try:
            await self._follow_output()
            exit_code = await self.process.wait()
            await errors
        finally:
            guard.cancel()
            errors.cancel()
            await asyncio.wait({guard, errors})
        return exit_code

    async def _follow_output(self) -> None:
        reader = StreamReader()
        async for chunk in self.process.output():
            if self.transcript is not None:
                self.transcript.write(chunk)
            for event in reader.feed(chunk):
                self._take(event)
        for event in reader.close():
            self._take(event)

    async def _follow_errors(self) -> None:
        pending = b""
        async for chunk in self.process.errors():
            *lines, pending = (pending + chunk).split(b"\n")
            for line in lines:
                self._take_error(line)
            pending = pending[:_MAX_LINE_BYTES]
        self._take_error(pending)

    def _take(self, event: StreamEvent) -> None:
        if isinstance(event, SessionResult):
            self.result = event
        if self.recording is not None:
            self.recording.put(event)
        shown = shown_of(event)
        if shown is not None and self.watcher.on_output is not None:
            self.watcher.on_output(shown)

    def _take_error(self, line: bytes) -> None:
        text = line.decode("utf-8", "replace").strip()
        if text:
            self.last_error = text
            self._say(notice(f"claude: {text}"))

    def _say(self, shown: Shown) -> None:
        if self.recording is not None:
            self.recording.put(shown)
        if self.watcher.on_output is not None:
            self.watcher.on_output(shown)

    async def _end_when_told(self) -> None:
        try:
            async with asyncio.timeout(self.request.timeout_s):
                await self.stop.asked.wait()
            self.ended_by = RunOutcome.STOPPED
            self._say(notice("the operator ended the session"))
        except TimeoutError:
            self.ended_by = RunOutcome.TIMED_OUT
            self._say(
                notice(f"commonplace ended the session: it took longer than {self.request.timeout_s:g} s")
            )
        stopping = asyncio.create_task(self.process.stop(self.request.grace_s))
        insisting = asyncio.create_task(self.stop.insisted.wait())
        try:
            await asyncio.wait({stopping, insisting}, return_when=asyncio.FIRST_COMPLETED)
            if not stopping.done() or stopping.exception() is not None:
                await self.process.kill()
        finally:
            stopping.cancel()
            insisting.cancel()
            await asyncio.wait({stopping, insisting})

    async def _report(self, exit_code: int) -> RunReport:
        outcome = self._outcome(exit_code)
        reason = mask_secrets(self._reason(outcome, exit_code))
        if self.result is None:
            self._say(notice(reason))
        reports = []
        if self.recording is not None:
            end = SessionEnd(exit_code=exit_code, status=outcome.status)
            reports = await self.recording.end(end)
        is_complete = self.recording is not None and self.recording.is_complete
        return RunReport(
            outcome=outcome,
            reason=reason,
            exit_code=exit_code,
            session=reports[-1].session if reports else None,
            receipts=tuple(receipt for report in reports for receipt in report.receipts),
            transcript=self._keep_transcript(is_complete=is_complete),
        )

    def _has_finished(self, exit_code: int) -> bool:
        """Return whether the agent completed its work; in that case, tools that it left running may continue."""
        return self.ended_by is None and exit_code == 0 and self._outcome(exit_code) is RunOutcome.COMPLETED

    def _outcome(self, exit_code: int) -> RunOutcome:
        match status_after(self.result, exit_code):
            case SessionStatus.COMPLETED:
                return RunOutcome.COMPLETED
            case SessionStatus.FAILED:
                return self.ended_by or RunOutcome.FAILED
            case _:
                return self.ended_by or RunOutcome.INTERRUPTED

    def _reason(self, outcome: RunOutcome, exit_code: int) -> str:
        match outcome:
            case RunOutcome.COMPLETED:
                return ""
            case RunOutcome.TIMED_OUT:
                return f"it took longer than {self.request.timeout_s:g} s and was ended"
            case RunOutcome.STOPPED:
                return "the operator ended it"
            case RunOutcome.FAILED if self.result is not None:
                return trim_to(describe_failure(self.result), _REASON_CHARS)
            case RunOutcome.FAILED | RunOutcome.INTERRUPTED:
                how = (
                    f"was killed by signal {-exit_code}"
                    if exit_code < 0
                    else f"ended with status {exit_code}"
                )
                said = trim_to(self.last_error, _REASON_CHARS) or "no error output"
                return f"the claude CLI {how} without a result: {said}"

    def _keep_transcript(self, *, is_complete: bool) -> Path | None:
        if self.transcript is None:
            return None
        if is_complete:
            self.transcript.remove()
            return None
        self.transcript.close()
        log.warning("the session is not stored completely; the next run will store %s", self.transcript.path)
        return self.transcript.path
