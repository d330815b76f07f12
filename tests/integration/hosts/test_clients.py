"""The real CLIs of the other hosts: their settings as installed, their models scripted."""

import subprocess
from html import unescape
from typing import Any

import pytest

from support.agent_tools import MOST_TOKENS, MOST_TOOLS, cost, definitions
from support.clients import CODEX, GEMINI, OPENCODE, STORED, Client
from support.commands import CommandLine, clean_environment
from support.deadlines import DEADLINE_S
from support.model_api import Calls, ModelApi, Says
from support.postgres import wait_until
from support.resident import PATIENT, RESIDENT, end

pytestmark = pytest.mark.requirement("HST-01.1", "HST-02.1", "HST-03.1", "ONE-05.1")


def run_client(commonplace: CommandLine, command: list[str], variables: dict[str, str]) -> None:
    """Run a CLI in the workspace to its end."""
    done = subprocess.run(
        command,
        cwd=commonplace.directory,
        env=clean_environment(commonplace.home) | variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=3 * DEADLINE_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.long
@pytest.mark.parametrize("client", [CODEX, GEMINI, OPENCODE], ids=lambda client: client.name)
def test_a_session_is_briefed_calls_a_tool_and_becomes_an_episode(
    client: Client, commonplace: CommandLine, knowledge_url: str
) -> None:
    """The first request has the briefing, whose lines the prompt does not repeat, and few tools for few tokens."""
    home = commonplace.home / "user"
    home.mkdir()
    path = client.path()
    with ModelApi(Calls(client.tool, STORED), Says("Staging listens on 5433.")) as api:
        own = {"HOME": str(home), "PATH": path} | client.settle(home, api.url)
        before = {each: each.read_bytes() for each in home.rglob("*") if each.is_file()}
        installed = commonplace("install", client.name, "--scope", client.scope, stdin=b"", **own)
        assert installed.status == 0, installed.err
        commonplace("workspace", "store", "The staging port is 5433", "--tag", "infra")
        # opencode believes PWD rather than its current directory.
        own |= {"PWD": str(commonplace.directory), "COMMONPLACE_POSTGRES_URL": knowledge_url}
        own |= RESIDENT | PATIENT
        run_client(commonplace, [client.name, *client.prompt("Which staging port?")], own)
        asked, answered = api.asked[0], api.asked[1]

    log = commonplace.home / "logs" / "hooks.log"
    assert unescape(asked.text).count(") The staging port is 5433") == 1
    ours = definitions(asked.body["tools"])
    assert len(ours) == MOST_TOOLS
    assert cost(ours) <= MOST_TOKENS
    assert '"done":"added"' in unescape(answered.text).replace("\\", "")

    def found() -> dict[str, Any]:
        assert not log.exists(), log.read_text()
        listed = commonplace(
            "knowledge", "search", "staging", "--json", COMMONPLACE_POSTGRES_URL=knowledge_url
        )
        return {each["memory_type"]: each for each in listed.json["results"]}

    # A host gives the end of a session little time; the resident process learns behind it, or after the host's end.
    wait_until(lambda: "episode" in found(), what="an episode")
    project = commonplace("project", "show", "--json").json["id"]
    fact = found()["fact"]
    assert (fact["content"], fact["scope"]) == (STORED["text"], project)
    episode = found()["episode"]
    assert "Which staging port?" in episode["content"]
    assert episode["content"].endswith("\n\nAssistant: Staging listens on 5433.")
    assert "commonplace_memory" not in episode["content"]
    assert (episode["butler"], episode["metadata"]) == (project, {"source": client.name})

    end(commonplace.home)
    assert commonplace("uninstall", client.name, "--scope", client.scope, stdin=b"", **own).status == 0
    assert {each: each.read_bytes() for each in before if each.exists()} == before
    assert sorted(each.name for each in commonplace.directory.iterdir()) == [".aegis", ".commonplace"]


@pytest.mark.long
@pytest.mark.requirement("FOL-04.5")
def test_a_session_without_a_transcript_is_briefed_and_leaves_no_episode(
    commonplace: CommandLine, knowledge_url: str
) -> None:
    """Codex names no transcript for a session that it does not keep."""
    home = commonplace.home / "user"
    home.mkdir()
    with ModelApi(Says("Staging listens on 5433.")) as api:
        own = {"HOME": str(home), "PATH": CODEX.path()} | CODEX.settle(home, api.url)
        assert commonplace("install", "codex", "--scope", "user", stdin=b"", **own).status == 0
        commonplace("workspace", "store", "The staging port is 5433", "--tag", "infra")
        own |= {"COMMONPLACE_POSTGRES_URL": knowledge_url} | RESIDENT | PATIENT
        program, *words = CODEX.prompt("Which staging port?")
        run_client(commonplace, ["codex", program, "--ephemeral", *words], own)
        assert unescape(api.asked[0].text).count(") The staging port is 5433") == 1
    end(commonplace.home)
    log = commonplace.home / "logs" / "hooks.log"
    assert not log.exists(), log.read_text()
    listed = commonplace("knowledge", "search", "staging", "--json", COMMONPLACE_POSTGRES_URL=knowledge_url)
    assert listed.json["results"] == []
