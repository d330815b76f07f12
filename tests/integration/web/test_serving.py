"""``commonplace serve`` as a process: how it starts, where it refuses to, and how it ends."""

import asyncio
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import httpx2
import pytest

from commonplace.core.errors import InvalidInputError, ListenError, StorageUnavailableError
from commonplace.core.settings import Settings
from commonplace.web.http.loopback import is_loopback, listen, url_of
from commonplace.web.serving import catch_up
from support.commands import CommandLine, CommandServer
from support.deadlines import DEADLINE_S
from support.effort import computed_s, computes_less
from support.service import ServiceProcess, service_process

LIBRARIES = ("alembic", "fastapi", "fastmcp.server.server", "jinja2", "sqlalchemy.ext.asyncio", "uvicorn")
MOST_BESIDE_LIBRARIES = 2.0

Serve = Callable[[], AbstractContextManager[ServiceProcess]]


@pytest.fixture
def serve(settings: Settings, knowledge_url: str, command_server: CommandServer) -> Serve:
    """What starts the service in a home that was used before, with a database of the session's server."""
    program, variables = command_server.program, {"COMMONPLACE_POSTGRES_URL": knowledge_url}
    return partial(service_process, settings.home, program=program, **variables)


@pytest.mark.long
def test_it_starts_in_a_home_that_is_not_there_yet(new_settings: Settings) -> None:
    """It makes the home and its database server, and a signal ends both."""
    with service_process(new_settings.home) as service:
        assert httpx2.get(f"{service.url}/api/v1/knowledge/facts", timeout=DEADLINE_S).status_code == 200
        assert new_settings.database_path.exists()
        service.signal(signal.SIGTERM)
        assert service.ended() == (0, "")


@pytest.mark.long
@pytest.mark.requirement("APP-10.1")
def test_it_serves_as_soon_as_it_says_so(settings: Settings, knowledge_url: str) -> None:
    """With a home that has been used it computes little beside what it imports; one line says where.

    ``benchmarks/service.py`` says how long that takes.
    """

    def computed_to_start() -> float:
        with service_process(settings.home, COMMONPLACE_POSTGRES_URL=knowledge_url) as service:
            computed = computed_s(service.process.pid)
            assert service.line == f"commonplace is listening on {service.url} (press Ctrl-C to stop)\n"
            assert service.url.startswith("http://127.0.0.1:")
            assert httpx2.get(f"{service.url}/api/v1/knowledge/facts", timeout=DEADLINE_S).status_code == 200
        return computed

    assert computes_less(computed_to_start, than=MOST_BESIDE_LIBRARIES, imports=LIBRARIES)


@pytest.mark.requirement("APP-15.1")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_in_order(serve: Serve, number: signal.Signals) -> None:
    """Exit status 0 and not another word, also with a connection that is kept alive."""
    with serve() as service, httpx2.Client(base_url=service.url, timeout=DEADLINE_S) as client:
        assert client.get("/api/v1/workspace/memories").status_code == 200
        service.signal(number)
        assert service.ended() == (0, "")


async def test_digests_are_caught_up_with_whatever_goes_wrong(caplog: pytest.LogCaptureFixture) -> None:
    """A failure that nobody expected is logged with its place, and the next round comes all the same."""
    steps: list[Exception | None] = [StorageUnavailableError("gone"), RuntimeError("unexpected"), None]
    caught_up = asyncio.Event()

    async def run_deferred() -> None:
        step = steps.pop(0)
        if step is not None:
            raise step
        caught_up.set()
        await asyncio.Event().wait()

    catching_up = asyncio.create_task(catch_up({"deferred digests": run_deferred}, every_s=0))
    try:
        await asyncio.wait_for(caught_up.wait(), DEADLINE_S)
    finally:
        catching_up.cancel()
    expected, unexpected = caplog.records
    assert (expected.getMessage(), expected.exc_info) == (
        "deferred digests failed; the next try is in 0 s: gone",
        None,
    )
    assert unexpected.exc_info is not None
    assert isinstance(unexpected.exc_info[1], RuntimeError)


