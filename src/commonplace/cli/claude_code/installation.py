"""Places of Claude Code's settings, and the changes of an installation to each file."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from commonplace.cli.claude_code.configuration import (
    Document,
    allowed_rules,
    containers,
    with_hooks,
    with_permission,
    with_servers,
    without_containers,
    without_hooks,
    without_permission,
    without_servers,
)
from commonplace.cli.claude_code.files import PRIVATE, SHARED, FileChange, JsonFile, read_text
from commonplace.cli.claude_code.json_text import interior
from commonplace.cli.claude_code.notes import Note, note_path, read_note, write_note

CONFIG_VARIABLE: Final = "CLAUDE_CONFIG_DIR"


class Scope(StrEnum):
    """Settings of one project, which its repository may share, or of one user for all projects."""

    PROJECT = "project"
    USER = "user"


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """The two files of a scope.

    Attributes:
        scope: The scope.
        servers: The file of the MCP servers.
        settings: The file of hooks and permissions.
    """

    scope: Scope
    servers: Path
    settings: Path

    @classmethod
    def of(cls, scope: Scope, *, project: Path, environ: Mapping[str, str]) -> "Places":
        """Return the files of a scope; CLAUDE_CONFIG_DIR moves the user's files."""
        if scope is Scope.PROJECT:
            return cls(
                scope=scope, servers=project / ".mcp.json", settings=project / ".claude" / "settings.json"
            )
        home = Path(environ["HOME"]) if environ.get("HOME") else Path.home()
        if named := environ.get(CONFIG_VARIABLE):
            directory = Path(named).expanduser()
            return cls(scope=scope, servers=directory / ".claude.json", settings=directory / "settings.json")
        return cls(scope=scope, servers=home / ".claude.json", settings=home / ".claude" / "settings.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The changes of an installation or its removal.

    Attributes:
        files: Changes of settings files.
        notes: Changes of the notes about them.
        directories: Directories to delete if they are empty afterwards.
    """

    files: list[FileChange]
    notes: list[FileChange]
    directories: list[Path]


def plan_install(places: Places, command: list[str], *, home: Path, butler: str | None = None) -> Plan:
    """Return the changes of an installation; nothing is written.

    Args:
        places: The settings files.
        command: The command that runs ``commonplace``; see :func:`commonplace_command`.
        home: The home, which keeps the notes.
        butler: The butler of the sessions; ``None`` for the name of the workspace.

    Raises:
        SettingsError: A file cannot be read, or holds values that an installation would damage.
    """

    def settings(document: Document) -> Document:
        changed = with_hooks(document, command, butler=butler)
        # The client ignores a project's permissions until a person trusts the project.
        return with_permission(changed) if places.scope is Scope.USER else changed

    def servers(document: Document) -> Document:
        return with_servers(document, command)

    plan = Plan(files=[], notes=[], directories=[])
    for path, edit in ((places.servers, servers), (places.settings, settings)):
        file = JsonFile.read(path)
        document = file.edited(edit)
        plan.files.append(file.change(document, mode=_mode(places, path)))
        noted = read_text(note_path(home, path))
        note = _note(file, document, _known(file, read_note(noted)))
        text = noted if document == file.document else write_note(note)
        plan.notes.append(FileChange(path=note_path(home, path), before=noted, after=text, mode=PRIVATE))
    return plan


def plan_uninstall(places: Places, *, home: Path) -> Plan:
    """Return the changes that remove an installation; nothing is written.

    Containers, permissions and files are removed only if the notes say that an installation made them.

    Args:
        places: The settings files.
        home: The home, which keeps the notes.

    Raises:
        SettingsError: A file cannot be read.
    """
    plan = Plan(files=[], notes=[], directories=[])
    for path in (places.servers, places.settings):
        file = JsonFile.read(path)
        noted = read_text(note_path(home, path))
        note = read_note(noted) or _unnoted(file)
        document = _without_ours(file.document, note)
        if document != file.document:
            document = without_containers(document, note.containers)
        change = file.change(document, interiors=note.interiors, may_go=note.file)
        plan.files.append(change)
        plan.notes.append(FileChange(path=note_path(home, path), before=noted, after=None, mode=PRIVATE))
        if change.action == "delete" and note.directory:
            plan.directories.append(path.parent)
    return plan


def _known(file: JsonFile, note: Note | None) -> Note:
    """Return what earlier installations made in a file; an empty note if none of it is left."""
    if note is None:
        return _unnoted(file)
    return note if _without_ours(file.document, note) != file.document else Note()


def _unnoted(file: JsonFile) -> Note:
    """Return the note of an installation without one: hooks in the file mean that it also added the rules."""
    is_there = without_hooks(file.document) != file.document
    return Note(permissions=tuple(allowed_rules(file.document)) if is_there else ())


def _note(file: JsonFile, document: Document, known: Note) -> Note:
    """Return the note of earlier installations and of one that writes this document."""
    old, new = containers(file.document), containers(document)
    made = [keys for keys in new if keys not in old]
    interiors = {
        keys: space
        for keys in ((), *old)
        if file.text is not None and (space := interior(file.text, keys)) is not None
    }
    had, has = allowed_rules(file.document), allowed_rules(document)
    return Note(
        path=str(file.path),
        directory=known.directory or not file.path.parent.exists(),
        file=known.file or file.text is None,
        containers=(*known.containers, *made),
        interiors={**known.interiors, **interiors},
        permissions=(*known.permissions, *(rule for rule in has if rule not in had)),
    )


def _without_ours(document: Document, note: Note) -> Document:
    return without_permission(without_hooks(without_servers(document)), note.permissions)


def _mode(places: Places, path: Path) -> int:
    # The user's server file holds the client's state and keys.
    return PRIVATE if places.scope is Scope.USER and path == places.servers else SHARED


def commonplace_command() -> list[str]:
    """Return the command that runs this installation of commonplace from any directory."""
    script = Path(sys.executable).with_name("commonplace")
    return [str(script)] if script.is_file() else [sys.executable, "-m", "commonplace"]
