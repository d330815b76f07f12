"""Commands in forks of the prepared process: no command may show that it runs in one."""

import fcntl
import os
import re
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from commonplace.hosts.resident.resident_socket import FORKS, ResidentSocket
from support.commands import COMMAND, clean_environment
from support.deadlines import DEADLINE_S
from support.postgres import wait_until
from support.resident import RESIDENT, end, pid_of

pytestmark = pytest.mark.requirement("ONE-04.1")

SERVER = "commonplace.hosts.resident.fork_server"
QUESTION = "Erase these memories permanently?"


class Prepared:
    """A home whose fork server is ready, and commands in it as real processes."""

    def __init__(self, home: Path, workspace: Path) -> None:
        self.home = home
        self.workspace = workspace
        self.environment = clean_environment(home, **RESIDENT)

    def start(self, *arguments: str, cwd: Path | None = None, **options: Any) -> subprocess.Popen[bytes]:  # noqa: ANN401 - of Popen
        """Start a command."""
        variables = options.pop("variables", {})
        streams: dict[str, Any] = {"stdin": subprocess.DEVNULL}
        streams |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
        start: Any = subprocess.Popen
        return start(
            [COMMAND, *arguments], cwd=cwd or self.workspace, env=self.environment | variables, **streams
        )

    def run(self, *arguments: str, **options: Any) -> tuple[int, bytes, bytes]:  # noqa: ANN401 - of Popen
        """Run a command; return its exit status and its output."""
        given = options.pop("input", None)
        if given is not None:
            options["stdin"] = subprocess.PIPE
        with self.start(*arguments, **options) as command:
            out, err = command.communicate(given, timeout=DEADLINE_S)
        return command.returncode, out, err

    def alone(self, *arguments: str, **options: Any) -> tuple[int, bytes, bytes]:  # noqa: ANN401 - of Popen
        """Run a command that does its own work."""
        variables = options.pop("variables", {}) | {"COMMONPLACE_RESIDENT_IDLE_S": "0"}
        return self.run(*arguments, variables=variables, **options)

    def server(self) -> psutil.Process:
        """Return the process that forks."""
        return next(
            each
            for each in psutil.process_iter(["cmdline"])
            if (each.info["cmdline"] or [])[-2:] == [SERVER, str(self.home)]
        )

    def wait_for_fork(self) -> psutil.Process:
        """Wait until a command runs in a fork, and return the fork."""
        wait_until(lambda: self.server().children(), what="a fork")
        return self.server().children()[0]


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prepared]:
    """A home with a note, and a fork server in it."""
    home, workspace = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("workspace")
    prepared = Prepared(home, workspace)
    with start_resident(prepared):
        assert prepared.run("workspace", "store", "Ada likes tea in cafés")[0] == 0
        yield prepared
        end(home)


def start_resident(prepared: Prepared) -> subprocess.Popen[bytes]:
    """Start the resident process of a home, and wait until its fork server listens."""
    resident = subprocess.Popen(
        [sys.executable, "-P", "-m", "commonplace.hosts.resident.start", str(prepared.home)],
        env=prepared.environment,
    )
    place = ResidentSocket(str(prepared.home), FORKS)
    wait_until(lambda: Path(place.socket).exists(), what="the fork server")
    return resident


@pytest.mark.parametrize(
    ("status", "arguments", "variables"),
    [
        (0, ["workspace", "search", "tea", "--json"], {"LANG": "C"}),
        (0, ["workspace", "search", "tea"], {"PYTHONIOENCODING": "latin-1"}),
        (0, ["workspace", "search", "tea"], {"NO_COLOR": "1", "COLUMNS": "60", "TZ": "Asia/Tokyo"}),
        (1, ["workspace", "delete", "m-99"], {}),
        (2, ["workspace", "search", "--no-such-option"], {}),
        (2, ["no-such-command"], {}),
    ],
)
def test_a_command_does_the_same_in_a_fork_as_alone(
    ready: Prepared, status: int, arguments: list[str], variables: dict[str, str]
) -> None:
    """Exit status and output are equal, byte by byte."""
    forked = ready.run(*arguments, variables=variables)
    assert forked == ready.alone(*arguments, variables=variables)
    assert forked[0] == status


