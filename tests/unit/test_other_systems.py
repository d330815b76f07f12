"""Fallbacks for what Linux alone has, on Linux without it."""

import ctypes
import os
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from platformdirs.macos import MacOS
from platformdirs.unix import Unix

from commonplace.embedding import onnx_backend
from commonplace.hosts.resident import client
from commonplace.hosts.resident import resident_socket as place
from commonplace.operational.transcript import recording_process
from commonplace.storage import clock_guard, cluster
from commonplace.storage.server_account import ServerAccount


def test_a_home_with_a_long_path_is_reached_without_a_list_of_open_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The path is too long for a socket; the current directory stays as it was."""
    monkeypatch.setattr(place, "OPEN_FILES", str(tmp_path / "missing"))
    monkeypatch.chdir(tmp_path)
    home = place.ResidentSocket(str(tmp_path / ("x" * place.MAX_SOCKET_PATH_BYTES)))
    listener = home.listen()
    assert listener is not None
    with listener, home.connect(1.0) as connection, listener.accept()[0] as accepted:
        connection.sendall(b"hello")
        assert accepted.recv(5) == b"hello"
    home.leave()
    assert Path.cwd() == tmp_path
    assert not Path(home.socket).exists()


@pytest.mark.parametrize(("system", "directories"), [("linux", Unix), ("darwin", MacOS)])
def test_hooks_find_the_home_of_the_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system: str, directories: type[Unix | MacOS]
) -> None:
    """The client of the resident process knows the default without platformdirs."""
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setenv("HOME", str(tmp_path))
    for other in (None, str(tmp_path / "data")):
        if other:
            monkeypatch.setenv("XDG_DATA_HOME", other)
        else:
            monkeypatch.delenv("XDG_DATA_HOME", raising=False)
        environ = {"XDG_DATA_HOME": other} if other else {}
        assert client.home_of(environ) == str(directories("commonplace").user_data_path)


def test_a_socket_that_does_not_name_its_peer_gives_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then no process is killed."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert client.process_at(ours) == os.getpid()
        monkeypatch.delattr(socket, "SO_PEERCRED")
        assert client.process_at(ours) == 0


def test_a_process_has_a_group_of_its_own_where_it_can_have_no_session(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """So Ctrl-C in the terminal does not end it."""
    spawn = os.posix_spawn

    def without_sessions(
        path: str, command: Sequence[str], environ: os._Environ[str], **options: object
    ) -> int:
        if "setsid" in options:
            raise NotImplementedError
        return spawn(path, command, environ, **options)  # pyright: ignore[reportArgumentType, reportCallIssue]

    monkeypatch.setattr(os, "posix_spawn", without_sessions)
    child = client._spawn([sys.executable, "-ISc", "import os; os._exit(os.getpgrp() != os.getpid())"])
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_threads_are_counted_without_affinity(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the processors of the machine; one if their number is unknown."""
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(sys, "platform", "darwin")
    for processors, threads in ((2, 2), (64, onnx_backend.MAX_THREADS), (None, 1)):
        monkeypatch.setattr(os, "cpu_count", lambda processors=processors: processors)
        assert onnx_backend._usable_threads() == threads


def test_a_host_is_its_name_without_a_space_of_process_ids(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On Linux, the space tells containers of the same name apart."""
    assert recording_process._host() != socket.gethostname()
    monkeypatch.setattr(recording_process, "PID_SPACE", tmp_path / "missing")
    assert recording_process._host() == socket.gethostname()


def test_programs_inside_of_the_data_directory_find_it_without_proc(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dot names the directory as well."""
    account = ServerAccount(name="commonplace", uid=1, gid=1, switches=True)
    found = cluster.Cluster(directory=tmp_path, account=account, programs=tmp_path)
    assert found.data_inside == "/proc/self/cwd"
    monkeypatch.setattr(cluster, "WORKING_DIRECTORY", tmp_path / "missing")
    assert found.data_inside == "."


def test_a_clock_is_trusted_where_neither_uptime_nor_synchronisation_are_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Decay and cleanup run, although the clock jumped by two years."""
    monkeypatch.setattr(clock_guard, "_UPTIME", tmp_path / "missing")
    monkeypatch.setattr(ctypes, "CDLL", lambda _name: object())
    now = clock_guard.machine_now()
    assert (now.uptime_s, now.boot) == (0.0, "")
    assert clock_guard.clock_is_synchronised()
    last = clock_guard.Sighting(at=now.at.replace(year=now.at.year - 2, day=1), uptime_s=0.0, boot="")
    assert clock_guard.fault_of(now, last, last.at, is_synchronised=True) is None