BEGIN_A_SESSION = """
import asyncio, sys
from commonplace.core.settings import Settings
from commonplace.operational.memory import OperationalMemory

async def main():
    async with OperationalMemory.open(Settings(home=sys.argv[1])) as memory:
        await memory.recorder(tier=1, trigger="test").begin()
        print("begun", flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


def begin_a_session(home: Path, python: Path) -> subprocess.Popen[bytes]:
    """Return a process that records a session in a home, and does not end by itself."""
    process = subprocess.Popen([python, "-c", BEGIN_A_SESSION, str(home)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"begun\n"
    return process


def test_a_session_whose_process_was_killed_is_shown_as_interrupted(
    commonplace: CommandLine, serve: Serve
) -> None:
    """As soon as the service starts; one whose process lives goes on."""
    home, python = commonplace.home, commonplace.python
    with begin_a_session(home, python) as killed, begin_a_session(home, python) as alive:
        killed.kill()
        killed.wait()
        try:
            with serve() as service:
                url = f"{service.url}/api/v1/operational/sessions"
                deadline = time.monotonic() + DEADLINE_S
                while "interrupted" not in _statuses(url) and time.monotonic() < deadline:
                    pass
                assert _statuses(url) == ["running", "interrupted"]
        finally:
            alive.kill()


def _statuses(url: str) -> list[str]:
    return [session["status"] for session in httpx2.get(url, timeout=DEADLINE_S).json()["sessions"]]


def unfinished_request(url: str) -> socket.socket:
    """Send all but the end of a request that the service has begun to read."""
    connection = socket.create_connection(
        (httpx2.URL(url).host, httpx2.URL(url).port or 80), timeout=DEADLINE_S
    )
    connection.sendall(
        b"POST /api/v1/apps/nobody/import HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Content-Length: 16\r\nExpect: 100-continue\r\n\r\n"
    )
    assert b"100 Continue" in connection.recv(1000)
    return connection


def test_a_request_under_way_is_answered_before_it_ends(serve: Serve) -> None:
    """New connections are refused meanwhile."""
    with serve() as service:
        with unfinished_request(service.url) as connection:
            service.signal(signal.SIGTERM)
            _wait_until_refused(service.url)
            connection.sendall(b'{"memories": []}')
            assert connection.recv(1000).startswith(b"HTTP/1.1 404 ")
        assert service.ended()[0] == 0


def test_a_second_signal_gives_up_waiting(serve: Serve) -> None:
    """It does then what the signal does by itself."""
    with serve() as service, unfinished_request(service.url):
        service.signal(signal.SIGTERM)
        _wait_until_refused(service.url)
        service.signal(signal.SIGTERM)
        assert service.ended()[0] == -signal.SIGTERM


def _wait_until_refused(url: str) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        try:
            httpx2.get(f"{url}/healthz", timeout=DEADLINE_S)
        except httpx2.ConnectError:
            return
        except httpx2.TransportError:
            continue  # taken in the moment in which it stopped listening
    pytest.fail(f"still takes connections after {DEADLINE_S} s")


def test_a_port_that_is_taken_is_said_in_one_line(new_commonplace: CommandLine) -> None:
    """Exit status 1; nothing was opened."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = new_commonplace("serve", "--port", str(port))
    assert done.status == 1
    assert done.err.startswith(
        f"error: cannot listen at 127.0.0.1, port {port}: another program uses this port"
    )
    assert done.err.count("\n") == 1
    assert not new_commonplace.home.exists()


@pytest.mark.requirement("APP-10.5")
@pytest.mark.parametrize(
    "arguments",
    [
        ("--host", "0.0.0.0"),  # noqa: S104 - to see it refused
        ("--host", "::"),
        ("--allowed-host", "memory.example"),
        ("--trusted-proxy", "10.0.0.1"),
        ("--require-token",),
    ],
)
def test_it_refuses_to_be_open_to_other_machines(
    commonplace: CommandLine, arguments: tuple[str, ...]
) -> None:
    """Without a token that lets anybody administer it: one line that says what to do."""
    done = commonplace("serve", "--port", "0", *arguments)
    assert done.status == 1
    assert done.err.startswith("error: a login is required, and no valid admin token exists")
    assert "commonplace token create --role admin" in done.err
    assert done.err.count("\n") == 1