def test_nothing_of_a_command_reaches_the_next(ready: Prepared, tmp_path: Path) -> None:
    """Settings, directory and log level are those of each command."""
    shown = ready.run("config", "show", "--json", variables={"COMMONPLACE_LOG_LEVEL": "DEBUG"})
    assert b'"DEBUG"' in shown[1]
    assert b'"DEBUG"' not in ready.run("config", "show", "--json")[1]
    ready.run("workspace", "store", "Elsewhere", cwd=tmp_path)
    assert b"Elsewhere" not in ready.run("workspace", "search", "Elsewhere")[1]
    assert b"Elsewhere" in ready.run("workspace", "search", "Elsewhere", cwd=tmp_path)[1]


def test_standard_input_reaches_the_fork(ready: Prepared) -> None:
    """It is a pipe here."""
    conversation = b'{"conversation_id": "c1", "messages": [{"role": "user", "content": "I like tea."}]}'
    ready.run("apps", "register", "notes")
    forked = ready.run("apps", "ingest", "notes", "-", input=conversation)
    assert forked[0] == 0, forked[2]
    assert b"tea" in ready.run("apps", "memories", "notes")[1]


def test_commands_run_at_once(ready: Prepared) -> None:
    """Each has a fork of its own."""
    started = [ready.start("workspace", "store", f"Note {number}") for number in range(4)]
    outputs = [each.communicate(timeout=DEADLINE_S)[0] for each in started]
    assert [each.returncode for each in started] == [0] * 4
    assert len(set(outputs)) == 4


def test_a_closed_pipe_ends_a_command_without_a_traceback(ready: Prepared) -> None:
    """As in ``commonplace … | head -0``."""
    read, write = os.pipe()
    os.close(read)
    forked, alone = (run("workspace", "search", "tea", stdout=write) for run in (ready.run, ready.alone))
    os.close(write)
    assert forked == alone
    assert forked[0] == 1


def take_terminal() -> None:
    """Make standard input the terminal of this process, which Ctrl-C interrupts even if tests run in the background."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def terminal(ready: Prepared, *arguments: str, **variables: str) -> tuple[subprocess.Popen[bytes], int]:
    """Start a command on a terminal of its own, 61 columns wide; return it and the other side of the terminal."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 20, 61, 0, 0))
    command = ready.start(
        *arguments,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        preexec_fn=take_terminal,
        variables=variables,
    )
    os.close(theirs)
    return command, ours


def read_until(descriptor: int, text: str) -> str:
    """Read from a terminal until a text comes, or until its other side is closed."""
    said = b""
    while text.encode() not in said or not text:
        try:
            part = os.read(descriptor, 4096)
        except OSError:  # Linux reports the end of a terminal as an error.
            break
        if not part:
            break
        said += part
    return said.decode()


@pytest.mark.parametrize(("key", "status"), [(b"n\n", 0), (b"\x03", 130), (b"y\n", 0)])
def test_a_question_is_asked_and_answered_on_the_terminal(
    ready: Prepared, knowledge_url: str, key: bytes, status: int
) -> None:
    """Ctrl-C at the question ends the command with 130."""
    ready.run("workspace", "store", "Bob lives in Rome")
    command, screen = terminal(ready, "erase", "--subject", "Bob", COMMONPLACE_POSTGRES_URL=knowledge_url)
    with command:
        read_until(screen, QUESTION)
        ready.wait_for_fork()
        os.write(screen, key)
        rest = read_until(screen, "")
        assert command.wait(DEADLINE_S) == status, rest
    os.close(screen)
    assert "Traceback" not in rest


def test_a_fork_draws_for_its_terminal(ready: Prepared) -> None:
    """The terminal's width and colours are those that the command sees alone."""
    screens: list[str] = []
    for variables in ({}, {"COMMONPLACE_RESIDENT_IDLE_S": "0"}):
        command, screen = terminal(ready, "config", "show", TERM="xterm-256color", **variables)
        with command:
            screens.append(read_until(screen, ""))
        os.close(screen)
        assert command.returncode == 0
    without_setting = [
        re.sub(r"resident_idle_s.*?(?=\x1b\[1msetting)", "", screen, flags=re.DOTALL) for screen in screens
    ]
    assert without_setting[0] == without_setting[1]
    assert "\x1b[" in screens[0]


def test_sigterm_ends_a_command_with_143(ready: Prepared, knowledge_url: str) -> None:
    """The fork releases what it holds, and ends."""
    ready.run("workspace", "store", "Bob lives in Rome")
    command, screen = terminal(ready, "erase", "--subject", "Bob", COMMONPLACE_POSTGRES_URL=knowledge_url)
    with command:
        read_until(screen, QUESTION)
        fork = ready.wait_for_fork()
        command.terminate()
        assert command.wait(DEADLINE_S) == 128 + signal.SIGTERM
    os.close(screen)
    fork.wait(DEADLINE_S)


