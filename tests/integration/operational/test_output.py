"""What a session shows while it runs, read by another process; and sessions whose process is gone.

Every test on a database runs on SQLite and on PostgreSQL.
"""

import asyncio
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest

from commonplace.core.clock import ManualClock
from commonplace.core.settings import Settings
from commonplace.operational.memory import OperationalMemory
from commonplace.operational.model.output import OutputKind, OutputLine
from commonplace.operational.model.sessions import SessionStatus
from commonplace.operational.model.stream import StreamEvent
from commonplace.operational.store.output import KEPT_LINES
from commonplace.operational.transcript.recording_process import this_process
from commonplace.operational.transcript.stream import StreamReader
from support.streams import chunks, encode, init, result, says, session, tool_result

SECRET = "sk-abcdef0123456789"
TOOL_USE = {
    "type": "assistant",
    "session_id": "s-1",
    "message": {
        "id": "msg_tool",
        "model": "claude-x",
        "content": [{"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "docker ps"}}],
    },
}


def decoded(*lines: dict[str, Any]) -> list[StreamEvent]:
    """Return the events of lines."""
    return StreamReader().feed(encode(*lines))


def seen(lines: list[OutputLine]) -> list[tuple[str, str]]:
    """Return kinds and texts."""
    return [(line.kind.value, line.text) for line in lines]


async def test_the_output_names_the_markers_that_were_not_stored(operational: OperationalMemory) -> None:
    """Whoever reads a scheduled session on its page sees why, once, however often its transcript is read."""
    text = f"[MEMORY:misc] Loud\n[MEMORY:timing] Takes 2s\n[MEMORY:behavior] The key is {SECRET}"
    for _ in range(2):
        (report,) = await operational.ingest(chunks(session(text)))
    lines = seen(await operational.sessions.output(report.session.id))
    expected = "invalid category 'misc': expected timing, dependency, behavior, remediation, maintenance"
    assert [text for kind, text in lines if kind == "notice"] == [
        f"marker rejected: [MEMORY:misc] Loud: {expected}",
        "memory rejected: (not shown): text appears to contain a secret (API key (sk-…))",
    ]


@pytest.mark.requirement("OPS-20.1")
async def test_a_running_session_can_be_watched(
    operational: OperationalMemory, database: Settings, clock: ManualClock
) -> None:
    """Another opening of the database reads each line while the stream still goes on, by number."""
    arrived: list[list[tuple[str, str]]] = []

    async def live() -> AsyncIterator[bytes]:
        async with OperationalMemory.open(database) as onlooker:
            yield encode(init(), says("I look around."))
            (running,) = await onlooker.sessions.list()
            assert running.status is SessionStatus.RUNNING
            arrived.append(seen(await onlooker.sessions.output(running.id)))
            yield encode(TOOL_USE, tool_result("jellyfin Up 3 days"))
            arrived.append(seen(await onlooker.sessions.output(running.id, after=1)))
            yield encode(result("All is well."))

    (report,) = await operational.ingest(live())
    assert arrived == [
        [("text", "I look around.")],
        [("tool", "Bash: command: docker ps"), ("tool_result", "jellyfin Up 3 days")],
    ]
    lines = await operational.sessions.output(report.session.id, after=3)
    assert seen(lines) == [("result", "success (3 turns, 1.5 s, $0.0200)")]
    assert (lines[0].seq, lines[0].at) == (4, clock.now)
    assert await operational.sessions.output(report.session.id, limit=1) == [
        OutputLine(seq=1, kind=OutputKind.TEXT, text="I look around.", at=clock.now)
    ]
    assert await operational.sessions.output(99) == []


async def test_reading_a_transcript_again_shows_nothing_twice(operational: OperationalMemory) -> None:
    """Two lines that say the same are two all the same."""
    data = encode(
        init(), says("Waiting.", message_id="m1"), says("Waiting.", message_id="m1"), TOOL_USE, result()
    )
    for _ in range(2):
        (report,) = await operational.ingest(chunks(data, size=90))
    lines = await operational.sessions.output(report.session.id)
    assert [line.kind for line in lines] == ["text", "text", "tool", "result"]


async def test_no_secret_is_shown_or_kept(operational: OperationalMemory) -> None:
    """Neither in what the agent says, nor in a tool's result, nor in the response of the session."""
    spoken = f"The key is {SECRET} and works.\nDone."
    data = encode(init(), says(spoken), tool_result(f"password: {SECRET}"), result(f"Use {SECRET}"))
    (report,) = await operational.ingest(chunks(data))
    lines = await operational.sessions.output(report.session.id)
    assert lines[0].text == "The key is [hidden: API key] and works.\nDone."
    assert SECRET not in str(lines)
    assert report.session.response == "Use [hidden: API key]"


async def test_a_secret_that_was_cut_in_two_is_not_shown(operational: OperationalMemory) -> None:
    """A tool's result is cut at 500 characters: the rest of a key is no key that anybody recognises."""
    key = "Zx9" * 20
    data = encode(init(), tool_result("word " * 95 + key), result())
    (report,) = await operational.ingest(chunks(data))
    (shown, _) = await operational.sessions.output(report.session.id)
    assert "Zx9" not in shown.text
    assert shown.text.endswith("…")


async def test_of_a_long_session_the_end_is_kept(operational: OperationalMemory) -> None:
    """The oldest lines go, the numbers stay."""
    extra = 10
    spoken = [says(f"step {number}") for number in range(KEPT_LINES + extra - 1)]
    (report,) = await operational.ingest(chunks(encode(init(), *spoken, result())))
    lines = await operational.sessions.output(report.session.id, limit=KEPT_LINES + extra)
    assert (lines[0].seq, lines[-1].seq, len(lines)) == (extra + 1, KEPT_LINES + extra, KEPT_LINES)
    assert lines[-1].kind is OutputKind.RESULT


RECORD_AND_HANG = """
import asyncio, sys
from commonplace.core.settings import Settings
from commonplace.operational.memory import OperationalMemory

async def main():
    settings = Settings(home=sys.argv[1], database=sys.argv[2])
    async with OperationalMemory.open(settings) as memory:
        await memory.recorder(tier=1, trigger="test").begin()
        print("begun", flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_a_session_whose_process_was_killed_is_found_interrupted(database: Settings) -> None:
    """By the next start; not while the process lives, and no session of another process."""
    arguments = [sys.executable, "-c", RECORD_AND_HANG, str(database.home), database.database]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        await asyncio.to_thread(process.stdout.readline)
        async with OperationalMemory.open(database) as memory:
            await memory.recorder(tier=2, trigger="test").begin()
            assert await memory.upkeep.interrupt_lost_sessions() == []
            process.kill()
            process.wait()
            (lost,) = await memory.upkeep.interrupt_lost_sessions()
            assert (lost.tier, lost.status) == (1, SessionStatus.INTERRUPTED)
            assert lost.ended_at == lost.started_at
            assert await memory.upkeep.interrupt_lost_sessions() == []
            own, other = await memory.sessions.list()
            assert (own.status, other.status) == (SessionStatus.RUNNING, SessionStatus.INTERRUPTED)


async def test_a_session_of_another_machine_is_lost_when_it_was_not_seen_for_long(
    operational: OperationalMemory, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its process cannot be looked at from here; a sign of life counts."""
    recorder = operational.recorder(tier=1, trigger="test")
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr("socket.gethostname", lambda: "another-machine")
        this_process.cache_clear()
        await recorder.begin()
    this_process.cache_clear()
    clock.advance(minutes=9)
    await recorder.see()
    clock.advance(minutes=9)
    assert await operational.upkeep.interrupt_lost_sessions() == []
    clock.advance(minutes=2)
    (lost,) = await operational.upkeep.interrupt_lost_sessions()
    assert lost.status is SessionStatus.INTERRUPTED


CONTAINER = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc")
"""Starts a command where process ids begin at 1, under the name of this machine, as in a container."""


async def test_a_session_of_another_container_is_not_lost(settings: Settings) -> None:
    """Its process id is another's here, or nobody's."""
    if shutil.which("unshare") is None or subprocess.run([*CONTAINER, "true"], check=False).returncode != 0:
        pytest.skip("needs Linux, and the right to make namespaces")
    arguments = [*CONTAINER, sys.executable, "-c", RECORD_AND_HANG, str(settings.home), settings.database]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert await asyncio.to_thread(process.stdout.readline) == b"begun\n"
            async with OperationalMemory.open(settings) as memory:
                assert await memory.upkeep.interrupt_lost_sessions() == []
        finally:
            process.kill()


@pytest.mark.requirement("OPS-20.1")
async def test_a_session_that_was_begun_takes_the_streams_own_id(operational: OperationalMemory) -> None:
    """One row, from before the first line to the result; the id of another session stays with that one."""
    await operational.ingest(chunks(session("x", session_id="taken")))
    for name, kept in (("own", "own"), ("taken", None)):
        recorder = operational.recorder(tier=3, trigger="manual", prompt_text="Look.")
        begun = await recorder.begin()
        assert (begun.status, begun.prompt_text) == (SessionStatus.RUNNING, "Look.")
        for event in decoded(init(name), says("ok", session_id=name), result(session_id=name)):
            await recorder.take(event)
        (report,) = await recorder.end(exit_code=0)
        ended = report.session
        assert (ended.id, ended.agent_session_id, ended.model) == (begun.id, kept, "claude-x")
        assert (ended.status, ended.exit_code) == (SessionStatus.COMPLETED, 0)
    assert len(await operational.sessions.list()) == 3


async def test_a_stream_without_a_first_line_names_the_session_all_the_same(
    operational: OperationalMemory,
) -> None:
    """Reading its transcript again later must find the session that was begun."""
    recorder = operational.recorder(tier=1, trigger="manual")
    begun = await recorder.begin()
    for event in decoded(says("[MEMORY:timing:caddy] Takes 5s to start"), result()):
        await recorder.take(event)
    await recorder.end(exit_code=0)
    (report,) = await operational.ingest(chunks(encode(says("more"), result())))
    assert (report.session.id, report.session.agent_session_id) == (begun.id, "s-1")
