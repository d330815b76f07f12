"""The real claude CLI on two machines whose homes sync: what one session learns, the sessions of the other know."""

import json
import os
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from support.claude import Claude, claude_environment, messages_text
from support.commands import CommandLine, CommandServer, Done
from support.consolidation import answer, fact
from support.database_stock import DatabaseStock
from support.deadlines import DEADLINE_S
from support.git_repositories import clone, git, repository
from support.homes import UsedHome
from support.model_api import Asked, Calls, ModelApi, Says, Waits
from support.postgres import wait_until
from support.resident import end, pid_of
from support.slow_remote import SlowRemote

pytestmark = pytest.mark.requirement("SYN-15.1")

ALLOWED = "mcp__commonplace"
ADD = "mcp__commonplace__memory_add"
SEARCH = "mcp__commonplace__memory_search"
OWNER = {"kind": "fact", "subject": "staging", "predicate": "owner", "text": "The infra team owns staging"}
SAID = "Staging moves to port 5434"
PROMPT = "Who owns staging?"
FACT = "[staging] [owner]: The infra team owns staging"


class Machine(Claude):
    """The CLI with a home, a home directory and a clone of its own."""

    def __call__(self, *words: str, stdin: bytes = b"", directory: Path | None = None) -> Done:
        """Run a command, in the clone if no other directory is named."""
        command = self.commonplace if directory is None else self.commonplace.at(directory)
        return command(*words, stdin=stdin, **self.variables)

    def install(self, directory: Path | None = None) -> str:
        """Install commonplace in the clone or in another directory, and return what the command prints."""
        done = self("install", "claude-code", directory=directory)
        assert done.status == 0, done.err
        return done.out

    def facts(self) -> str:
        """The facts of the machine."""
        return self("list", "facts", "--json").out

    def call(self, event: str) -> None:
        """Call a hook of a new session."""
        transcript = self.commonplace.directory / "transcript.jsonl"
        message = {"type": "user", "uuid": str(uuid4()), "message": {"content": SAID}}
        transcript.write_text(f"{json.dumps(message)}\n")
        call = {
            "session_id": str(uuid4()),
            "transcript_path": str(transcript),
            "cwd": str(self.commonplace.directory),
        }
        done = self("hook", event, stdin=json.dumps(call).encode())
        assert (done.status, done.err) == (0, "")

    @property
    def project(self) -> str:
        """The id of the project of the clone."""
        return str(self.commonplace("project", "show", "--json").json["id"])


@pytest.fixture
def clones(tmp_path: Path) -> list[Path]:
    """Two clones of a bare repository, at different paths."""
    repository(tmp_path / "first")
    git(tmp_path, "clone", "--bare", "first", "shop.git")
    places = (tmp_path / "laptop" / "shop", tmp_path / "desktop" / "src" / "backend")
    return [clone(tmp_path / "shop.git", place) for place in places]


@pytest.fixture
async def databases(knowledge_databases: DatabaseStock) -> AsyncIterator[list[str]]:
    """The URLs of two databases."""
    async with AsyncExitStack() as stack:
        yield [(await stack.enter_async_context(knowledge_databases.lend())).url for _ in range(2)]


@pytest.fixture
def machines(
    clones: list[Path],
    databases: list[str],
    used_home: UsedHome,
    command_server: CommandServer,
) -> Iterator[list[Machine]]:
    """Two machines that share nothing but the model."""
    with ModelApi(Says("Noted.")) as api:
        made: list[Machine] = []
        for place, database in zip(clones, databases, strict=True):
            home = place.parent / "home"
            used_home.lend(home)
            made.append(Machine(CommandLine(place, home, command_server), database, api))
        yield made
        for each in made:
            end(each.commonplace.home)


