"""The memory file: ``<workspace>/.aegis/memory/memories.jsonl``.

Any number of threads and processes may use the file at once. A writer, and a reader of a changed file, hold a file
lock; an unchanged file is not read again. A write returns when it is on disk. This module and its imports load fast, so
that a tool server answers at once.

Source: WSP-01, WSP-02.3, WSP-04, WSP-06.1, WSP-07.1, WSP-11.
"""

import errno
import logging
import os
import stat
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from commonplace.core.errors import ConflictError, InvalidInputError, NotFoundError, StorageUnavailableError
from commonplace.workspace.model.memories import MAX_NUMBER, DamagedLine, Note, NoteDraft
from commonplace.workspace.model.receipts import DeleteReceipt, StoreReceipt
from commonplace.workspace.rules.entries import format_line
from commonplace.workspace.rules.lines import NOTHING, Contents, read_contents
from commonplace.workspace.rules.pair_lines import PairLine
from commonplace.workspace.rules.repetition import find_repeated
from commonplace.workspace.store import counter, durable, git, pairs
from commonplace.workspace.store.lock import LockFile

DEFAULT_MAX_TOTAL: Final = 500
DEFAULT_LOCK_TIMEOUT_S: Final = 10.0
_PROBLEMS_LOGGED: Final = 5
_CANNOT_MAKE_LOCK: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT})

_log = logging.getLogger(__name__)