@pytest.mark.requirement("APP-10.5")
def test_with_a_token_it_serves_all_addresses(
    commonplace: CommandLine, command_server: CommandServer
) -> None:
    """Every request needs one then, on loopback too."""
    token = commonplace("token", "create", "--role", "admin").out.strip()
    everywhere = ("--host", "0.0.0.0", "--no-worker")  # noqa: S104 - to use it
    with service_process(commonplace.home, *everywhere, program=command_server.program) as service:
        url = service.url.replace("0.0.0.0", "127.0.0.1")  # noqa: S104
        assert httpx2.get(f"{url}/api/v1/apps", timeout=DEADLINE_S).status_code == 401
        headers = {"authorization": f"Bearer {token}"}
        assert httpx2.get(f"{url}/api/v1/apps", headers=headers, timeout=DEADLINE_S).status_code == 200
        assert token not in service.line


def test_behind_a_proxy_it_says_that_its_limits_are_its_own(
    commonplace: CommandLine, command_server: CommandServer
) -> None:
    """Other services behind the proxy count for themselves."""
    commonplace("token", "create", "--role", "admin")
    options = ("--trusted-proxy", "127.0.0.1", "--no-worker")
    with service_process(commonplace.home, *options, program=command_server.program) as service:
        service.signal(signal.SIGTERM)
        status, text = service.ended()
    assert (status, text.count("\n")) == (0, 1)
    assert "6000 requests a minute" in text


@pytest.mark.parametrize("host", ["example.org", "", "127.1", "localhost.evil.example"])
def test_a_name_is_no_address(commonplace: CommandLine, host: str) -> None:
    """Nothing is looked up."""
    done = commonplace("serve", "--host", host, "--port", "0")
    assert done.status == 1
    assert done.err.startswith("error: host: expected localhost or an IP address of this machine")
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    ("option", "value"), [("--allowed-host", "https://m2.example"), ("--trusted-proxy", "notanip")]
)
def test_an_option_that_would_do_nothing_is_said_in_one_line(
    commonplace: CommandLine, option: str, value: str
) -> None:
    """Before the port is opened."""
    done = commonplace("serve", "--port", "0", option, value)
    assert done.status == 1
    assert done.err.startswith(f"error: {option[2:].replace('-', '_')}: expected ")
    assert value in done.err
    assert done.err.count("\n") == 1


@pytest.mark.requirement("APP-10.5")
@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("localhost", True),
        ("LocalHost", True),
        ("127.0.0.1", True),
        ("127.255.255.254", True),
        ("::1", True),
        ("[::1]", True),
        ("localhost.evil.example", False),
        ("127.0.0.1.evil.example", False),
        ("128.0.0.1", False),
        ("0.0.0.0", False),  # noqa: S104 - to see it refused
        ("127.1", False),
        ("2130706433", False),
        ("", False),
    ],
)
def test_loopback_is_told_from_the_rest(host: str, *, expected: bool) -> None:
    """By what it says; nothing is looked up, so that no name server decides."""
    assert is_loopback(host) is expected


@pytest.mark.requirement("APP-10.5")
def test_a_socket_is_where_it_was_asked_for() -> None:
    """By address or as localhost; an answer goes out at once, though it is sent in pieces."""
    with listen("localhost", 0) as listener:
        assert listener.getsockname()[0] == "127.0.0.1"
        assert url_of(listener) == f"http://127.0.0.1:{listener.getsockname()[1]}"
        # asyncio switches the wait for a full packet off for sockets that name their protocol only.
        assert listener.proto == socket.IPPROTO_TCP
        with pytest.raises(ListenError, match="another program uses this port"):
            listen("127.0.0.1", listener.getsockname()[1])
    with pytest.raises(InvalidInputError, match="localhost or an IP address"):
        listen("example.org", 0)


def test_a_database_that_cannot_be_opened_is_said_in_one_line(
    commonplace: CommandLine, tmp_path: Path
) -> None:
    """Exit status 1, without a traceback of the server."""
    (tmp_path / "broken.db").write_bytes(b"this is no database" * 100)
    done = commonplace("serve", "--port", "0", COMMONPLACE_DATABASE=str(tmp_path / "broken.db"))
    assert done.status == 1
    assert done.err.startswith("error: ")
    assert done.err.count("\n") == 1
