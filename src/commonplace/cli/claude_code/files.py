"""Files of settings that belong to others: read with care, shown as a difference, and written all or nothing."""

import difflib
import json
import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, cast
from uuid import uuid4

from commonplace.core.errors import SettingsError, StorageUnavailableError

Action = Literal["create", "change", "delete", "keep"]
PRIVATE: Final = 0o600
SHARED: Final = 0o644

_INDENT: Final = re.compile(r"\A\s*\{\r?\n([ \t]+)\"")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """What is to become of a file.

    Attributes:
        path: As it is known; a symbolic link is followed.
        before: What it holds; ``None`` where it is not there.
        after: What it is to hold; ``None`` where it is to go.
        mode: For a file that is not there yet.
    """

    path: Path
    before: str | None
    after: str | None
    mode: int

    @property
    def action(self) -> Action:
        """What is done to the file."""
        if self.before == self.after:
            return "keep"
        if self.before is None:
            return "create"
        return "delete" if self.after is None else "change"

    def diff(self) -> str:
        """Return the difference, without lines around it: they are somebody else's, and may hold keys."""
        lines = difflib.unified_diff(
            (self.before or "").splitlines(),
            (self.after or "").splitlines(),
            str(self.path),
            str(self.path),
            lineterm="",
            n=0,
        )
        return "\n".join(lines)


def plan(path: Path, edit: Callable[[dict[str, Any]], dict[str, Any]], *, mode: int = SHARED) -> FileChange:
    """Return what an edit makes of a file of JSON; nothing is written.

    Indentation and line ends stay as they are; a document that becomes empty means that the file goes.

    Args:
        path: The file, which need not be there.
        edit: Returns the new document; a missing file is an empty one.
        mode: For a file that is not there yet.

    Raises:
        SettingsError: The file cannot be read, is not a JSON object, or holds what would be lost; or the edit does
            not know what to do with it.
    """
    before = _read(path)
    document = {} if before is None else _parse(path, before)
    try:
        edited = edit(document)
    except SettingsError as error:
        raise SettingsError(f"{path}: {error}: nothing was written") from None
    if edited == document:
        return FileChange(path=path, before=before, after=before, mode=mode)
    return FileChange(path=path, before=before, after=_render(edited, before) if edited else None, mode=mode)


def apply(changes: Sequence[FileChange]) -> None:
    """Write the changes: all of them, or, where one fails, none.

    Raises:
        SettingsError: A file is no longer what it was when the changes were planned.
        StorageUnavailableError: A file cannot be written.
    """
    for change in changes:
        if _read(change.path) != change.before:
            raise SettingsError(f"{change.path}: was changed by somebody else meanwhile: try again")
    done: list[FileChange] = []
    try:
        for change in changes:
            if change.action != "keep":
                _put(change.path, change.after, change.mode)
                done.append(change)
    except OSError as error:
        for change in reversed(done):
            with suppress(OSError):
                _put(change.path, change.before, change.mode)
        raise StorageUnavailableError(f"{error.filename}: {error.strerror}: nothing was changed") from error


def _read(path: Path) -> str | None:
    try:
        return path.read_bytes().decode()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: cannot be read: {error}: nothing was written") from None


def _parse(path: Path, text: str) -> dict[str, Any]:
    try:
        document: object = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise SettingsError(
            f"{path}: expected JSON without comments, got {error}: nothing was written"
        ) from None
    if not isinstance(document, dict):
        raise SettingsError(f"{path}: expected a JSON object, got {text[:40]!r}: nothing was written")
    return cast("dict[str, Any]", document)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} twice")
    return document


def _refuse(word: str) -> None:
    raise ValueError(f"{word}, which is no JSON")


def _render(document: dict[str, Any], before: str | None) -> str:
    """Write a document as the file had it: indentation, line ends, and the end of the last line."""
    if before is None:
        return json.dumps(document, ensure_ascii=False, indent=2) + "\n"
    found = _INDENT.match(before)
    text = json.dumps(document, ensure_ascii=False, indent=found[1] if found else 2)
    end = before[len(before.rstrip()) :]
    return (text.replace("\n", "\r\n") if "\r\n" in before else text) + end


def _put(path: Path, text: str | None, mode: int) -> None:
    target = path.resolve()
    if text is None:
        target.unlink(missing_ok=True)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileNotFoundError):
        mode = target.stat().st_mode & 0o7777
    temporary = target.with_name(f".{target.name}.{uuid4().hex}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode())
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        temporary.replace(target)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