def test_a_fork_ends_with_a_killed_command(ready: Prepared, knowledge_url: str) -> None:
    """No fork stays behind."""
    ready.run("workspace", "store", "Bob lives in Rome")
    command, screen = terminal(ready, "erase", "--subject", "Bob", COMMONPLACE_POSTGRES_URL=knowledge_url)
    with command:
        read_until(screen, QUESTION)
        fork = ready.wait_for_fork()
        command.kill()
    wait_until(lambda: not fork.is_running(), what="the end of the fork")
    os.close(screen)


def test_a_command_outlives_the_resident_process_and_the_next_does_its_own_work(
    tmp_path: Path, knowledge_url: str
) -> None:
    """The resident process is killed while a command waits for an answer."""
    prepared = Prepared(tmp_path / "home", tmp_path)
    with start_resident(prepared):
        prepared.run("workspace", "store", "Bob lives in Rome")
        command, screen = terminal(
            prepared, "erase", "--subject", "Bob", COMMONPLACE_POSTGRES_URL=knowledge_url
        )
        with command:
            read_until(screen, QUESTION)
            prepared.wait_for_fork()
            end(prepared.home, signal.SIGKILL)
            os.write(screen, b"y\n")
            read_until(screen, "")
            assert command.wait(DEADLINE_S) == 0
        os.close(screen)
    status, out, _ = prepared.run("workspace", "search", "Bob")
    assert (status, b"Rome" in out) == (0, False)
    assert pid_of(prepared.home) is None


@pytest.mark.requirement("ONE-04.2")
def test_a_process_of_another_build_and_a_read_only_home_are_left_alone(
    ready: Prepared, tmp_path: Path
) -> None:
    """The command does its own work."""
    other = (
        "import sys; import commonplace.hosts.resident.fork_client as f; f.build = lambda: 'other'; "
        "sys.exit(f.run_command(['workspace', 'search', 'tea']) is not None)"
    )
    assert subprocess.run([sys.executable, "-c", other], env=ready.environment, check=False).returncode == 0
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(0o500)
    read_only = Prepared(home, tmp_path)
    assert read_only.run("workspace", "search", "tea")[0] == 0


@pytest.mark.requirement("ONE-04.2")
@pytest.mark.parametrize(
    "variables", [{"PYTHONPATH": "/nowhere"}, {"TYPER_USE_RICH": "0"}, {"COMMONPLACE_RESIDENT_IDLE_S": "0"}]
)
def test_a_command_in_another_environment_does_its_own_work(
    ready: Prepared, variables: dict[str, str]
) -> None:
    """Imports have read other values in the fork server."""
    code = (
        "import sys; import commonplace.hosts.resident.fork_client as f; "
        "sys.exit(f.run_command(['config', 'show']) is not None)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=ready.environment | variables, check=False, stdout=subprocess.PIPE
    )
    assert (done.returncode, done.stdout) == (0, b"")


@pytest.mark.requirement("ONE-04.3")
def test_a_typed_command_starts_the_process_and_a_script_does_not(tmp_path: Path) -> None:
    """The next command is fast for a person."""
    prepared = Prepared(tmp_path / "home", tmp_path)
    assert prepared.run("workspace", "store", "Ada likes tea")[0] == 0
    assert not (prepared.home / "resident").exists()
    (prepared.home).mkdir(exist_ok=True)
    command, screen = terminal(prepared, "workspace", "search", "tea")
    with command:
        read_until(screen, "")
    os.close(screen)
    wait_until((prepared.home / "resident" / "forks").exists, what="the fork server")
    end(prepared.home)


@pytest.mark.requirement("ONE-04.3")
def test_a_first_use_shows_its_steps(tmp_path: Path) -> None:
    """All of them on a terminal, one line elsewhere, and none at the second use."""
    fact = ("knowledge", "store-fact", "Ada", "lives_in", "Ada lives in Rome.")
    seen = Prepared(tmp_path / "seen", tmp_path)
    command, screen = terminal(seen, *fact, COMMONPLACE_RESIDENT_IDLE_S="0")
    with command:
        shown = read_until(screen, "")
    os.close(screen)
    assert [line.split()[0] for line in shown.splitlines()] == ["Creating", "Creating", "Preparing", "stored"]
    piped = Prepared(tmp_path / "piped", tmp_path)
    status, out, err = piped.alone(*fact)
    assert (status, len(out.splitlines()), len(err.splitlines())) == (0, 1, 1)
    assert piped.alone("knowledge", "list", "facts")[2] == b""
