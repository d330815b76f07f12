"""The engine that installs commonplace into the settings of a host and removes it again."""

import copy
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from commonplace.core.atomic_write import PRIVATE
from commonplace.core.errors import SettingsError
from commonplace.hosts.install.files import SHARED, FileChange, JsonFile, read_text
from commonplace.hosts.install.install_record import (
    InstallRecord,
    missing_directories,
    note_path,
    read_note,
    write_note,
)
from commonplace.hosts.install.json_edits import (
    Document,
    Ours,
    SettingsPart,
    containers,
    present_words,
    remove_containers,
    remove_earlier_words,
)
from commonplace.hosts.install.json_text import interior
from commonplace.hosts.install.toml_settings import TomlSettings


class InstallScope(StrEnum):
    """Settings of one project, which its repository may share, or of one user for all projects."""

    PROJECT = "project"
    USER = "user"


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonSettings:
    """A settings file in JSON.

    Attributes:
        parts: What an installation adds to it.
        private: Whether a new file is readable only by its owner, because the host stores keys in it.
        constants: Entries that every file needs; they are written into new files.
    """

    path: Path
    parts: Sequence[SettingsPart]
    private: bool = False
    constants: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def install(self, ours: Ours, note: InstallRecord | None) -> tuple[FileChange, InstallRecord | None]:
        """Return the change that installs commonplace, and the new note; ``None`` if the note does not change.

        Raises:
            SettingsError: The file cannot be read, or holds values that an installation would damage.
        """
        file = JsonFile.read(self.path)
        known = self._known(file, note)
        document = self._added(file, ours)
        remove_earlier_words(document, self.parts, known.permissions)
        change = file.change(document, mode=PRIVATE if self.private else SHARED)
        if document == file.document:
            return change, None
        return change, self._note(file, document, known)

    def uninstall(self, note: InstallRecord | None) -> tuple[FileChange, InstallRecord]:
        """Return the change that removes commonplace, and the note that it is based on.

        Raises:
            SettingsError: The file cannot be read.
        """
        file = JsonFile.read(self.path)
        note = note or self._unnoted(file)
        document = self._removed(file.document, note)
        if document != file.document:
            remove_containers(document, self.parts, note.containers)
        if note.file and document == self.constants:
            document = {}
        return file.change(document, interiors=note.interiors, may_go=note.file), note

    def _added(self, file: JsonFile, ours: Ours) -> Document:
        changed = copy.deepcopy(file.document if file.text is not None else {**self.constants})
        try:
            for part in self.parts:
                part.add(changed, ours)
        except SettingsError as error:
            raise SettingsError(f"{self.path}: {error}: nothing was written") from None
        return changed

    def _removed(self, document: Document, note: InstallRecord) -> Document:
        changed = copy.deepcopy(document)
        for part in self.parts:
            part.remove(changed, note.permissions)
        return changed

    def _known(self, file: JsonFile, note: InstallRecord | None) -> InstallRecord:
        """Return the note of earlier installations in a file; an empty note if nothing of them is left."""
        if note is None:
            return self._unnoted(file)
        return note if self._removed(file.document, note) != file.document else InstallRecord()

    def _unnoted(self, file: JsonFile) -> InstallRecord:
        """Return a note for an installation that has none; if the file has our entries, it added the words."""
        is_there = self._removed(file.document, InstallRecord()) != file.document
        return InstallRecord(permissions=tuple(present_words(file.document, self.parts)) if is_there else ())

    def _note(self, file: JsonFile, document: Document, known: InstallRecord) -> InstallRecord:
        """Return the combined note of earlier installations and of an installation that writes this document."""
        old, new = containers(file.document, self.parts), containers(document, self.parts)
        interiors = {
            keys: space
            for keys in ((), *old)
            if file.text is not None and (space := interior(file.text, keys)) is not None
        }
        had, has = present_words(file.document, self.parts), present_words(document, self.parts)
        permissions = (*known.permissions, *(word for word in has if word not in had))
        return InstallRecord(
            path=str(file.path),
            directories=known.directories or missing_directories(file.path),
            file=known.file or file.text is None,
            containers=(*known.containers, *(keys for keys in new if keys not in old)),
            interiors={**known.interiors, **interiors},
            permissions=tuple(word for word in permissions if word in has),
        )


SettingsFile = JsonSettings | TomlSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallationPlan:
    """The planned changes of an installation or its removal.

    Attributes:
        files: Changes of settings files.
        notes: Changes of the notes about them.
        directories: Directories to delete if they are empty afterwards.
    """

    files: list[FileChange]
    notes: list[FileChange]
    directories: list[Path]

    @property
    def changes(self) -> list[FileChange]:
        """The changes of settings files without the files that stay as they are."""
        return [change for change in self.files if change.action != "keep"]


def plan_install(files: Sequence[SettingsFile], ours: Ours, *, home: Path) -> InstallationPlan:
    """Return the changes of an installation, with notes in the home; nothing is written.

    Raises:
        SettingsError: A file cannot be read, or holds values that an installation would damage.
    """
    plan = InstallationPlan(files=[], notes=[], directories=[])
    for file in files:
        noted = read_text(note_path(home, file.path))
        change, note = file.install(ours, read_note(noted))
        text = noted if note is None else write_note(note)
        plan.files.append(change)
        plan.notes.append(FileChange(path=note_path(home, file.path), before=noted, after=text, mode=PRIVATE))
    return plan


def plan_uninstall(files: Sequence[SettingsFile], *, home: Path) -> InstallationPlan:
    """Return the changes that remove an installation; nothing is written.

    Containers, words and files are removed only if the notes in the home say that an installation created them.

    Raises:
        SettingsError: A file cannot be read.
    """
    plan = InstallationPlan(files=[], notes=[], directories=[])
    for file in files:
        noted = read_text(note_path(home, file.path))
        change, note = file.uninstall(read_note(noted))
        plan.files.append(change)
        plan.notes.append(FileChange(path=note_path(home, file.path), before=noted, after=None, mode=PRIVATE))
        if change.action == "delete":
            plan.directories.extend(file.path.parents[: note.directories])
    return plan


def commonplace_command() -> list[str]:
    """Return the command that runs this installation of commonplace from any directory."""
    script = Path(sys.executable).with_name("commonplace")
    return [str(script)] if script.is_file() else [sys.executable, "-m", "commonplace"]
