"""The mirrors of a home, in ``mirrors.json``, with a record of each note that has no text of it.

Source: MIR-01.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, cast

from commonplace.core.atomic_write import write_text
from commonplace.core.clock import format_timestamp, parse_timestamp
from commonplace.core.directories import make_directories
from commonplace.core.errors import InvalidInputError, NotFoundError, SettingsError
from commonplace.core.file_format import require_format
from commonplace.core.quoting import quoted
from commonplace.services.mirrors.forms import MirrorForm
from commonplace.storage.file_locks import FileLock

FILE: Final = "mirrors.json"
LOCK_TIMEOUT_S: Final = 30.0


class Choice(StrEnum):
    """The memories that a mirror shows."""

    PINNED = "pinned"
    CONFIRMED = "confirmed"
    """Memories that a person wrote, confirmed or pinned."""
    ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteRecord:
    """The record of a note, from the last time it was written or read.

    Attributes:
        memory: The type and id of the memory that the note shows now.
        digest: The digest of the text that was written, or read back.
        place: The digest of its path in the folder.
        deleted_at: When it was first seen that the note was deleted; ``None`` if it is there.
        refused: The digest of an edit that was reported and not stored; empty if there is none.
    """

    memory: str
    digest: str
    place: str = ""
    deleted_at: datetime | None = None
    refused: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mirror:
    """A folder, or a file, where memories stand in the form of a host.

    Attributes:
        form: The form.
        path: The folder, or the file of a form without notes.
        scope: The scope of the memories: a project, or ``global``.
        choice: Which of them it shows.
        tenant_id: The tenant of the memories.
        notes: What was written, by the mark of the note.
    """

    form: MirrorForm
    path: Path
    scope: str
    choice: Choice
    tenant_id: str
    notes: Mapping[str, NoteRecord] = field(default_factory=dict[str, NoteRecord])


class MirrorRegistry:
    """The mirrors of one home."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def list(self) -> list[Mirror]:
        """Return the mirrors, the oldest first.

        Raises:
            SettingsError: The file with the mirrors cannot be read.
            FileTooNewError: A newer release wrote the file.
        """
        path = self._home / FILE
        try:
            document = json.loads(path.read_bytes())
            require_format(document, path=path)
            return [_mirror(each) for each in cast("list[Mapping[str, Any]]", document["mirrors"])]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise SettingsError(f"{path}: cannot be read: {error}") from None
        except (KeyError, TypeError, ValueError, AttributeError, InvalidInputError) as error:
            raise SettingsError(f"{path}: expected a list of mirrors, got {quoted(error)}") from None

    def put(self, mirror: Mirror) -> None:
        """Add a mirror, or replace the one of its form and path.

        Raises:
            SettingsError: The mirrors cannot be read.
            OSError: They cannot be written.
        """
        key = (mirror.form, mirror.path)
        mirrors = [mirror if (each.form, each.path) == key else each for each in self.list()]
        self._write(mirrors if mirror in mirrors else [*mirrors, mirror])

    def remove(self, form: MirrorForm, path: Path) -> None:
        """End a mirror; its files stay.

        Raises:
            NotFoundError: There is none.
            SettingsError: The mirrors cannot be read.
            OSError: They cannot be written.
        """
        mirrors = self.list()
        others = [each for each in mirrors if (each.form, each.path) != (form, path)]
        if len(others) == len(mirrors):
            raise NotFoundError("mirror", str(path))
        self._write(others)

    @asynccontextmanager
    async def locked(self, *, wait_s: float) -> AsyncGenerator[None]:
        """Let no other process work on the mirrors inside the block.

        Args:
            wait_s: How long to wait for another process.

        Raises:
            StorageUnavailableError: Another process works on them the whole time.
        """
        make_directories(self._home)
        with FileLock(self._home / f"{FILE}.lock") as lock:
            await asyncio.to_thread(lock.require, timeout_s=wait_s)
            yield

    def _write(self, mirrors: Iterable[Mirror]) -> None:
        document = {"mirrors": [_document(each) for each in mirrors]}
        write_text(self._home / FILE, json.dumps(document, indent=2) + "\n")


def _mirror(document: Mapping[str, Any]) -> Mirror:
    return Mirror(
        form=MirrorForm(document["form"]),
        path=Path(document["path"]),
        scope=str(document["scope"]),
        choice=Choice(document["choice"]),
        tenant_id=str(document["tenant_id"]),
        notes={name: _note(each) for name, each in document["notes"].items()},
    )


def _note(document: Mapping[str, Any]) -> NoteRecord:
    deleted_at = document.get("deleted_at")
    return NoteRecord(
        memory=str(document["memory"]),
        digest=str(document["digest"]),
        place=str(document["place"]),
        deleted_at=None if deleted_at is None else parse_timestamp(deleted_at),
        refused=str(document.get("refused", "")),
    )


def _document(mirror: Mirror) -> dict[str, object]:
    return {
        "form": mirror.form.value,
        "path": str(mirror.path),
        "scope": mirror.scope,
        "choice": mirror.choice.value,
        "tenant_id": mirror.tenant_id,
        "notes": {mark: _note_document(each) for mark, each in mirror.notes.items()},
    }


def _note_document(note: NoteRecord) -> dict[str, object]:
    values: dict[str, object] = {"memory": note.memory, "digest": note.digest, "place": note.place}
    if note.deleted_at is not None:
        values["deleted_at"] = format_timestamp(note.deleted_at)
    return values | ({"refused": note.refused} if note.refused else {})