@pytest.fixture(params=["folder", "git"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """What carries the memories: a folder, or a bare repository."""
    if request.param == "folder":
        return str(tmp_path / "carried")
    git(tmp_path, "init", "--bare", "carried.git")
    return str(tmp_path / "carried.git")


def tool_result(request: Asked) -> Any:  # noqa: ANN401 - a block
    """The result of the tool that the model called last."""
    (result,) = [each for each in request.body["messages"][-1]["content"] if each["type"] == "tool_result"]
    assert not result.get("is_error"), result
    return result["content"]


def begin(machines: list[Machine], target: str, tmp_path: Path) -> None:
    """Let both homes sync over a target."""
    secret = tmp_path / "secret"
    secret.write_text("correct horse battery staple\n")
    for each, verb in zip(machines, ("init", "join"), strict=False):
        done = each("sync", verb, target, "--name", verb, "--passphrase-file", str(secret))
        assert done.status == 0, done.err


@pytest.mark.long
def test_what_a_session_learned_reaches_the_other_machine(
    machines: list[Machine], target: str, tmp_path: Path
) -> None:
    """Nobody runs a command: sessions sync when they end and when they start."""
    laptop, desktop = machines
    laptop.install()
    begin(machines, target, tmp_path)
    desktop.install()
    laptop.api.script(Calls(ADD, OWNER), Says("Noted. Ada knows the details."))
    laptop.run("Remember who owns staging", "--allowedTools", ALLOWED)
    end(laptop.commonplace.home)  # It syncs before it ends.

    arrived, before = threading.Event(), len(desktop.api.asked)
    desktop.api.script(Waits(arrived, Calls(SEARCH, {"query": PROMPT})), Says("The infra team."))
    with desktop.start(PROMPT, "--allowedTools", ALLOWED) as process:
        wait_until(lambda: OWNER["text"] in desktop.facts(), what="the fact, while the session runs")
        arrived.set()
        process.communicate(timeout=DEADLINE_S)
    assert OWNER["text"] in tool_result(desktop.api.asked[before + 1])

    desktop.run(PROMPT)
    text = messages_text(desktop.api.asked[-1])
    assert FACT in text
    assert "Ada knows the details" in text
    for each in machines:
        assert "Traceback" not in each.log
        assert "sync" not in each.log


def test_an_installation_in_a_clone_finds_its_project_on_the_other_machine(
    machines: list[Machine], tmp_path: Path
) -> None:
    """It syncs before and after it makes a project; if the target is away, it says so, and installs."""
    laptop, desktop = machines
    begin(machines, str(tmp_path / "carried"), tmp_path)
    laptop.install()
    (tmp_path / "carried").rename(tmp_path / "away")
    (tmp_path / "carried").touch()
    assert "Not synced" in laptop.install(tmp_path / "other")
    (tmp_path / "carried").unlink()
    (tmp_path / "away").rename(tmp_path / "carried")
    assert "Not synced" not in desktop.install()
    assert desktop.project == laptop.project


@pytest.mark.requirement("SYN-15.2")
def test_a_target_that_hangs_delays_no_hook(machines: list[Machine], tmp_path: Path) -> None:
    """Though more sessions end than the process has threads; one sync waits, and another one follows it."""
    laptop, _ = machines
    remote = SlowRemote(tmp_path)
    laptop.variables |= remote.variables
    begin(machines[:1], remote.address, tmp_path)
    laptop.call("session-start")
    process = pid_of(laptop.commonplace.home)
    before = remote.calls
    with remote.hanging():
        for _ in range(min(32, (os.cpu_count() or 1) + 4)):
            laptop.call("session-end")
        laptop.call("session-start")
        assert remote.calls == before + 1
    assert pid_of(laptop.commonplace.home) == process is not None
    assert " in time" not in laptop.log


@pytest.mark.requirement("SYN-15.3")
def test_what_a_model_makes_of_a_session_is_synced_too(machines: list[Machine], tmp_path: Path) -> None:
    """It takes minutes, so the sync at the end of the session comes before it; another one follows it."""
    laptop, desktop = machines
    begin(machines, str(tmp_path / "carried"), tmp_path)
    laptop.variables |= claude_environment(laptop.user, laptop.api.url)
    allowed = laptop("consolidation", "allow", "--daily-tokens", "50000")
    assert allowed.status == 0, allowed.err
    laptop.api.script(Says(answer(new_facts=[fact("staging", "port", SAID)])))
    laptop.call("session-end")

    def arrived() -> bool:
        return desktop("sync").status == 0 and SAID in desktop.facts()

    wait_until(arrived, what="the fact on the other machine")
