"""The table of hosts: the settings files of each, what commonplace adds to them, and how a host is detected."""

import os
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from commonplace.core.settings import CONFIG_VARIABLE, variable_of
from commonplace.hosts.install.installation import InstallScope, JsonSettings, SettingsFile
from commonplace.hosts.install.json_edits import (
    EARLIER,
    SERVER,
    Document,
    HookEvent,
    Hooks,
    Servers,
    SettingsPart,
    Words,
)
from commonplace.hosts.install.output import CLAUDE_CODE
from commonplace.hosts.install.toml_settings import TomlSettings

OPENCODE_PLUGIN: Final = Path(__file__).with_name("opencode_plugin.js")
STARTS: Final = "startup|resume|clear|compact"
"""The starts of a session of Claude Code and Codex."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """A scope, and the directories that determine the files of a host."""

    scope: InstallScope
    project: Path
    environ: Mapping[str, str]

    @property
    def is_project(self) -> bool:
        """Whether the scope is one project."""
        return self.scope is InstallScope.PROJECT

    @property
    def home(self) -> Path:
        """The home directory of the user."""
        return Path(self.environ["HOME"]) if self.environ.get("HOME") else Path.home()

    def user_directory(self, variable: str, *default: str) -> Path:
        """Return the directory that a variable names, or a default in the user's home."""
        named = self.environ.get(variable)
        return Path(named).expanduser() if named else self.home.joinpath(*default)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentHost:
    """A host.

    Attributes:
        name: Its name in commands.
        title: Its name for people.
        program: The program whose presence on the PATH shows that the host is installed.
        traces: Directories in the user's home that also show it.
        files: Returns the settings files for a scope.
        adds: The additions of an installation, for the help text.
        note: Returns a hint for the user after an installation in a scope.
        takes_butler: Whether an installation can name the butler of the sessions.
        model: The name of its program as a model; empty if it cannot be one.
    """

    name: str
    title: str
    program: str
    traces: Sequence[str]
    files: Callable[[Where], list[SettingsFile]]
    adds: str = "the MCP server, a briefing at the start of each session, and an episode at its end"
    note: Callable[[InstallScope], str] = lambda _: ""
    takes_butler: bool = True
    model: str = ""

    @property
    def hook_options(self) -> Sequence[str]:
        """The options of the hooks."""
        return () if self.name == CLAUDE_CODE else ("--host", self.name)

    def is_there(self, environ: Mapping[str, str]) -> bool:
        """Return whether the host seems to be installed."""
        home = Where(scope=InstallScope.USER, project=Path(), environ=environ).home
        return shutil.which(self.program, path=environ.get("PATH")) is not None or any(
            (home / each).is_dir() for each in self.traces
        )


def _events(
    starts: str, prompt: str, ends: str, *, unit: int = 1, end_s: int = 20, matcher: str = ""
) -> dict[str, HookEvent]:
    return {
        starts: HookEvent(argument="session-start", timeout=30 * unit, matcher=matcher),
        prompt: HookEvent(argument="user-prompt", timeout=10 * unit),
        ends: HookEvent(argument="session-end", timeout=end_s * unit),
    }


def _split(words: list[str], **more: Any) -> Document:  # noqa: ANN401 - JSON
    return {"command": words[0], "args": words[1:], **more}


def _exec_handler(words: list[str], timeout: int) -> Document:
    return {"type": "command", **_split(words), "timeout": timeout}


def _shell_handler(words: list[str], timeout: int) -> Document:
    return {"type": "command", "command": shlex.join(words), "timeout": timeout}


# Claude Code: measured on 2.1.197. Its default time-out for SessionEnd is 1.5 s.


def _claude_code(where: Where) -> list[SettingsFile]:
    servers: list[SettingsPart] = [
        Servers(key="mcpServers", entry=lambda words: {"type": "stdio", **_split(words, alwaysLoad=True)})
    ]
    events = _events("SessionStart", "UserPromptSubmit", "SessionEnd", matcher=STARTS)
    settings: list[SettingsPart] = [Hooks(events=events, handler=_exec_handler)]
    if where.is_project:
        directory, path = where.project / ".claude", where.project / ".mcp.json"
    else:
        # The client ignores a project's permissions until a person trusts the project.
        earlier = [f"mcp__{key}" for key in EARLIER]
        settings.append(Words(keys=("permissions", "allow"), words=[f"mcp__{SERVER}"], earlier=earlier))
        directory = where.user_directory("CLAUDE_CONFIG_DIR", ".claude")
        path = where.user_directory("CLAUDE_CONFIG_DIR") / ".claude.json"
    return [
        JsonSettings(path=path, parts=servers, private=not where.is_project),
        JsonSettings(path=directory / "settings.json", parts=settings),
    ]


# Codex: measured on 0.169. A hook is one shell command, SessionEnd gets at most 3 s, a server that is not required may
# miss the first request, and servers get only those variables that are named.

FORWARDED: Final = [
    CONFIG_VARIABLE,
    *map(variable_of, ("home", "database", "postgres_url", "postgres_read_url", "workspace")),
    *map(variable_of, ("embedding_model", "resident_idle_s")),
]


def _codex(where: Where) -> list[SettingsFile]:
    directory = where.project / ".codex" if where.is_project else where.user_directory("CODEX_HOME", ".codex")
    events = _events("SessionStart", "UserPromptSubmit", "SessionEnd", end_s=3, matcher=STARTS)
    return [
        TomlSettings(path=directory / "config.toml", constants={"required": True, "env_vars": FORWARDED}),
        JsonSettings(path=directory / "hooks.json", parts=[Hooks(events=events, handler=_shell_handler)]),
    ]


