"""The plugin of Claude Code, in the real CLI."""

import subprocess
from pathlib import Path

import pytest

from support.agent_tools import NAMES
from support.claude import claude_environment
from support.commands import CommandLine, clean_environment
from support.deadlines import DEADLINE_S
from support.model_api import ModelApi, Says
from support.resident import PATIENT, RESIDENT, end

pytestmark = pytest.mark.requirement("PRJ-05.1")
WAITS = {"MCP_CONNECTION_NONBLOCKING": "0", "MCP_CONNECT_TIMEOUT_MS": "30000"}


@pytest.mark.long
def test_the_plugin_is_valid_and_brings_servers_hooks_skill_and_commands(
    commonplace: CommandLine, knowledge_url: str, tmp_path: Path
) -> None:
    """The CLI validates and installs it; a session then has the briefing and the tools."""
    directory = tmp_path / "market"
    for _ in range(2):
        made = commonplace("admin", "plugin", str(directory))
        assert made.status == 0, made.err
    commonplace("workspace", "store", "The staging port is 5433", "--tag", "infra")
    with ModelApi(Says("Staging listens on 5433.")) as api:
        environment = (
            clean_environment(commonplace.home, COMMONPLACE_POSTGRES_URL=knowledge_url)
            | claude_environment(commonplace.home / "user", api.url)
            | WAITS
            | RESIDENT
            | PATIENT
        )
        for arguments in (
            ["plugin", "validate", str(directory)],
            ["plugin", "validate", str(directory / "commonplace")],
            ["plugin", "marketplace", "add", str(directory)],
            ["plugin", "install", "commonplace@commonplace"],
            ["-p", "Which port has staging?"],
        ):
            done = subprocess.run(
                ["claude", *arguments],
                cwd=commonplace.directory,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=DEADLINE_S,
                check=False,
            )
            assert done.returncode == 0, f"{arguments}: {done.stdout}{done.stderr}"
        asked = api.asked[0]
    end(commonplace.home)
    assert ") The staging port is 5433" in asked.text
    offered = {tool["name"] for tool in asked.body["tools"]}
    assert {f"mcp__plugin_commonplace_commonplace__{name}" for name in NAMES} <= offered
    assert "commonplace:memory" in asked.text


def test_a_directory_with_something_else_is_left_alone(commonplace: CommandLine) -> None:
    """The plugin replaces an earlier plugin, and nothing else."""
    theirs = commonplace.directory / "theirs"
    theirs.mkdir()
    (theirs / "file").touch()
    refused = commonplace("admin", "plugin", str(theirs))
    assert (refused.status, "expected a new or empty directory" in refused.err) == (1, True)
    assert [each.name for each in theirs.iterdir()] == ["file"]
