"""Where Claude Code keeps its settings, and what installing does to which file."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from commonplace.cli.claude_code.configuration import (
    Document,
    with_hooks,
    with_permission,
    with_servers,
    without_hooks,
    without_permission,
    without_servers,
)
from commonplace.cli.claude_code.files import PRIVATE, SHARED, FileChange, plan

CONFIG_VARIABLE: Final = "CLAUDE_CONFIG_DIR"


class Scope(StrEnum):
    """Whose settings: those of one project, which its repository may share, or of one user, for all projects."""

    PROJECT = "project"
    USER = "user"


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """The two files of a scope.

    Attributes:
        scope: Whose they are.
        servers: Holds the MCP servers.
        settings: Holds hooks and permissions.
    """

    scope: Scope
    servers: Path
    settings: Path

    @classmethod
    def of(cls, scope: Scope, *, project: Path, environ: Mapping[str, str]) -> "Places":
        """Return the files of a scope; the client's own variable moves those of the user."""
        if scope is Scope.PROJECT:
            return cls(
                scope=scope, servers=project / ".mcp.json", settings=project / ".claude" / "settings.json"
            )
        home = Path(environ["HOME"]) if environ.get("HOME") else Path.home()
        if named := environ.get(CONFIG_VARIABLE):
            directory = Path(named).expanduser()
            return cls(scope=scope, servers=directory / ".claude.json", settings=directory / "settings.json")
        return cls(scope=scope, servers=home / ".claude.json", settings=home / ".claude" / "settings.json")


def plan_install(places: Places, command: list[str], *, butler: str | None = None) -> list[FileChange]:
    """Return what an installation changes; nothing is written.

    Args:
        places: Whose settings.
        command: What runs ``commonplace``; see :func:`commonplace_command`.
        butler: Whose sessions they are, where that is not the workspace's name.

    Raises:
        SettingsError: A file cannot be read, or holds what an installation would damage.
    """

    def settings(document: Document) -> Document:
        changed = with_hooks(document, command, butler=butler)
        # A project's permissions count only once a person has trusted it; hooks and servers count at once.
        return with_permission(changed) if places.scope is Scope.USER else changed

    return _plan(places, lambda document: with_servers(document, command), settings)


def plan_uninstall(places: Places) -> list[FileChange]:
    """Return what taking an installation out again changes; nothing is written.

    Raises:
        SettingsError: A file cannot be read.
    """

    def settings(document: Document) -> Document:
        changed = without_hooks(document)
        return without_permission(changed) if places.scope is Scope.USER else changed

    return _plan(places, without_servers, settings)


def _plan(
    places: Places, servers: Callable[[Document], Document], settings: Callable[[Document], Document]
) -> list[FileChange]:
    # The user's file of servers holds the client's own state and keys.
    return [
        plan(places.servers, servers, mode=PRIVATE if places.scope is Scope.USER else SHARED),
        plan(places.settings, settings),
    ]


def commonplace_command() -> list[str]:
    """Return what runs this installation of commonplace from anywhere: by its absolute path."""
    script = Path(sys.executable).with_name("commonplace")
    return [str(script)] if script.is_file() else [sys.executable, "-m", "commonplace"]
