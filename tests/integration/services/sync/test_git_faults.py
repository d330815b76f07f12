"""Faults of Git remotes: each is one clear line, and none stops the syncs after it."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from commonplace.core.errors import StorageUnavailableError
from commonplace.services.sync.carriers.git import BRANCH, GitCarrier
from support.git_repositories import git

pytestmark = pytest.mark.requirement("SYN-16.1")

NAME = "0123456789abcdef/00000001-0123456789abcdef"
LATER = "0123456789abcdef/00000002-0123456789abcdef"


@pytest.fixture
def remote(tmp_path: Path) -> str:
    """An empty bare repository."""
    git(tmp_path, "init", "--bare", "remote.git")
    return str(tmp_path / "remote.git")


def lock(repository: Path) -> None:
    """Leave the lock of a git that was killed while it fetched."""
    (repository / f"{BRANCH}.lock").touch()


def empty(repository: Path) -> None:
    """Empty the objects, as when the power fails before they are on the disk."""
    for each in (repository / "objects").rglob("*"):
        if each.is_file():
            each.chmod(0o600)
            each.write_bytes(b"")


def halve(repository: Path) -> None:
    """Leave what a git that was killed while it began has made."""
    (repository / "config").unlink()
    (repository / "objects").rename(repository / "no-objects")


@pytest.mark.parametrize("damage", [lock, empty, halve])
def test_a_repository_that_a_kill_has_damaged_is_fetched_again(
    remote: str, tmp_path: Path, damage: object
) -> None:
    """With the next sync, so that nobody has to look after it."""
    assert callable(damage)
    carrier, other = GitCarrier(remote, tmp_path / "laptop"), GitCarrier(remote, tmp_path / "desktop")
    carrier.put(NAME, b"one")
    other.put(LATER, b"two")
    damage(tmp_path / "laptop")
    with pytest.raises(StorageUnavailableError, match="the next sync fetches it again"):
        carrier.names()
    assert carrier.names() == {NAME, LATER}
    assert carrier.get(NAME) == b"one"


def test_a_lock_at_the_remote_is_named(remote: str, tmp_path: Path) -> None:
    """Another device may hold it, so it stays."""
    carrier = GitCarrier(remote, tmp_path / "laptop")
    carrier.put(NAME, b"one")
    lock(Path(remote))
    with pytest.raises(StorageUnavailableError, match=r"refs/heads/commonplace\.lock there"):
        carrier.put(LATER, b"two")
    assert (Path(remote) / f"{BRANCH}.lock").exists()


class _Locked(BaseHTTPRequestHandler):
    """Asks for a password."""

    def do_GET(self) -> None:
        """Ask."""
        self.send_response(401)
        self.send_header("WWW-Authenticate", 'Basic realm="files"')
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the library's
        """Keep standard error for the tests."""


@pytest.fixture
def locked_url() -> Iterator[str]:
    """The URL of a repository that needs a password, without its scheme."""
    server = HTTPServer(("127.0.0.1", 0), _Locked)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield f"127.0.0.1:{server.server_address[1]}/home.git"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize("user", ["", "ada:secret@"])
def test_a_password_is_asked_of_nobody(
    locked_url: str, tmp_path: Path, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither at a terminal nor in a window; the error says what helps, and does not repeat the password."""
    asks = tmp_path / "asks"
    asks.write_text("#!/bin/sh\necho > asked\n")
    asks.chmod(0o755)
    monkeypatch.setenv("SSH_ASKPASS", str(asks))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StorageUnavailableError, match="Git credential helper") as refusal:
        GitCarrier(f"http://{user}{locked_url}", tmp_path / "laptop").names()
    assert "secret" not in str(refusal.value)
    assert not (tmp_path / "asked").exists()


@pytest.mark.parametrize(
    ("remote_said", "said"),
    [
        ("git@example.invalid: Permission denied (publickey).", "denied (publickey). Sync asks nobody"),
        ("ssh: Could not resolve hostname example.invalid", "Could not resolve hostname example.invalid"),
    ],
)
def test_the_line_of_ssh_is_the_reason(
    tmp_path: Path, remote_said: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not the advice that git prints after it."""
    ssh = tmp_path / "ssh"
    ssh.write_text(f"#!/bin/sh\necho '{remote_said}' >&2\nexit 255\n")
    ssh.chmod(0o755)
    monkeypatch.setenv("GIT_SSH_COMMAND", str(ssh))
    with pytest.raises(StorageUnavailableError) as refusal:
        GitCarrier("git@example.invalid:home.git", tmp_path / "laptop").names()
    assert said in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_remote_that_is_not_there_is_named(tmp_path: Path) -> None:
    """By the line that says so."""
    with pytest.raises(StorageUnavailableError, match=r"does not appear to be a git repository$"):
        GitCarrier(str(tmp_path / "nowhere.git"), tmp_path / "laptop").names()
