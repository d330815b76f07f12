"""``commonplace sync`` that is killed while it speaks with a Git remote, and two of them at once."""

import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from itertools import count
from pathlib import Path

import pytest

from support.commands import CommandLine, CommandServer, clean_environment
from support.database_stock import DatabaseStock
from support.deadlines import DEADLINE_S
from support.postgres import wait_until
from support.slow_remote import SlowRemote
from support.sync_commands import CommandDevice

pytestmark = pytest.mark.requirement("SYN-16.2")


def start_sync(device: CommandDevice) -> subprocess.Popen[bytes]:
    """Start a sync in a process group of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "commonplace", "sync"],
        env=clean_environment(device.home, **device.variables),
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )


@pytest.fixture
def remote(tmp_path: Path) -> SlowRemote:
    """An empty remote."""
    return SlowRemote(tmp_path)


@pytest.fixture
async def devices(
    knowledge_databases: DatabaseStock, command_server: CommandServer, tmp_path: Path, remote: SlowRemote
) -> AsyncIterator[list[CommandDevice]]:
    """Two homes that sync over the remote."""
    async with AsyncExitStack() as stack:
        made: list[CommandDevice] = []
        for name in ("laptop", "desktop"):
            database = await stack.enter_async_context(knowledge_databases.lend())
            command = CommandLine(tmp_path, tmp_path / name, command_server)
            made.append(CommandDevice(command, database.url, **remote.variables))
        laptop, desktop = made
        laptop("sync", "init", remote.address, "--name", "laptop")
        desktop("sync", "join", remote.address, "--name", "desktop")
        yield made


@pytest.mark.long
def test_a_kill_at_any_call_of_the_remote_loses_nothing(
    devices: list[CommandDevice], remote: SlowRemote
) -> None:
    """And does nothing twice, whether git dies with the sync, as at odd calls, or goes on without it."""
    laptop, desktop = devices
    texts: list[str] = []
    for call in count(1):
        texts.append(laptop.learn(f"host{call}"))
        step = remote.calls + call
        with remote.hanging(at=step):
            process = start_sync(laptop)
            wait_until(lambda: process.poll() is not None or remote.calls == step, what=f"call {call}")  # noqa: B023
            has_ended = process.poll() is not None
            if not has_ended:
                os.killpg(process.pid, signal.SIGKILL) if call % 2 else process.kill()
            process.wait(DEADLINE_S)
        if has_ended:
            break
    assert len(texts) > 3, "the remote is called to list, to fetch and to push"
    laptop("sync")
    desktop("sync")
    assert laptop.lessons() == desktop.lessons() == sorted(texts)
    assert "Nothing new." in laptop("sync").out


def test_two_syncs_at_once_do_it_once(devices: list[CommandDevice]) -> None:
    """One waits for the other."""
    laptop, desktop = devices
    text = laptop.learn("host1")
    with ThreadPoolExecutor(2) as threads:
        runs = [threads.submit(laptop, "sync") for _ in range(2)]
        outputs = sorted(each.result().out for each in runs)
    assert outputs == ["1 change of this device, 1 file sent\n", "Nothing new.\n"]
    desktop("sync")
    assert desktop.lessons() == [text]
