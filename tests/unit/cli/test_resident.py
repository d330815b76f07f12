"""The parts of the resident process that need no process."""

import asyncio
import json
import os
import socket
import struct
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from commonplace.cli.frame.forkable import may_fork
from commonplace.core.settings import Settings, load_settings
from commonplace.hosts.hooks.hook_input import HookCall
from commonplace.hosts.resident import client, fork_client
from commonplace.hosts.resident.fork_server import (
    READ_ONCE,
    _request,  # pyright: ignore[reportPrivateUsage]
)
from commonplace.hosts.resident.resident_socket import ResidentSocket
from commonplace.hosts.resident.server import Resident
from commonplace.hosts.resident.upkeep import BackgroundConsolidation
from commonplace.hosts.resident.watch import Watch

if TYPE_CHECKING:
    from commonplace.knowledge import KnowledgeMemory

HARMLESS_WHEN_READ = frozenset(
    {
        *(
            "COLUMNS",
            "LINES",
            "FORCE_COLOR",
            "NO_COLOR",
            "TTY_COMPATIBLE",
            "TTY_INTERACTIVE",
        ),  # read again per console
        *("LANG", "LANGUAGE", "LC_ALL", "LC_MESSAGES"),  # there are no translations
        *(
            "_COMMONPLACE_COMPLETE",
            "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION",
        ),  # completions run in no fork
    }
)
"""Variables that imports read without keeping the value for commands."""


@pytest.mark.parametrize(
    "relative",
    [
        {"COMMONPLACE_WORKSPACE": "."},
        {"COMMONPLACE_DATABASE": "x.db"},
        {"COMMONPLACE_EMBEDDING_MODEL": "model"},
        {"COMMONPLACE_RERANKER": "./model"},
        {"COMMONPLACE_CONFIG": "commonplace.toml"},
    ],
)
def test_a_hook_with_a_relative_place_does_its_own_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, relative: dict[str, str]
) -> None:
    """The process has another current directory."""
    monkeypatch.chdir(tmp_path)
    Path("model").mkdir()
    Path("commonplace.toml").touch()
    assert client.home_of({"COMMONPLACE_HOME": str(tmp_path), **relative}) is None


def test_a_relative_place_in_the_file_counts_unless_a_variable_replaces_it(tmp_path: Path) -> None:
    """Names of models and URLs are no places."""
    (tmp_path / "commonplace.toml").write_text('database = "x.db"\n')
    environ = {"COMMONPLACE_HOME": str(tmp_path)}
    assert client.home_of(environ) is None
    named = {"COMMONPLACE_DATABASE": "postgresql://h/d", "COMMONPLACE_EMBEDDING_MODEL": "BAAI/bge-small"}
    assert client.home_of(environ | named) == str(tmp_path)
    named["COMMONPLACE_RERANKER"] = "cross-encoder/ms-marco-MiniLM-L-6-v2"
    assert client.home_of(environ | named) == str(tmp_path)


def test_a_process_that_the_kernel_does_not_name_is_not_killed() -> None:
    """The kernel gives 0 for it, as for a socket without a peer, and 0 would be the caller's own group."""
    code = "import socket; from commonplace.hosts.resident.client import _kill; _kill(socket.socket(socket.AF_UNIX))"
    assert subprocess.run([sys.executable, "-c", code], start_new_session=True, check=False).returncode == 0


