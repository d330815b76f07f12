"""The ``commonplace admin host`` commands, with an agent that is a script."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from support.agents import program
from support.commands import CommandLine, Done

SESSION = "6f3c1d1e-7f0a-4a53-9a3a-0c2f4a1b5d6e"
REPLIES = f"""import json, sys
context = sys.argv[sys.argv.index("--append-system-prompt-file") + 1]
said = f"asked {{sys.stdin.read()}}, knowing {{open(context).read()}}"
print(json.dumps({{"is_error": False, "session_id": "{SESSION}", "result": said}}))
"""

Host = Callable[..., Done]


@pytest.fixture
def host(commonplace: CommandLine, knowledge_url: str) -> Host:
    """``commonplace admin host``, beside a ``butler.toml``."""
    (commonplace.directory / "butler.toml").write_text('[butler]\nname = "dev"\n[modules.memory]\n')

    def run(*arguments: str, **variables: str) -> Done:
        return commonplace(
            "admin", "host", *arguments, stdin=b"", **{"COMMONPLACE_POSTGRES_URL": knowledge_url} | variables
        )

    return run


def test_a_session_begins_with_what_is_known_and_is_kept(
    host: Host, commonplace: CommandLine, knowledge_url: str, tmp_path: Path
) -> None:
    """Its answer is printed, and the episode names the session."""

    def knowledge(*arguments: str) -> Done:
        return commonplace("knowledge", *arguments, stdin=b"", COMMONPLACE_POSTGRES_URL=knowledge_url)

    agent = program(tmp_path / "agent", REPLIES)
    assert knowledge("store-fact", "database", "port", "listens on port 5433").status == 0

    done = host("run", "--prompt", "Which database port?", "--claude", str(agent), "--timeout", "5m")

    assert (done.status, done.err) == (0, "")
    assert "asked Which database port?" in done.out
    assert "listens on port 5433" in done.out
    (found,) = knowledge("search", "database port", "--type", "episode", "--json").json["results"]
    episode = knowledge("get", "episode", found["id"], "--json").json
    assert (episode["butler"], episode["session_id"]) == ("dev", SESSION)
    assert "Which database port?" in episode["content"]


def test_a_session_that_fails_is_one_line_and_status_1(host: Host, tmp_path: Path) -> None:
    """And as JSON it says whether that may pass."""
    busy = {"is_error": True, "result": "API Error: 529 overloaded", "api_error_status": 529}
    agent = program(tmp_path / "agent", f"print({json.dumps(json.dumps(busy))})")

    done = host("run", "--prompt", "x", "--claude", str(agent))
    assert (done.status, done.out) == (1, "")
    assert done.err == "error: the session failed: API Error: 529 overloaded\n"

    told = host("run", "--prompt", "x", "--claude", str(agent), "--json")
    assert told.status == 1
    assert (told.json["failure"], told.json["is_outage"]) == ("API Error: 529 overloaded", True)


def test_what_cannot_be_run_is_refused(host: Host, tmp_path: Path) -> None:
    """With what to install, or the form that was expected."""
    missing = host("run", "--prompt", "x", PATH=str(tmp_path))
    assert missing.status == 1
    assert "npm install -g @anthropic-ai/claude-code" in missing.err
    number = host("run", "--prompt", "x", "--timeout", "60")
    assert number.status == 2
    assert "expected a duration" in number.err
    nowhere = host("run", "--prompt", "x", "--butler", "nowhere.toml")
    assert nowhere.status == 1
    assert "nowhere.toml" in nowhere.err
