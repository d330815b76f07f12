"""The real CLIs of Codex, Gemini and opencode, against a scripted API, in homes of their own."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from support.programs import program_path

STORED = {"kind": "fact", "subject": "staging", "predicate": "owner", "text": "The infra team owns it"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """A client of the tests.

    Attributes:
        name: The host's name, which is that of its program.
        scope: The scope that the test installs into.
        tool: The name by which its model calls the tool that stores a fact.
        prompt: Returns the command for a prompt.
        settle: Writes its own settings, for an API at a URL, into a home; returns its environment.
    """

    name: str
    scope: str
    tool: str
    prompt: Callable[[str], Sequence[str]]
    settle: Callable[[Path, str], dict[str, str]]

    def path(self) -> str:
        """Return a PATH with the CLI; skip the test where the CLI is not installed."""
        return program_path(self.name)


def _codex(home: Path, url: str) -> dict[str, str]:
    directory = home / ".codex"
    directory.mkdir()
    provider = {
        "name": "scripted",
        "base_url": f"{url}/v1",
        "wire_api": "responses",
        "env_key": "SCRIPTED_KEY",
    }
    lines = [f"{key} = {json.dumps(value)}" for key, value in provider.items()]
    head = 'model = "scripted"\nmodel_provider = "scripted"\n\n[model_providers.scripted]\n'
    (directory / "config.toml").write_text(head + "\n".join(lines) + "\n")
    return {"SCRIPTED_KEY": "scripted", "CODEX_HOME": str(directory)}


def _gemini(home: Path, url: str) -> dict[str, str]:
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"enableAutoUpdate": False},
    }
    (home / ".gemini").mkdir()
    (home / ".gemini" / "settings.json").write_text(json.dumps(settings))
    return {
        "GEMINI_API_KEY": "scripted",
        "GOOGLE_GEMINI_BASE_URL": url,
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
        "GEMINI_CLI_NO_RELAUNCH": "true",
    }


def _opencode(home: Path, url: str) -> dict[str, str]:
    options = {"baseURL": f"{url}/v1", "apiKey": "scripted"}
    provider = {"npm": "@ai-sdk/anthropic", "options": options, "models": {"scripted": {"name": "scripted"}}}
    settings = {
        "$schema": "https://opencode.ai/config.json",
        "model": "scripted/scripted",
        "small_model": "scripted/scripted",
        "share": "disabled",
        "provider": {"scripted": provider},
    }
    directory = home / ".config" / "opencode"
    directory.mkdir(parents=True)
    (directory / "opencode.json").write_text(json.dumps(settings))
    return {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"}


CODEX = Client(
    name="codex",
    scope="user",
    tool="mcp__commonplace.memory_add",
    prompt=lambda text: ["exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust", text],
    settle=_codex,
)
GEMINI = Client(
    name="gemini",
    scope="project",
    tool="mcp_commonplace_memory_add",
    prompt=lambda text: ["-m", "gemini-2.5-flash", "--approval-mode", "yolo", "-p", text],
    settle=_gemini,
)
OPENCODE = Client(
    name="opencode",
    scope="project",
    tool="commonplace_memory_add",
    prompt=lambda text: ["run", "--title", "test", text],
    settle=_opencode,
)
