"""The real claude CLI as a client whose conversation is shortened by /compact and emptied by /clear."""

import asyncio
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace.embedding import EmbeddingEngine
from support.boxes import ERROR_E9, store_boxes
from support.claude import KEY, Claude, install, messages_text
from support.commands import CommandLine
from support.model_api import ModelApi, Says
from support.postgres import wait_until
from support.resident import end
from support.terminal import Terminal

NOTE = "The staging port is 5433"
MANY = 10
"""A briefing shows more of the stored boxes than this, a prompt fewer."""

SUMMARY = Says("<analysis>One question.</analysis>\n<summary>They asked about the boiler.</summary>")

PROMPT_MARK = "\u276f"
"""The CLI draws this arrow in front of its input line."""

EVENTS = ("SessionStart", "PreCompact", "PostCompact", "Stop")

pytestmark = [pytest.mark.requirement("TRU-06.2", "ONE-05.1"), pytest.mark.long]


class HookLog:
    """The input of hooks, recorded by hooks of the user's own beside those of commonplace."""

    def __init__(self, home: Path) -> None:
        self._path = home / "hooks.jsonl"
        self._path.touch()
        log = shlex.quote(str(self._path))
        handler = {"type": "command", "command": f"cat >> {log}; echo >> {log}"}
        settings = {"hooks": {event: [{"hooks": [handler]}] for event in EVENTS}}
        (home / ".claude").mkdir(parents=True)
        (home / ".claude" / "settings.json").write_text(json.dumps(settings))

    def starts(self) -> list[str]:
        """Return the sources of the starts of sessions so far."""
        return [call["source"] for call in self._calls() if call["hook_event_name"] == "SessionStart"]

    def wait_for(self, event: str, times: int = 1) -> None:
        """Wait until an event has come a number of times."""
        wait_until(
            lambda: [call["hook_event_name"] for call in self._calls()].count(event) >= times,
            what=f"{event} for the time no. {times}",
        )

    def _calls(self) -> list[dict[str, str]]:
        lines = self._path.read_text().split("\n")[:-1]
        return [json.loads(line) for line in lines if line]


@pytest.fixture
def claude(commonplace: CommandLine, knowledge_url: str) -> Iterator[Claude]:
    """The CLI, with commonplace installed in the project."""
    with ModelApi(Says("Noted.")) as api:
        client = Claude(commonplace, knowledge_url, api)
        install(commonplace)
        commonplace("workspace", "store", NOTE, "--tag", "infra")
        yield client
        end(commonplace.home)


@pytest.fixture
def log(claude: Claude) -> HookLog:
    """The log of hooks in the CLI's home."""
    return HookLog(claude.user)


def request_of(claude: Claude, prompt: str) -> str:
    """Return the messages of the latest request that answers a prompt, without requests for a title."""
    return next(
        text
        for each in reversed(claude.api.asked)
        if prompt in (text := messages_text(each)) and f"<session>\n{prompt}" not in text
    )


def memory_lines(text: str) -> list[str]:
    """Return the lines of all blocks of memories in a request."""
    blocks = re.findall(r"<commonplace_memory>(.*?)</commonplace_memory>", text, re.DOTALL)
    return [line for block in blocks for line in block.split("\n") if line.startswith("- ")]


def test_a_compacted_session_is_briefed_again_and_prompts_repeat_what_it_lost(
    claude: Claude, log: HookLog, engine: EmbeddingEngine, knowledge_url: str, commonplace: CommandLine
) -> None:
    """Each line stands in a request once: before the compaction, after it, and in the next prompt."""
    asyncio.run(store_boxes(knowledge_url, commonplace.home, engine))

    def ask(prompt: str) -> tuple[str, set[str]]:
        claude.run(prompt, "--resume", session_id)
        text = request_of(claude, prompt)
        lines = memory_lines(text)
        assert len(lines) == len(set(lines))
        assert sum(NOTE in line for line in lines) == 1
        assert sum(ERROR_E9 in line for line in lines) == 1
        return text, set(lines)

    session_id = claude.run("Which staging port?")[0]["session_id"]
    ask("The boiler shows E9, what do I do?")
    claude.api.script(SUMMARY)
    claude.run("/compact", "--resume", session_id)
    claude.api.script(Says("Open the valve."))

    text, after = ask("The boiler shows E9 again, what now?")

    assert log.starts() == ["startup", "resume", "resume", "compact", "resume"]
    assert "They asked about the boiler." in text
    assert "\nWhich staging port?\n" not in text
    assert sum("stands on shelf" in line for line in after) > MANY
    briefing, _, prompt = text.partition("UserPromptSubmit hook success: ")
    assert ERROR_E9 not in briefing
    assert ERROR_E9 in prompt
    _, later = ask("And if E9 stays on the boiler?")
    assert later >= after
    assert "Traceback" not in claude.log


def test_an_interactive_session_is_briefed_again_after_clear_and_compact(
    claude: Claude, log: HookLog, commonplace: CommandLine
) -> None:
    """The cleared session gets an episode of its own; no summary gets into one."""
    _settle(claude.user, commonplace.directory)
    with Terminal(["claude"], directory=commonplace.directory, environment=claude.environment) as terminal:
        wait_until(lambda: log.starts() and PROMPT_MARK in terminal.text(), what="an input line")
        terminal.enter("Which staging port?")
        log.wait_for("Stop")
        assert request_of(claude, "Which staging port?").count(NOTE) == 1

        terminal.enter("/clear")
        wait_until(lambda: "clear" in log.starts(), what="a new session")
        terminal.enter("And the production port?")
        log.wait_for("Stop", 2)
        text = request_of(claude, "And the production port?")
        assert "\nWhich staging port?\n" not in text
        assert text.count(NOTE) == 1

        terminal.enter("Is the staging port open?")
        log.wait_for("Stop", 3)
        assert request_of(claude, "Is the staging port open?").count(NOTE) == 1

        claude.api.script(SUMMARY)
        terminal.enter("/compact")
        log.wait_for("PostCompact")
        claude.api.script(Says("It is open."))
        terminal.enter("Is the staging port still open?")
        log.wait_for("Stop", 4)
        text = request_of(claude, "Is the staging port still open?")
        assert "They asked about the boiler." in text
        assert "\nAnd the production port?\n" not in text
        assert text.count(NOTE) == 1

        terminal.enter("/exit")
        wait_until(lambda: terminal.process.poll() is not None, what="the end of the CLI")
    assert log.starts() == ["startup", "clear", "compact"]
    wait_until(lambda: len(claude.episodes()) == 2, what="two episodes")
    first, second = sorted((each["content"] for each in claude.episodes()), key=len)
    assert first == "User: Which staging port?\n\nAssistant: Noted."
    assert second.startswith("User: And the production port?\n\nAssistant: Noted.")
    assert second.endswith("User: Is the staging port still open?\n\nAssistant: It is open.")
    assert "continued from a previous conversation" not in second
    assert "Traceback" not in claude.log


def _settle(user: Path, workspace: Path) -> None:
    """Answer in advance the questions of the CLI at its first start."""
    project = {
        "hasTrustDialogAccepted": True,
        "hasCompletedProjectOnboarding": True,
        "enabledMcpjsonServers": ["commonplace"],
    }
    settings = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "customApiKeyResponses": {"approved": [KEY], "rejected": []},
        "projects": {str(workspace.resolve()): project},
    }
    (user / ".claude.json").write_text(json.dumps(settings))
