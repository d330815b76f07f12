"""The client of a service: what it refuses to send, and what it makes of each answer."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from commonplace.core.errors import AccessError, InvalidInputError, SettingsError, StorageUnavailableError
from commonplace.hosts.hooks.outbox import KEY_HOLDS_S, Outbox
from commonplace.hosts.hooks.sessions import SessionRecord
from commonplace.services.team_client import TeamClient

pytestmark = pytest.mark.requirement("HST-06.1")

SESSION = "5b7d3f0e-6a51-4d5e-9f6b-0c1d2e3f4a5b"


@contextmanager
def answering(status: int, document: object) -> Iterator[tuple[str, list[tuple[str, str, dict[str, str]]]]]:
    """Serve one answer to every request; yield the address and the requests."""
    asked: list[tuple[str, str, dict[str, str]]] = []

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            asked.append((self.command, self.path, dict(self.headers)))
            text = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.send_header("Location", "/elsewhere")
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_POST = answer  # noqa: N815 - the names of the library

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=[0.01])
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    """A file with a token, for its owner alone."""
    path = tmp_path / "token"
    path.touch(mode=0o600)
    path.write_text("cpl_secret\n")
    return path


@pytest.mark.parametrize(
    "url",
    [
        "http://memory.example",
        "https://user:word@memory.example",
        "https://memory.example/?a=b",
        "ftp://127.0.0.1",
        "memory.example",
    ],
)
def test_a_token_goes_out_encrypted_or_stays_on_the_machine(url: str, token_file: Path) -> None:
    """Any other address is refused, and a path that depends on the current directory."""
    with pytest.raises(InvalidInputError, match="--server: expected https://HOST"):
        TeamClient.at(url, token_file)
    with pytest.raises(InvalidInputError, match="--token-file: expected the absolute path of a file"):
        TeamClient.at("https://memory.example", "token")
    for known in ("https://memory.example/base/", "http://localhost:8420", "http://[::1]:8420"):
        assert TeamClient.at(known, token_file).url == known.rstrip("/")


@pytest.mark.parametrize("text", ["", "two words", "größe"])
def test_a_token_file_holds_one_token(text: str, token_file: Path) -> None:
    """Other contents are refused without repeating them."""
    token_file.write_text(text)

    with pytest.raises(SettingsError, match=r"expected one token in .*, found something else"):
        TeamClient.at("https://memory.example", token_file).token()


@pytest.mark.parametrize(
    ("status", "document", "error"),
    [
        (200, ["not an object"], StorageUnavailableError),
        (302, {}, StorageUnavailableError),
        (401, {"detail": "unknown token"}, AccessError),
        (403, {"detail": "too low a role"}, AccessError),
        (409, {"type": "/docs#running"}, StorageUnavailableError),
        (422, {"detail": "no", "field": "content", "expected": "text", "got": "1"}, InvalidInputError),
        (429, {}, StorageUnavailableError),
        (503, {"detail": "starting"}, StorageUnavailableError),
    ],
)
async def test_an_error_says_whether_another_try_may_help(
    token_file: Path, status: int, document: object, error: type[Exception]
) -> None:
    """No redirect is followed, and no message repeats the token."""
    with answering(status, document) as (url, asked), pytest.raises(error) as raised:
        await TeamClient.at(url, token_file).post("/api/v1/briefing", {})

    assert len(asked) == 1
    assert "cpl_secret" not in str(raised.value)


async def test_a_request_that_was_carried_out_before_is_done(token_file: Path) -> None:
    """Its answer is lost, or it was sent with an earlier token."""
    for problem in ("/docs#answer-lost", "/docs#key-reused"):
        with answering(409, {"type": problem}) as (url, _):
            assert await TeamClient.at(url, token_file).post("/api/v1/knowledge/episodes", {}, key="k") == {}


RECORD = SessionRecord(session_id=SESSION, transcript=Path("/none"), butler="shop")


async def test_an_episode_that_was_tried_long_ago_is_looked_for_first(
    token_file: Path, tmp_path: Path
) -> None:
    """The service forgets keys after a day, so sending it again could store it twice."""
    found: dict[str, Any] = {"memories": [{"sessionId": SESSION, "content": "User: deploy"}]}
    with answering(200, found) as (url, asked):
        outbox = Outbox(tmp_path, TeamClient.at(url, token_file))
        await outbox.store(RECORD, "User: deploy", None)
        (path,) = outbox.waiting()
        entry = json.loads(path.read_text())
        path.write_text(json.dumps(entry | {"tried_at": -KEY_HOLDS_S}))
        assert await outbox.deliver() == 1

    assert [method for method, _, _ in asked] == ["GET"]
    assert outbox.waiting() == []
    assert await outbox.has(RECORD, "User: deploy")


async def test_a_refused_episode_does_not_hold_up_the_next(token_file: Path, tmp_path: Path) -> None:
    """It is kept aside; each has a key of its own, and a lock keeps a second process out."""
    with answering(422, {"detail": "a secret"}) as (url, asked):
        outbox = Outbox(tmp_path, TeamClient.at(url, token_file))
        for text in ("User: one", "User: two"):
            await outbox.store(RECORD, text, None)
        assert await outbox.deliver() == 0

    assert len({headers["Idempotency-Key"] for _, _, headers in asked}) == 2
    assert outbox.waiting() == []
    assert await outbox.has(RECORD, "User: one")
