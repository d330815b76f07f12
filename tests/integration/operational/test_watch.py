"""The schedule of sessions: at their times, one at a time, whatever became of the last."""

import asyncio
import json
import logging
import signal
import subprocess
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO

import psutil
import pytest

from commonplace.core.clock import ManualClock
from commonplace.core.errors import StorageUnavailableError
from commonplace.core.settings import Settings
from commonplace.operational.memory import OperationalMemory
from commonplace.operational.model.sessions import Session, SessionStatus
from commonplace.operational.run.schedule import MAX_WAIT_S, Stop, run_schedule
from support.agents import prints, script
from support.commands import CommandLine, clean_environment
from support.deadlines import DEADLINE_S
from support.judging import make_pair_wait
from support.processes import survivors
from support.streams import session

HOUR = timedelta(hours=1)


class Schedule:
    """A schedule on a clock that its own waits move.

    Args:
        clock: Moved by waits.
        sessions: How many run before it is asked to stop.
        takes: How long each takes.
        errors: What some of them raise.
    """

    def __init__(
        self,
        clock: ManualClock,
        *,
        sessions: int,
        takes: timedelta = timedelta(),
        errors: dict[int, Exception] | None = None,
    ) -> None:
        self.clock = clock
        self.started: list[datetime] = []
        self.waits: list[float] = []
        self.stop = Stop()
        self._sessions = sessions
        self._takes = takes
        self._errors = errors or {}

    async def run(self) -> None:
        """Be a session."""
        self.started.append(self.clock())
        self.clock.now += self._takes
        if len(self.started) == self._sessions:
            self.stop.ask()
        if error := self._errors.get(len(self.started)):
            raise error

    async def wait(self, seconds: float) -> bool:
        """Be the time that passes."""
        self.waits.append(seconds)
        self.clock.advance(seconds=seconds)
        return self.stop.asked.is_set()

    async def keep(self, due: datetime) -> list[timedelta]:
        """Run to the end and return when sessions started, from now."""
        begin = self.clock()
        await run_schedule(self.run, every=HOUR, due=due, clock=self.clock, stop=self.stop, wait=self.wait)
        return [moment - begin for moment in self.started]


async def test_sessions_start_at_fixed_times_however_long_they_take(clock: ManualClock) -> None:
    """A session of 20 minutes does not move the next one; one of 90 skips the time that it missed."""
    assert await Schedule(clock, sessions=3, takes=timedelta(minutes=20)).keep(clock()) == [
        0 * HOUR,
        1 * HOUR,
        2 * HOUR,
    ]
    late = Schedule(clock, sessions=3, takes=timedelta(minutes=90))
    assert await late.keep(clock() + HOUR) == [1 * HOUR, 3 * HOUR, 5 * HOUR]
    assert max(late.waits) <= MAX_WAIT_S


