"""The three carriers of sync: a folder, a Git remote and a service."""

import asyncio
import os
import shutil
import subprocess
from base64 import b64encode
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import ClassVar

import httpx2
import pytest

from commonplace.access import Role, Tokens
from commonplace.core.errors import InvalidInputError, StorageUnavailableError
from commonplace.core.settings import Settings
from commonplace.services.opening import Memories
from commonplace.services.sync.carriers.carrier import MOST_BYTES, Carrier
from commonplace.services.sync.carriers.git import BRANCH
from commonplace.services.sync.carriers.targets import SyncTarget, carrier_at
from commonplace.web.rest import sync
from support.service import serving

pytestmark = pytest.mark.requirement("SYN-04.1")

KINDS = ("folder", "git", "service")
NAME = "0123456789abcdef/00000001-0123456789abcdef"
BODY = bytes(range(256))


def git(*command: str) -> str:
    """Return what git says."""
    return subprocess.run(["git", *command], capture_output=True, text=True, check=True).stdout


class Targets:
    """A target of each kind, and carriers of several devices to it."""

    def __init__(self, folder: Path, url: str, token_file: Path) -> None:
        self.folder = folder
        git("init", "--quiet", "--bare", str(folder / "remote.git"))
        self.targets = {
            "folder": SyncTarget(address=str(folder / "carried")),
            "git": SyncTarget(address=str(folder / "remote.git")),
            "service": SyncTarget(address=url, token_file=token_file),
        }

    def carrier(self, kind: str, device: str = "laptop") -> Carrier:
        """The carrier of a device."""
        return carrier_at(self.targets[kind], self.folder / device)


async def token_in(tokens: Tokens, file: Path, *, role: Role = Role.WRITER, tenant: str = "default") -> Path:
    """Return a file with a new token."""
    issued = await tokens.create(role=role, tenant_id=tenant, name="laptop")
    await asyncio.to_thread(write_private, file, issued.secret)
    return file


def write_private(file: Path, text: str) -> None:
    """Write a file that only its owner may read."""
    file.write_text(text)
    file.chmod(0o600)


@pytest.fixture
async def tokens(stored: Settings) -> AsyncIterator[Tokens]:
    """Tokens of the service."""
    async with Tokens.open(stored) as tokens:
        yield tokens


@pytest.fixture
async def targets(memories: Memories, tokens: Tokens, tmp_path: Path) -> AsyncIterator[Targets]:
    """Empty targets."""
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(serving(memories, tokens=tokens))
        yield Targets(tmp_path, url, await token_in(tokens, tmp_path / "token"))


@pytest.mark.parametrize("kind", KINDS)
async def test_a_file_arrives_whole(targets: Targets, kind: str) -> None:
    """And goes when it is deleted; a file of a name that is there stays as it is."""
    here, there = targets.carrier(kind), targets.carrier(kind, "server")
    assert await asyncio.to_thread(here.names) == set()
    assert await asyncio.to_thread(here.get, NAME) is None
    await asyncio.to_thread(here.put, NAME, BODY)
    await asyncio.to_thread(here.put, "home.key", b"{}")
    await asyncio.to_thread(there.put, NAME, BODY)
    assert await asyncio.to_thread(there.names) == {NAME, "home.key"}
    assert await asyncio.to_thread(there.get, NAME) == BODY
    await asyncio.to_thread(there.delete, NAME)
    await asyncio.to_thread(there.delete, NAME)
    assert await asyncio.to_thread(here.names) == {"home.key"}
    assert await asyncio.to_thread(here.get, NAME) is None


@pytest.mark.parametrize("kind", KINDS)
async def test_files_arrive_together(targets: Targets, kind: str) -> None:
    """Without those that are there; and go together."""
    here, there = targets.carrier(kind), targets.carrier(kind, "server")
    await asyncio.to_thread(here.put, "a", b"a")
    files = {"a": b"a", NAME: BODY, "home.key": b"{}"}
    await asyncio.to_thread(here.put_all, files)
    await asyncio.to_thread(here.put_all, files)
    assert await asyncio.to_thread(there.names) == files.keys()
    assert {name: await asyncio.to_thread(there.get, name) for name in files} == files
    assert await asyncio.to_thread(there.delete_all, ["a", NAME, "b"]) is None
    assert await asyncio.to_thread(there.delete_all, ["a", NAME]) is None
    assert await asyncio.to_thread(here.names) == {"home.key"}