# Gemini CLI: measured on 0.61. A hook is one shell command, time-outs are in milliseconds, and output has to be JSON.


def _gemini(where: Where) -> list[SettingsFile]:
    directory = (where.project if where.is_project else where.home) / ".gemini"
    # Only the user's own settings may exempt a server from confirmation.
    trust = {} if where.is_project else {"trust": True}
    events = _events("SessionStart", "BeforeAgent", "SessionEnd", unit=1000)
    return [
        JsonSettings(
            path=directory / "settings.json",
            parts=[
                Servers(key="mcpServers", entry=lambda words: _split(words, **trust)),
                Hooks(events=events, handler=_shell_handler),
            ],
        )
    ]


# Cursor: from its documentation of mcp.json and hooks.json. Handlers are not grouped.


def _cursor(where: Where) -> list[SettingsFile]:
    directory = (where.project if where.is_project else where.home) / ".cursor"
    events = _events("sessionStart", "beforeSubmitPrompt", "sessionEnd")
    hooks = Hooks(
        events=events,
        handler=lambda words, timeout: {"command": shlex.join(words), "timeout": timeout},
        grouped=False,
    )
    return [
        JsonSettings(
            path=directory / "mcp.json",
            parts=[Servers(key="mcpServers", entry=lambda words: {"type": "stdio", **_split(words)})],
            private=not where.is_project,
        ),
        JsonSettings(path=directory / "hooks.json", parts=[hooks], constants={"version": 1}),
    ]


# VS Code: from its documentation of mcp.json and of agent hooks, which does not describe transcripts. User hooks are
# those of Claude Code.


def _vscode(where: Where) -> list[SettingsFile]:
    servers = Servers(key="servers", entry=lambda words: {"type": "stdio", **_split(words)})
    if not where.is_project:
        return [JsonSettings(path=_vscode_profile(where) / "mcp.json", parts=[servers], private=True)]
    hooks = Hooks(
        events={"SessionStart": HookEvent(argument="session-start", timeout=30)},
        handler=_shell_handler,
        grouped=False,
    )
    return [
        JsonSettings(path=where.project / ".vscode" / "mcp.json", parts=[servers]),
        JsonSettings(path=where.project / ".github" / "hooks" / "commonplace.json", parts=[hooks]),
    ]


def _vscode_profile(where: Where) -> Path:
    if sys.platform == "darwin":
        return where.home / "Library" / "Application Support" / "Code" / "User"
    return where.user_directory("XDG_CONFIG_HOME", ".config") / "Code" / "User"


# opencode: measured on 1.18. A plugin calls the hooks; it reads the command from the entry of the server. A file in
# .opencode/plugins would make opencode install packages there.


def _opencode(where: Where) -> list[SettingsFile]:
    directory = (
        where.project if where.is_project else where.user_directory("XDG_CONFIG_HOME", ".config") / "opencode"
    )
    return [
        JsonSettings(
            path=directory / "opencode.json",
            parts=[
                Servers(key="mcp", entry=lambda words: {"type": "local", "command": words, "enabled": True}),
                Words(keys=("plugin",), words=[OPENCODE_PLUGIN.as_uri()]),
            ],
            constants={"$schema": "https://opencode.ai/config.json"},
        )
    ]


HOSTS: Final[Mapping[str, AgentHost]] = {
    host.name: host
    for host in (
        AgentHost(
            name=CLAUDE_CODE,
            title="Claude Code",
            program="claude",
            traces=(".claude",),
            files=_claude_code,
            note=lambda scope: (
                "Claude Code asks before it uses the tools of a project. Allow them when it asks, or start it with "
                "--allowedTools mcp__commonplace."
                if scope is InstallScope.PROJECT
                else ""
            ),
            model=CLAUDE_CODE,
        ),
        AgentHost(
            name="codex",
            title="Codex",
            program="codex",
            traces=(".codex",),
            files=_codex,
            note=lambda scope: (
                "Codex runs new hooks only after you have reviewed them: start `codex` and enter /hooks."
                + (" It reads .codex of trusted projects only." if scope is InstallScope.PROJECT else "")
            ),
            model="codex",
        ),
        AgentHost(
            name="gemini",
            title="Gemini CLI",
            program="gemini",
            traces=(".gemini",),
            files=_gemini,
            note=lambda scope: (
                "Gemini CLI reads .gemini of trusted folders only, and asks before it uses the tools."
                if scope is InstallScope.PROJECT
                else ""
            ),
            model="gemini-cli",
        ),
        AgentHost(
            name="cursor",
            title="Cursor",
            program="cursor",
            traces=(".cursor",),
            files=_cursor,
            note=lambda _: "Cursor also runs the hooks of Claude Code: install into only one of the two.",
        ),
        AgentHost(
            name="vscode",
            title="VS Code",
            program="code",
            traces=(".vscode", ".config/Code"),
            files=_vscode,
            adds="the MCP server and, in a project, a briefing at the start of each session",
            note=lambda _: (
                "VS Code also runs the hooks of Claude Code, and asks before it starts the server."
            ),
        ),
        AgentHost(
            name="opencode",
            title="opencode",
            program="opencode",
            traces=(".config/opencode",),
            files=_opencode,
            adds="the MCP server, and a plugin for a briefing at the start of each session and an episode at its end",
            takes_butler=False,
        ),
    )
}


def hosts_there() -> list[AgentHost]:
    """Return the hosts that seem to be installed."""
    return [host for host in HOSTS.values() if host.is_there(os.environ)]