async def test_a_session_that_fails_does_not_stop_the_schedule(
    clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither an error of ours nor one that nobody expected; both are in the log."""
    errors = {1: StorageUnavailableError("the lock's disk is full"), 2: RuntimeError("a mistake")}
    with caplog.at_level(logging.ERROR):
        started = await Schedule(clock, sessions=3, errors=errors).keep(clock())
    assert started == [0 * HOUR, 1 * HOUR, 2 * HOUR]
    assert "the lock's disk is full" in caplog.text
    assert "a mistake" in caplog.text


async def test_a_clock_that_is_set_back_does_not_hold_the_schedule_up(clock: ManualClock) -> None:
    """An interval is the longest that it waits."""
    schedule = Schedule(clock, sessions=1)
    due = clock() + HOUR
    clock.advance(days=-365)
    (waited,) = await schedule.keep(due)
    assert waited <= HOUR + timedelta(seconds=MAX_WAIT_S)


async def test_a_schedule_that_is_asked_to_stop_starts_nothing_more(clock: ManualClock) -> None:
    """While it waits."""
    schedule = Schedule(clock, sessions=9)
    schedule.stop.ask()
    assert await schedule.keep(clock() + HOUR) == []
    assert await schedule.keep(clock()) == []


def noted(path: Path) -> list[int]:
    """Return the process ids that sessions have noted in a file."""
    return [int(line) for line in path.read_text().splitlines()] if path.exists() else []


async def runs(path: Path, count: int) -> list[int]:
    """Wait until so many sessions have noted their process ids in a file, and return those."""
    async with asyncio.timeout(DEADLINE_S):
        while len(noted(path)) < count:  # noqa: ASYNC110 - a file tells nobody
            await asyncio.sleep(0.02)
    return noted(path)


async def line_of(stream: IO[bytes] | None) -> str:
    """Wait for the next line that a command prints."""
    assert stream is not None
    async with asyncio.timeout(DEADLINE_S):
        return (await asyncio.to_thread(stream.readline)).decode()


def watcher(commonplace: CommandLine, agent: Path, *options: str) -> subprocess.Popen[bytes]:
    """Start ``ops watch``."""
    command = [commonplace.program, "ops", "watch", "--claude", agent, *options]
    return subprocess.Popen(
        command, env=clean_environment(commonplace.home), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


async def sessions(settings: Settings) -> list[Session]:
    """Return the sessions in the database, newest first."""
    async with OperationalMemory.open(settings) as memory:
        return await memory.sessions.list()


async def test_the_command_runs_sessions_until_it_is_told_to_stop(
    settings: Settings, tmp_path: Path, commonplace: CommandLine
) -> None:
    """The first fails, the next one runs; SIGTERM ends the one that hangs, and the command ends well."""
    ids = tmp_path / "ids"
    good = prints(tmp_path / "out", session("[MEMORY:timing:caddy] Takes 5s to start"))
    agent = script(
        tmp_path / "claude",
        f"echo $$ >> {ids}",
        f"case $(wc -l < {ids}) in 1) exit 3;; 2) {good}; exit;; *) exec sleep 60;; esac",
    )
    assert await sessions(settings) == []
    with watcher(commonplace, agent, "--tier", "2", "--every", "1s") as process:
        for count in (1, 2, 3):
            ids_so_far = await runs(ids, count)
        hanging = psutil.Process(ids_so_far[2])
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 0
    assert b"next session at" in out
    assert b"ended with status 3" in err
    assert survivors([hanging]) == []
    third, second, first = await sessions(settings)
    assert [first.status, second.status, third.status] == [
        SessionStatus.FAILED,
        SessionStatus.COMPLETED,
        SessionStatus.INTERRUPTED,
    ]
    assert {(row.trigger, row.tier) for row in (first, second, third)} == {("scheduled", 2)}


@pytest.mark.requirement("JDG-08.1", "JDG-08.3")
async def test_a_scheduled_session_has_its_doubtful_pairs_decided(
    settings: Settings, tmp_path: Path, commonplace: CommandLine
) -> None:
    """After its receipt; the schedule goes on."""
    async with OperationalMemory.open(settings) as memory:
        await make_pair_wait(memory, "Runs version 2.3", "Was upgraded to 2.4")
    decision = {"number": 1, "verdict": "corrects", "reason": "One version."}
    answer = {"type": "result", "is_error": False, "result": json.dumps({"decisions": [decision]})}
    agent = script(
        tmp_path / "claude",
        f'if [ "$2" = --output-format ]; then {prints(tmp_path / "answer", json.dumps(answer).encode())}',
        f"else {prints(tmp_path / 'out', session('All is well.'))}; fi",
    )
    with watcher(commonplace, agent, "--every", "1h") as process:
        lines = [await line_of(process.stdout)]
        while "next session at" not in lines[-1]:
            lines.append(await line_of(process.stdout))
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 0
    ended = next(place for place, line in enumerate(lines) if "completed, 0 receipts" in line)
    assert lines[ended + 1].startswith("second opinion of claude-code: 1 of 1 doubtful pair decided (")
    assert lines[ended + 2] == "decided    o:2 corrects o:1 Was upgraded to 2.4\n"


async def test_two_sessions_never_run_at_once(
    settings: Settings, tmp_path: Path, commonplace: CommandLine
) -> None:
    """Two schedules on one home: the second waits until the first one's session has ended."""
    ids, go = tmp_path / "ids", tmp_path / "go"
    said = prints(tmp_path / "out", session("ok"))
    agent = script(
        tmp_path / "claude", f"echo $$ >> {ids}", f"while [ ! -e {go} ]; do sleep 0.05; done", said
    )
    assert await sessions(settings) == []
    with watcher(commonplace, agent, "--every", "1h") as first:
        await runs(ids, 1)
        with watcher(commonplace, agent, "--every", "1h", "--tier", "3") as second:
            try:
                assert "another session is running; this session starts when it ends" in await line_of(
                    second.stderr
                )
                assert len(await runs(ids, 1)) == 1
            finally:
                go.touch()  # Without it, the watchers would wait for the agent, also after a failure.
            await runs(ids, 2)
            for process in (first, second):
                process.send_signal(signal.SIGTERM)
            for process in (first, second):
                process.communicate(timeout=DEADLINE_S)
                assert process.returncode == 0
    assert [row.tier for row in await sessions(settings)] == [3, 1]


async def test_a_schedule_that_is_started_again_keeps_its_interval(
    settings: Settings, tmp_path: Path, commonplace: CommandLine
) -> None:
    """A service that is restarted must not start a session each time. Ctrl-C ends the waiting."""
    async with OperationalMemory.open(settings) as memory:
        recorder = memory.recorder(tier=1, trigger="scheduled")
        started_at = (await recorder.begin()).started_at
        await recorder.end()
    ids = tmp_path / "ids"
    with watcher(commonplace, script(tmp_path / "claude", f"echo $$ >> {ids}"), "--every", "1h") as process:
        line = await line_of(process.stdout)
        assert f"{started_at + HOUR:%Y-%m-%d %H:%M:%S} UTC" in line
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 128 + signal.SIGINT
    assert not ids.exists()


def test_a_schedule_that_cannot_work_does_not_begin(commonplace: CommandLine) -> None:
    """What is wrong with it is said at once, not after the first interval."""
    done = commonplace("ops", "watch", "--every", "1h", "--claude", "/nowhere/claude")
    assert (done.status, "claude: expected the claude CLI" in done.err) == (1, True)
    assert commonplace("ops", "watch").status == 2
