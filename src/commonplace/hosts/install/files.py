"""Settings files of other programs: parsed strictly, shown as a diff, and written all or none."""

import difflib
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, cast

from commonplace.core.atomic_write import draft_of
from commonplace.core.errors import SettingsError, StorageUnavailableError
from commonplace.hosts.install.json_text import Keys, rewrite

Action = Literal["create", "change", "delete", "keep"]
SHARED: Final = 0o644


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """A planned change of a file.

    Attributes:
        path: The file; a symbolic link is followed.
        before: The current text; ``None`` if the file does not exist.
        after: The new text; ``None`` to delete the file.
        mode: The mode of a new file.
    """

    path: Path
    before: str | None
    after: str | None
    mode: int

    @property
    def action(self) -> Action:
        """The action on the file."""
        if self.before == self.after:
            return "keep"
        if self.before is None:
            return "create"
        return "delete" if self.after is None else "change"

    def diff(self) -> str:
        """Return the diff without context lines, because other settings may contain keys."""
        lines = difflib.unified_diff(
            (self.before or "").splitlines(),
            (self.after or "").splitlines(),
            str(self.path),
            str(self.path),
            lineterm="",
            n=0,
        )
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonFile:
    """The contents of a JSON file.

    Attributes:
        path: The file; a symbolic link is followed.
        text: The text; ``None`` if the file does not exist.
        document: The object in the file; empty if the file does not exist.
    """

    path: Path
    text: str | None
    document: dict[str, Any]

    @classmethod
    def read(cls, path: Path) -> "JsonFile":
        """Read a file, which may be missing.

        Raises:
            SettingsError: The file cannot be read, is not a JSON object, or holds values that a rewrite would lose.
        """
        text = read_text(path)
        return cls(path=path, text=text, document={} if text is None else _parse(path, text))

    def change(
        self,
        document: dict[str, Any],
        *,
        mode: int = SHARED,
        interiors: Mapping[Keys, str] | None = None,
        may_go: bool = False,
    ) -> FileChange:
        """Return the change to another document; unchanged parts keep every byte, and nothing is written.

        If ``may_go`` is set and the document is empty, the file is deleted. See :func:`rewrite` for ``interiors``.
        """
        if document == self.document:
            after = self.text
        elif may_go and not document:
            after = None
        elif self.text is None:
            after = json.dumps(document, ensure_ascii=False, indent=2) + "\n"
        else:
            after = rewrite(self.text, document, interiors=interiors or {})
        return FileChange(path=self.path, before=self.text, after=after, mode=mode)


def read_text(path: Path) -> str | None:
    """Return the text of a file; ``None`` if the file does not exist.

    Raises:
        SettingsError: The file cannot be read.
    """
    try:
        return path.read_bytes().decode()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: cannot be read: {error}: nothing was written") from None


def apply(changes: Sequence[FileChange]) -> None:
    """Write the changes: all of them, or none if one fails.

    Raises:
        SettingsError: A file has changed since the changes were planned.
        StorageUnavailableError: A file cannot be written.
    """
    for change in changes:
        if read_text(change.path) != change.before:
            raise SettingsError(f"{change.path}: changed in the meantime: try again")
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
    raise ValueError(f"{word}, which is not JSON")


def _put(path: Path, text: str | None, mode: int) -> None:
    target = path.resolve()
    if text is None:
        target.unlink(missing_ok=True)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileNotFoundError):
        mode = target.stat().st_mode & 0o7777
    with draft_of(target) as file:
        file.write(text.encode())
        os.fchmod(file.fileno(), mode)