@pytest.mark.parametrize("kind", KINDS)
async def test_two_devices_write_at_once(targets: Targets, kind: str) -> None:
    """No file of either is lost."""
    carriers = [targets.carrier(kind, device) for device in ("laptop", "server", "desktop")]
    names = {f"device{place}/{number:08}" for place in range(3) for number in range(3)}
    wanted = {*names, *(f"{name}.more" for name in names)}

    async def put(place: int) -> None:
        for number in range(3):
            name = f"device{place}/{number:08}"
            await asyncio.to_thread(carriers[place].put_all, {name: BODY, f"{name}.more": BODY})

    await asyncio.gather(*map(put, range(3)))
    for carrier in carriers:
        assert await asyncio.to_thread(carrier.names) == wanted


@pytest.mark.parametrize(
    "address",
    [
        "/proc/nowhere/carried",
        "git+/proc/nowhere.git",
        "https://localhost:9/missing.git",
        "http://127.0.0.1:9",
    ],
)
async def test_a_place_that_cannot_be_used(targets: Targets, tmp_path: Path, address: str) -> None:
    """Is told, and nothing else."""
    target = SyncTarget(address=address, token_file=targets.targets["service"].token_file)
    carrier = carrier_at(target, tmp_path / "other")
    with pytest.raises(StorageUnavailableError):
        await asyncio.to_thread(carrier.put, NAME, BODY)


@pytest.mark.parametrize("address", ["carried", "http://example.com"])
def test_what_is_no_target(tmp_path: Path, address: str) -> None:
    """A relative path, and a service without a token or without TLS."""
    with pytest.raises(InvalidInputError):
        carrier_at(SyncTarget(address=address), tmp_path)


def test_a_deleted_file_is_not_in_the_history_of_a_remote(targets: Targets) -> None:
    """Though its file was in a commit; the other files stay."""
    carrier = targets.carrier("git")
    carrier.put(NAME, BODY)
    carrier.put("home.key", b"{}")
    remote = targets.targets["git"].address
    blob = git("-C", remote, "rev-parse", f"{BRANCH}:{NAME}").strip()
    carrier.delete(NAME)
    assert blob not in git("-C", remote, "rev-list", "--objects", BRANCH)
    later = targets.carrier("git", "server")
    assert later.names() == {"home.key"}
    later.put(NAME, b"new")
    assert carrier.get(NAME) == b"new"


def pushes(remote: str) -> list[str]:
    """Return the commits that a remote has taken since its hook ``post-receive`` counts them."""
    return (Path(remote) / "pushes").read_text().splitlines()


def hook(remote: str, name: str, script: str) -> None:
    """Let a remote run a script for each push."""
    file = Path(remote) / "hooks" / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)


