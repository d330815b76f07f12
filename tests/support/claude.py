"""The real claude CLI, against a scripted API, in a home of its own."""

import json
import subprocess
from pathlib import Path
from typing import Any

from support.commands import CommandLine, clean_environment
from support.deadlines import DEADLINE_S
from support.model_api import Asked, ModelApi
from support.programs import program_path
from support.resident import RESIDENT

KEY = "sk-scripted"

PATIENT = {"MCP_CONNECTION_NONBLOCKING": "0", "MCP_CONNECT_TIMEOUT_MS": "30000"}
"""On a machine that tests keep busy, servers start later than the client waits for them; on others they do not."""


def claude_environment(home: Path, api_url: str) -> dict[str, str]:
    """Return an environment in which the CLI knows nothing but an API, a key for it and an empty home."""
    home.mkdir(parents=True, exist_ok=True)
    return {
        "PATH": program_path("claude"),
        "HOME": str(home),
        "ANTHROPIC_BASE_URL": api_url,
        "ANTHROPIC_API_KEY": KEY,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }


class Claude:
    """The CLI in a workspace, with commonplace on a database of its own.

    Args:
        commonplace: Names workspace and home.
        database: The URL of knowledge memory.
        api: Answers the CLI.

    Attributes:
        user: The CLI's home directory.
    """

    def __init__(self, commonplace: CommandLine, database: str, api: ModelApi) -> None:
        self.commonplace = commonplace
        self.api = api
        self.database = database
        self.user = commonplace.home / "user"
        self.variables = {"COMMONPLACE_POSTGRES_URL": database} | RESIDENT
        self.environment = (
            clean_environment(commonplace.home, **self.variables)
            | claude_environment(self.user, api.url)
            | PATIENT
        )

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start it with a prompt."""
        return subprocess.Popen(
            ["claude", "-p", *arguments, "--output-format", "stream-json", "--verbose"],
            cwd=self.commonplace.directory,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str) -> list[dict[str, Any]]:
        """Run it to its end; return the lines that it wrote."""
        with self.start(*arguments) as process:
            out, err = process.communicate(timeout=DEADLINE_S)
        assert process.returncode == 0, f"{out}\n{err}\n{self.log}"
        assert "Hook cancelled" not in err
        return [json.loads(each) for each in out.split("\n") if each]

    def episodes(self) -> list[dict[str, Any]]:
        """Return the episodes of all sessions."""
        words = ("staging production", "--mode", "keyword", "--type", "episode", "--json")
        result = self.commonplace("knowledge", "search", *words, COMMONPLACE_POSTGRES_URL=self.database)
        episodes: list[dict[str, Any]] = result.json["results"]
        return episodes

    def session_end(self, session_id: str) -> None:
        """Call the hook of a session's end once more."""
        result = self.hook("session-end", session_id)
        assert (result.status, result.out) == (0, "")

    def hook(self, event: str, session_id: str) -> Any:  # noqa: ANN401 - how it ended
        """Call a hook by hand, for a session of this workspace."""
        call = {
            "session_id": session_id,
            "transcript_path": str(self.transcripts / f"{session_id}.jsonl"),
            "cwd": str(self.commonplace.directory),
        }
        stdin = json.dumps(call).encode()
        return self.commonplace("hook", event, stdin=stdin, **self.variables)

    @property
    def transcripts(self) -> Path:
        """The directory in which the CLI keeps the transcripts of this workspace."""
        (directory,) = (self.user / ".claude" / "projects").iterdir()
        return directory

    @property
    def log(self) -> str:
        """The errors and warnings of the hooks."""
        path = self.commonplace.home / "logs" / "hooks.log"
        return path.read_text() if path.exists() else ""


def install(commonplace: CommandLine) -> None:
    """Install commonplace in a project."""
    result = commonplace("install", "claude-code")
    assert result.status == 0, result.err


def messages_text(request: Asked) -> str:
    """Return the text of all messages of a request, of users, tools and hooks alike."""
    texts: list[str] = []
    for message in request.body["messages"]:
        content = message["content"]
        blocks = [{"text": content}] if isinstance(content, str) else content
        texts += [block["text"] for block in blocks if "text" in block]
    return "\n".join(texts)