class MemoryStore:
    """The memories of one workspace.

    Args:
        workspace: An existing directory. Nothing is created in it before the first store.
        max_total: Maximum number of memories, 1 or more; storing another one deletes the oldest.
        lock_timeout_s: How long to wait for another process.

    Raises:
        InvalidInputError: The workspace is not a directory.
    """

    def __init__(
        self,
        workspace: Path,
        *,
        max_total: int = DEFAULT_MAX_TOTAL,
        lock_timeout_s: float = DEFAULT_LOCK_TIMEOUT_S,
    ) -> None:
        if not workspace.is_dir():
            raise InvalidInputError("workspace", "an existing directory", str(workspace))
        self._workspace = workspace.resolve()
        self._max_total = max_total
        self._directory = self._workspace / ".aegis" / "memory"
        self._path = self._directory / "memories.jsonl"
        self._lock = LockFile(
            self._directory / "memories.lock", prepare=self._prepare_directory, timeout_s=lock_timeout_s
        )
        self._file = durable.AppendedFile(self._path)
        self._mark_path = self._directory / "memories.last-id"
        self._pairs_path = self._directory / pairs.FILE
        self._mutex = threading.Lock()
        self._contents = NOTHING
        self._appended: list[Note] = []
        self._signature: tuple[int, ...] | None = None
        self._size = 0
        self._mark = 0
        self._mark_is_current = False
        self._is_renumbered = False
        self._has_written = False
        self._reported: tuple[DamagedLine, ...] = ()

    @property
    def path(self) -> Path:
        """The path of the memory file, which may not exist yet."""
        return self._path

    def close(self) -> None:
        """Close the files; the next use opens them again."""
        with self._mutex:
            self._lock.close()
            self._file.close()

    def load(self) -> Contents:
        """Return the contents of the file; it is read again only if it changed.

        Raises:
            StorageUnavailableError: The file cannot be read, or is locked for too long.
        """
        with self._mutex, self._storage_errors("read"):
            try:
                signature = _signature(self._path.lstat())
            except (FileNotFoundError, NotADirectoryError):
                signature = None
            if signature is None or signature != self._signature:
                self._read()
            return self._gathered()

    def store(self, draft: NoteDraft, *, repeats: bool = True) -> StoreReceipt:
        """Append a memory under the next id; the memory is on disk when this method returns.

        If the store is full, the oldest memories are deleted in the same atomic step.

        Args:
            draft: The memory.
            repeats: Whether to append a memory that is there already. Otherwise that memory is returned, and nothing is
                written.

        Raises:
            StorageUnavailableError: The disk is full, the file cannot be written, or it is locked for too long;
                nothing was written.
        """
        try:
            with self._mutex, self._lock as lock:
                descriptor, status = self._file.open()
                self._refresh(descriptor, status, lock)
                known = None if repeats else find_repeated((*self._contents.memories, *self._appended), draft)
                if known is not None:
                    return StoreReceipt(memory=known, repeated=True)
                memory = self._number(draft)
                excess = len(self._contents.memories) + len(self._appended) + 1 - self._max_total
                pruned = self._gathered().memories[:excess] if excess > 0 else ()
                if pruned or self._is_renumbered:
                    self._rewrite(self._contents.without(pruned).plus(memory))
                else:
                    self._append(descriptor, memory)
                counter.note_mark(lock, memory.number)
        except OSError as error:
            raise self._unavailable("write", error) from error
        return StoreReceipt(memory=memory, pruned=pruned)

    def replace(self, old: Note, draft: NoteDraft) -> Note:
        """Delete a note and append another under the next id, in one atomic step; return the new note.

        Raises:
            NotFoundError: The old note is not there as it was.
            StorageUnavailableError: The disk is full, the file cannot be written, or it is locked for too long;
                the file stays as it was.
        """
        with self._mutex, self._storage_errors("write"), self._lock as lock:
            self._read_locked(lock)
            contents = self._gathered()
            if old not in contents.memories:
                raise NotFoundError("memory", old.id)
            new = self._number(draft)
            self._rewrite(contents.without((old,)).plus(new))
            counter.note_mark(lock, new.number)
        return new

    def delete(self, number: int) -> DeleteReceipt:
        """Delete the memory ``m-<number>``; all other lines keep every byte.

        Raises:
            NotFoundError: No memory has this id.
            StorageUnavailableError: The disk is full, the file cannot be written, or it is locked for too long;
                the file stays as it was.
        """
        with self._mutex, self._storage_errors("write"):
            if not os.path.lexists(self._path):
                raise NotFoundError("memory", f"m-{number}")
            with self._lock as lock:
                self._read_locked(lock)
                deleted = tuple(memory for memory in self._gathered().memories if memory.number == number)
                if not deleted:
                    raise NotFoundError("memory", f"m-{number}")
                remaining = self._contents.without(deleted)
                if remaining.highest < self._mark:
                    counter.keep_mark(lock, self._mark_path, self._mark)
                self._rewrite(remaining)
        return DeleteReceipt(deleted=deleted)

    def edit(self, number: int, text: str) -> Note:
        """Change the text of the memory ``m-<number>``; all other lines keep every byte.

        Raises:
            NotFoundError: No memory has this id.
            StorageUnavailableError: The disk is full, the file cannot be written, or it is locked for too long;
                the file stays as it was.
        """
        with self._mutex, self._storage_errors("write"):
            if not os.path.lexists(self._path):
                raise NotFoundError("memory", f"m-{number}")
            with self._lock as lock:
                self._read_locked(lock)
                held = [memory for memory in self._gathered().memories if memory.number == number]
                if not held:
                    raise NotFoundError("memory", f"m-{number}")
                edited = replace(held[0], text=text)
                self._rewrite(self._gathered().with_changed(held[0], edited))
        return edited

    def restore(self, memory: Note) -> Note:
        """Append a deleted memory under its former id.

        Raises:
            ConflictError: A memory has this id.
            StorageUnavailableError: The disk is full, the file cannot be written, or it is locked for too long;
                nothing was written.
        """
        with self._mutex, self._storage_errors("write"), self._lock as lock:
            descriptor, status = self._file.open()
            self._refresh(descriptor, status, lock)
            if any(each.number == memory.number for each in self._gathered().memories):
                raise ConflictError("id", f"The id {memory.id} belongs to another memory.", memory.id)
            self._rewrite(self._gathered().plus(memory))
        return memory

    def pairs(self) -> dict[tuple[str, str], PairLine]:
        """Return the state of each pair of notes that oppose each other, by the names of their texts.

        Raises:
            StorageUnavailableError: The file cannot be read.
        """
        with self._mutex, self._storage_errors("read", self._pairs_path):
            return pairs.read_pairs(self._pairs_path)

    def add_pairs(self, lines: Sequence[PairLine]) -> None:
        """Store states of pairs.

        Raises:
            StorageUnavailableError: The file cannot be written, or is locked for too long; nothing was written.
        """
        with self._mutex, self._storage_errors("write", self._pairs_path), self._lock:
            pairs.append_pairs(self._pairs_path, lines)

    def remove_pairs(self, goes: Callable[[PairLine], bool]) -> int:
        """Remove the states of some pairs, and return how many.

        Raises:
            StorageUnavailableError: The file cannot be written, or is locked for too long; it stays as it was.
        """
        if not os.path.lexists(self._pairs_path):
            return 0
        with self._mutex, self._storage_errors("write", self._pairs_path), self._lock:
            states = pairs.read_pairs(self._pairs_path).values()
            kept = [each for each in states if not goes(each)]
            if len(kept) < len(states):
                pairs.replace_pairs(self._pairs_path, kept)
        return len(states) - len(kept)

    def _number(self, draft: NoteDraft) -> Note:
        if self._mark >= MAX_NUMBER:
            raise StorageUnavailableError(f"{self._path} has used up its ids; the last id is m-{self._mark}")
        return draft.numbered(self._mark + 1)

    def _append(self, descriptor: int, memory: Note) -> None:
        line = format_line(memory)
        # An interrupted last line gets its newline first, so that it does not merge with this line.
        data = line if self._contents.terminated or self._appended else b"\n" + line
        if not self._has_written:
            durable.remove_leftover(self._path)
            durable.sync_directory(self._directory)
            self._has_written = True
        durable.append(descriptor, data, length=self._size)
        # The next read collects the new memory, because copying all memories would take longer than the append itself.
        self._appended.append(memory)
        self._note(os.fstat(descriptor))
        self._mark = memory.number

    def _rewrite(self, contents: Contents) -> None:
        mode = stat.S_IMODE(self._path.lstat().st_mode)
        durable.replace(self._path, contents.to_bytes(), mode=mode)
        self._has_written = True
        self._remember(contents, self._path.lstat())

    def _read(self) -> None:
        if not self._directory.is_dir():
            self._forget()
            return
        try:
            with self._lock as lock:
                self._read_locked(lock)
        except OSError as error:
            if error.errno not in _CANNOT_MAKE_LOCK:
                raise
            # The directory cannot be written, so there is no lock; reading works without it.
            self._read_locked(None)

    def _read_locked(self, lock: int | None) -> None:
        try:
            descriptor = durable.open_file(self._path, os.O_RDONLY)
        except FileNotFoundError:
            self._forget()
            return
        try:
            self._refresh(descriptor, os.fstat(descriptor), lock)
        finally:
            os.close(descriptor)

    def _refresh(self, descriptor: int, status: os.stat_result, lock: int | None) -> None:
        if not stat.S_ISREG(status.st_mode):
            raise StorageUnavailableError(f"{self._path} is not a regular file: move it away")
        changed = _signature(status) != self._signature
        self._mark_is_current = self._mark_is_current and not changed
        if lock is not None and not self._mark_is_current:
            # Another process may have used ids that are no longer in the file.
            self._mark = max(self._mark, counter.read_mark(lock, self._mark_path))
            self._mark_is_current = True
        if changed:
            read = read_contents(_read_all(descriptor, status.st_size))
            contents = read.told_apart(self._mark)
            self._remember(contents, status)
            self._is_renumbered = contents is not read
            self._report()

    def _remember(self, contents: Contents, status: os.stat_result) -> None:
        self._contents, self._appended, self._is_renumbered = contents, [], False
        self._note(status)
        self._mark = max(self._mark, contents.highest)

    def _note(self, status: os.stat_result) -> None:
        self._signature = _signature(status)
        self._size = status.st_size

    def _gathered(self) -> Contents:
        if self._appended:
            self._contents, self._appended = self._contents.plus(*self._appended), []
        return self._contents

    def _forget(self) -> None:
        self._contents, self._appended, self._signature = NOTHING, [], None

    def _report(self) -> None:
        problems = self._contents.problems
        if problems and problems != self._reported:
            shown = "; ".join(
                f"line {problem.line}: {problem.reason}" for problem in problems[:_PROBLEMS_LOGGED]
            )
            more = len(problems) - _PROBLEMS_LOGGED
            rest = f"; and {more} more" if more > 0 else ""
            _log.warning("%s: damaged lines are kept as they are: %s%s", self._path, shown, rest)
        self._reported = problems

    def _prepare_directory(self) -> None:
        """Create the directory of the memory file if necessary, but never outside the workspace."""
        if not self._directory.is_dir():
            parent = durable.make_directory(self._workspace, ".aegis")
            self._require_inside(parent)
            git.write_files(durable.make_directory(parent, "memory"))
        self._require_inside(self._directory)

    def _require_inside(self, directory: Path) -> None:
        """Raise an error if a symbolic link leads out of the workspace."""
        real = directory.resolve()
        if not real.is_relative_to(self._workspace):
            raise StorageUnavailableError(
                f"{directory} is a link out of the workspace, to {real}: remove the link"
            )

    @contextmanager
    def _storage_errors(self, action: str, path: Path | None = None) -> Generator[None]:
        try:
            yield
        except OSError as error:
            raise self._unavailable(action, error, path) from error

    def _unavailable(self, action: str, error: OSError, path: Path | None = None) -> StorageUnavailableError:
        reason = "it is a symbolic link" if error.errno == errno.ELOOP else error.strerror
        return StorageUnavailableError(f"cannot {action} {path or self._path}: {reason}")


def _signature(status: os.stat_result) -> tuple[int, ...]:
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _read_all(descriptor: int, size: int) -> bytes:
    pieces: list[bytes] = []
    os.lseek(descriptor, 0, os.SEEK_SET)
    while piece := os.read(descriptor, size + 1):
        pieces.append(piece)
    return b"".join(pieces)