def test_the_files_of_a_sync_are_one_push(targets: Targets, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many bytes are a few, because a push must end in time; deletions are one too."""
    remote = targets.targets["git"].address
    hook(remote, "post-receive", "cat >> pushes")
    carrier = targets.carrier("git")
    files = {f"{number:08}": bytes([number]) * 100 for number in range(5)}
    carrier.put_all(files)
    assert len(pushes(remote)) == 1
    carrier.delete_all(files.keys())
    assert len(pushes(remote)) == 2
    monkeypatch.setattr("commonplace.services.sync.carriers.git.PUSH_BYTES", 250)
    carrier.put_all(files)
    assert len(pushes(remote)) == 5
    assert carrier.names() == files.keys()


AS_GITLAB = """
while read -r old new name; do
    git merge-base --is-ancestor "$old" "$new" || { echo "GitLab: You are not allowed to force push" >&2; exit 1; }
done
"""


@pytest.mark.parametrize("kind", ["hook", "config"])
def test_a_remote_that_refuses_force_pushes_keeps_deleted_files_in_its_history_only(
    targets: Targets, kind: str
) -> None:
    """No device sees them any more, and the carrier says what to do; after that, the next deletion removes them."""
    remote = targets.targets["git"].address
    carrier = targets.carrier("git")
    carrier.put_all({NAME: BODY, "a": b"a", "home.key": b"{}"})
    blob = git("-C", remote, "rev-parse", f"{BRANCH}:{NAME}").strip()
    if kind == "hook":
        hook(remote, "pre-receive", AS_GITLAB)
    else:
        git("-C", remote, "config", "receive.denyNonFastForwards", "true")
    problem = carrier.delete_all([NAME])
    assert problem is not None
    assert "Allow force pushes to this branch" in problem
    assert targets.carrier("git", "server").names() == {"a", "home.key"}
    carrier.put("b", b"b")
    assert blob in git("-C", remote, "rev-list", "--objects", BRANCH)
    (Path(remote) / "hooks/pre-receive").unlink(missing_ok=True)
    git("-C", remote, "config", "receive.denyNonFastForwards", "false")
    assert carrier.delete_all(["a"]) is None
    assert blob not in git("-C", remote, "rev-list", "--objects", BRANCH)
    assert targets.carrier("git", "server").names() == {"b", "home.key"}


def test_a_remote_that_takes_no_push_says_why(targets: Targets) -> None:
    """It is not taken for another device that was first."""
    remote = targets.targets["git"].address
    carrier = targets.carrier("git")
    carrier.put(NAME, BODY)
    hook(remote, "pre-receive", "exit 1")
    for change in (lambda: carrier.put("a", b"a"), lambda: carrier.delete(NAME)):
        with pytest.raises(StorageUnavailableError, match="pre-receive hook declined"):
            change()
    assert carrier.names() == {NAME}


def test_a_commit_does_not_name_the_person(
    targets: Targets, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is it signed, though their configuration says so."""
    config = tmp_path / "gitconfig"
    config.write_text(
        "[user]\n name = Ada\n email = ada@example.com\n[commit]\n gpgSign = true\n[core]\n hooksPath = /x\n"
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    targets.carrier("git").put(NAME, BODY)
    monkeypatch.delenv("GIT_DIR")
    said = git("-C", targets.targets["git"].address, "cat-file", "commit", BRANCH)
    assert "Ada" not in said
    assert "ada@" not in said
    assert "gpgsig" not in said


def test_other_content_of_a_remote_is_left_alone(targets: Targets, tmp_path: Path) -> None:
    """Names that are none of sync are not shown."""
    remote = targets.targets["git"].address
    work = tmp_path / "work"
    git("clone", "--quiet", remote, str(work))
    (work / "README.md").write_text("mine")
    git("-C", str(work), "add", "README.md")
    who = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    git("-C", str(work), *who, "commit", "--quiet", "-m", "x")
    git("-C", str(work), "push", "--quiet", "origin", f"HEAD:{BRANCH}")
    carrier = targets.carrier("git")
    assert carrier.names() == set()
    carrier.put(NAME, BODY)
    assert git("-C", remote, "show", f"{BRANCH}:README.md") == "mine"


async def test_tenants_of_a_service_have_files_of_their_own(
    targets: Targets, tokens: Tokens, tmp_path: Path
) -> None:
    """And a reader writes nothing."""
    await asyncio.to_thread(targets.carrier("service").put, NAME, BODY)
    url = targets.targets["service"].address
    other = SyncTarget(address=url, token_file=await token_in(tokens, tmp_path / "other", tenant="other"))
    assert await asyncio.to_thread(carrier_at(other, tmp_path).names) == set()
    dots = SyncTarget(address=url, token_file=await token_in(tokens, tmp_path / "dots", tenant=".."))
    assert await asyncio.to_thread(carrier_at(dots, tmp_path).names) == set()
    reading = SyncTarget(
        address=url, token_file=await token_in(tokens, tmp_path / "reading", role=Role.READER)
    )
    carrier = carrier_at(reading, tmp_path)
    assert await asyncio.to_thread(carrier.names) == {NAME}
    for change in (lambda: carrier.put("a", b"b"), lambda: carrier.delete(NAME)):
        with pytest.raises(StorageUnavailableError, match="writer"):
            await asyncio.to_thread(change)


@pytest.mark.parametrize(
    "name", ["../x", "a/../../x", "/etc/x", "a/b/c", "A", "a%2e%2e", "", "a" * 300, ".a"]
)
async def test_a_name_leaves_no_folder(client: httpx2.AsyncClient, stored: Settings, name: str) -> None:
    """It is refused, and nothing is written."""
    answer = await client.post("/api/v1/sync/file", json={"name": name, "content": ""})
    assert answer.status_code == 422
    assert (await client.get("/api/v1/sync/file", params={"name": name})).status_code == 422
    assert not (stored.home / sync.FOLDER).exists()


async def test_a_service_replaces_no_file(
    client: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does it take more than its share, or what is no Base64."""
    new = {"name": "a", "content": "YWJj"}
    assert (await client.post("/api/v1/sync/file", json=new)).status_code == 200
    assert (await client.post("/api/v1/sync/file", json=new)).status_code == 200
    assert (await client.post("/api/v1/sync/file", json=new | {"content": "YQ=="})).status_code == 409
    assert (await client.post("/api/v1/sync/file", json=new | {"content": "%"})).status_code == 422
    monkeypatch.setattr(sync, "MOST_BYTES", 4)
    assert (await client.post("/api/v1/sync/file", json=new | {"name": "b"})).status_code == 409
    assert (await client.get("/api/v1/sync/files")).json() == {"names": ["a"]}


class _Guarded(BaseHTTPRequestHandler):
    """A Git server that asks for a password and has nothing."""

    asked: ClassVar[list[str | None]] = []

    def do_GET(self) -> None:
        """Ask for a password; with one, answer that nothing is there."""
        given = self.headers.get("Authorization")
        self.asked.append(given)
        self.send_response(401 if given is None else 404)
        self.send_header("WWW-Authenticate", 'Basic realm="git"')
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the library's
        """Log nothing."""


def test_the_password_of_a_git_remote_is_in_no_argument_and_no_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every user can list the arguments of commands; the server gets the password all the same."""
    arguments = tmp_path / "arguments"
    wrapper = tmp_path / "bin" / "git"
    wrapper.parent.mkdir()
    wrapper.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >> {arguments}\nexec {shutil.which("git")} "$@"\n')
    wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{wrapper.parent}{os.pathsep}{os.environ['PATH']}")
    server = HTTPServer(("127.0.0.1", 0), _Guarded)
    with server, ThreadPoolExecutor(1) as threads:
        serving_git = threads.submit(server.serve_forever)
        address = f"http://ann:hunter%2F2@127.0.0.1:{server.server_port}/memories.git"
        carrier = carrier_at(SyncTarget(address=address), tmp_path / "laptop")
        with pytest.raises(StorageUnavailableError) as raised:
            carrier.names()
        server.shutdown()
        serving_git.result()
    assert "hunter" not in arguments.read_text() + str(raised.value)
    assert f"Basic {b64encode(b'ann:hunter/2').decode()}" in _Guarded.asked


@pytest.mark.parametrize(
    "address", ["git+--upload-pack=touch owned", "git+ext::sh -c touch% owned", "git+-x.git"]
)
def test_a_git_remote_is_no_option_and_no_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    """Git takes it as an address, and refuses it."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StorageUnavailableError):
        carrier_at(SyncTarget(address=address), tmp_path / "laptop").names()
    assert not (tmp_path / "owned").exists()


def test_a_file_of_a_folder_may_have_any_size(targets: Targets) -> None:
    """Whoever can write to the folder cannot fill the memory of a device."""
    large = targets.folder / "carried" / NAME
    large.parent.mkdir(parents=True)
    large.touch()
    os.truncate(large, 10 * MOST_BYTES)
    body = targets.carrier("folder").get(NAME)
    assert body is not None
    assert len(body) == MOST_BYTES