@pytest.mark.parametrize(
    ("sent", "announced", "error"), [(b"{", 100, ConnectionError), (b"[]", 2, TypeError)]
)
def test_a_request_that_ends_early_or_is_no_object_is_refused(
    sent: bytes, announced: int, error: type[Exception]
) -> None:
    """The fork would read for ever."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        socket.send_fds(theirs, [struct.pack(fork_client.LENGTH, announced)], [])
        theirs.sendall(sent)
        theirs.shutdown(socket.SHUT_WR)
        with pytest.raises(error):
            _request(ours)


def test_a_request_arrives_with_its_streams(tmp_path: Path) -> None:
    """The head carries the descriptors."""
    ours, theirs = socket.socketpair()
    document = json.dumps({"build": "b"}).encode()
    with ours, theirs, (tmp_path / "stream").open("w") as stream:
        socket.send_fds(theirs, [struct.pack(fork_client.LENGTH, len(document))], [stream.fileno()])
        theirs.sendall(document)
        request, streams = _request(ours)
        assert (request, len(streams)) == ({"build": "b"}, 1)
        os.close(streams[0])


async def test_nothing_begins_after_the_stop(tmp_path: Path) -> None:
    """Work that ends late cannot start a consolidation that nobody stops."""
    settings = Settings(home=tmp_path, consolidation_model="claude-code")
    consolidation = BackgroundConsolidation(settings, cast("KnowledgeMemory", None))
    await consolidation.stop()
    consolidation.begin()
    assert consolidation._task is None


async def test_the_stop_waits_for_answers_and_for_the_work_that_they_begin(tmp_path: Path) -> None:
    """An answer under way is not cut off."""
    done: list[str] = []
    resident = Resident(
        ResidentSocket(str(tmp_path)), "b", Settings(home=tmp_path), cast("KnowledgeMemory", None)
    )

    async def learn() -> None:
        await asyncio.sleep(0)
        done.append("learned")

    async def answer() -> None:
        await asyncio.sleep(0)
        resident._begin_behind(learn())
        done.append("answered")

    task = asyncio.create_task(answer())
    resident._answers.add(task)
    task.add_done_callback(resident._answers.discard)
    await resident._finish()
    assert done == ["answered", "learned"]


def test_a_host_is_watched_by_one_descriptor_until_its_last_session_ends() -> None:
    """The host here is the process above this one."""

    async def descriptors() -> list[int]:
        watch = Watch(lambda _: None)
        ours, theirs = socket.socketpair(socket.AF_UNIX)
        with ours, theirs:
            counts = [_watched()]
            for session in ("a", "b", "a"):
                watch.begin(ours, _call(session))
            counts.append(_watched())
            watch.end("a")
            counts.append(_watched())
            watch.end("b")
            watch.end("b")
            counts.append(_watched())
        return [each - counts[0] for each in counts]

    assert asyncio.run(descriptors()) == [0, 1, 1, 0]


def _watched() -> int:
    opened = [str(each.readlink()) for each in Path("/proc/self/fd").iterdir() if each.is_symlink()]
    return sum("pidfd" in each for each in opened)


def _call(session: str) -> HookCall:
    settings = load_settings(read_current_directory=False, environ={}).settings
    return HookCall(session_id=session, transcript=Path(), prompt="", named_butler=None, settings=settings)


def test_a_fork_has_the_umask_the_arguments_and_the_environment_of_its_command(tmp_path: Path) -> None:
    """A process stands for the fork, because it changes all of itself."""
    code = f"""
import os, sys, time
from commonplace.hosts.resident.fork_server import _become
form = ["latin-1", "replace", False, False]
request = {{"directory": {str(tmp_path)!r}, "environ": {{"TZ": "Asia/Tokyo"}}, "umask": 0o027, "ignored": [15],
            "arguments": ["know"], "streams": [form] * 3}}
_become(request, [os.dup(each) for each in range(3)])
print(os.getcwd(), dict(os.environ), oct(os.umask(0)), time.tzname[0], sys.argv, "\u00e9\u2615", end="")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout.decode("latin-1") == (
        f"{tmp_path} {{'TZ': 'Asia/Tokyo'}} 0o27 JST ['commonplace', 'know'] \u00e9?"
    )


@pytest.mark.parametrize(
    ("arguments", "may"),
    [
        (["know", "Ada"], True),
        (["knowledge", "list", "facts"], True),
        (["a-command-of-tomorrow"], True),
        (["ops", "run"], False),
        (["ops", "list"], True),
        (["serve"], False),
        (["admin", "host", "run"], False),
        (["--help"], False),
        ([], False),
    ],
)
def test_every_command_but_a_few_runs_in_a_fork(arguments: list[str], *, may: bool) -> None:
    """A new command needs no line in a list."""
    assert may_fork(arguments) is may


@pytest.mark.requirement("ONE-04.2")
def test_imports_read_no_variable_that_the_fork_server_does_not_compare() -> None:
    """A command whose variables differ would otherwise get what the imports read."""
    code = """
import os, sys
read, get = set(), os._Environ.__getitem__
def recorded(self, key):
    if sys._getframe(1).f_code.co_name not in {"__iter__", "<dictcomp>"}:
        read.add(key)
    return get(self, key)
os._Environ.__getitem__ = recorded
from commonplace.hosts.resident.preload import LATER, preload
preload()
for step in LATER[:-2]:
    step()
print(*sorted(read))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    others = set(done.stdout.split()) - set(READ_ONCE) - HARMLESS_WHEN_READ
    # A command with a variable of the interpreter does its own work.
    assert {each for each in others if not each.startswith(("PYTHON", "_PYTHON"))} == set()
