"""Claude's memory tool, ``memory_20250818``, on knowledge memory: its files are documents, each edit a version.

A file is a document: its path is the folder, and the name is the same for all. See :mod:`.documents`. Directories exist
as long as a file lies in them. The answers are worded as Anthropic documents them, because Claude is trained on them.
"""

import posixpath
from collections.abc import Iterable
from typing import Final

from anthropic.lib.tools import BetaAsyncAbstractMemoryTool, ToolError
from anthropic.types.beta import (
    BetaMemoryTool20250818CreateCommand,
    BetaMemoryTool20250818DeleteCommand,
    BetaMemoryTool20250818InsertCommand,
    BetaMemoryTool20250818RenameCommand,
    BetaMemoryTool20250818StrReplaceCommand,
    BetaMemoryTool20250818ViewCommand,
)

from commonplace.adapters.documents import Documents
from commonplace.core.errors import CommonplaceError
from commonplace.knowledge import Fact, KnowledgeMemory

ROOT: Final = "/memories"
SCOPE: Final = "claude-memory"
FILE: Final = "file"
LEVELS: Final = 2
"""The depth to which a directory is listed."""
AROUND: Final = 2
"""The lines before and after an edit that the answer shows."""
NUMBER_WIDTH: Final = 6
BLANK: Final = "(blank file)"


class CommonplaceMemoryTool(BetaAsyncAbstractMemoryTool):
    """The memory tool; pass it in ``tools`` to ``client.beta.messages.tool_runner`` of an ``AsyncAnthropic``.

    Args:
        memory: An open memory; its tenant owns the files.
        scope: The scope of the files. Tools of different scopes share nothing.
    """

    def __init__(self, memory: KnowledgeMemory, *, scope: str = SCOPE) -> None:
        super().__init__()
        self._memory = memory
        self._documents = Documents(memory, scope=scope)

    async def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Return the lines of a file, or the files of a directory."""
        path = _confined(command.path)
        file = await self._documents.get(path, FILE)
        if file is None:
            return await self._view_directory(path)
        lines = _text(file).split("\n")
        first, last = 1, len(lines)
        if command.view_range and len(command.view_range) == 2:  # noqa: PLR2004 - the first line and the last
            first = max(1, command.view_range[0])
            last = len(lines) if command.view_range[1] == -1 else min(last, command.view_range[1])
        return f"Here's the content of {command.path} with line numbers:\n{_numbered(lines, first, last)}"

    async def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Create a file."""
        path = _confined(command.path)
        if path == ROOT or await self._within(path):
            raise ToolError(f"File {command.path} already exists")
        await self._write(path, command.file_text)
        return f"File created successfully at: {command.path}"

    async def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a text that occurs once in a file."""
        path, text = await self._read(command.path)
        lines = list(_lines_with(text, command.old_str)) if command.old_str else []
        if not lines:
            raise ToolError(
                f"No replacement was performed, old_str `{command.old_str}` did not appear verbatim in {command.path}."
            )
        if len(lines) > 1:
            raise ToolError(
                f"No replacement was performed. Multiple occurrences of old_str `{command.old_str}` in lines: "
                f"{', '.join(map(str, lines))}. Please ensure it is unique"
            )
        changed = text.replace(command.old_str, command.new_str or "")
        await self._write(path, changed)
        shown = _numbered(changed.split("\n"), lines[0] - AROUND, lines[0] + AROUND)
        return f"The memory file has been edited. Here is the snippet showing the change (with line numbers):\n{shown}"

    async def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Insert text after a line of a file."""
        path, text = await self._read(command.path)
        lines = text.removesuffix("\n").split("\n") if text else []
        if not 0 <= command.insert_line <= len(lines):
            raise ToolError(
                f"Invalid `insert_line` parameter: {command.insert_line}. "
                f"It should be within the range [0, {len(lines)}]."
            )
        lines.insert(command.insert_line, command.insert_text.rstrip("\n"))
        await self._write(path, "\n".join(lines).removesuffix("\n") + "\n")
        return f"The file {command.path} has been edited."

    async def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Delete a file, or a directory with its files; the audit trail keeps their versions."""
        path = _confined(command.path)
        if path == ROOT:
            raise ToolError(f"Cannot delete the {ROOT} directory itself")
        for file in await self._existing(path, command.path):
            await self._documents.delete(file)
        return f"Successfully deleted {command.path}"

    async def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Rename a file, or a directory with its files."""
        old, new = _confined(command.old_path), _confined(command.new_path)
        if old == ROOT:
            raise ToolError(f"Cannot rename the {ROOT} directory itself")
        files = await self._existing(old, command.old_path)
        if new == ROOT or await self._within(new):
            raise ToolError(f"The destination {command.new_path} already exists")
        if new.startswith(f"{old}/"):
            raise ToolError(f"Cannot move {command.old_path} into itself")
        for file in files:
            await self._write(new + file.subject.removeprefix(old), _text(file))
            await self._documents.delete(file)
        return f"Successfully renamed {command.old_path} to {command.new_path}"

    async def clear_all_memory(self) -> str:
        """Delete all files."""
        for file in await self._within(ROOT):
            await self._documents.delete(file)
        return "All memory cleared"

    async def versions(self, path: str) -> list[str]:
        """Return the texts of a file, the newest first."""
        file = await self._documents.get(_confined(path), FILE)
        return [] if file is None else [_text(each) for each in await self._documents.versions(file)]

    async def _read(self, shown: str) -> tuple[str, str]:
        """Return the path and the text of a file."""
        path = _confined(shown)
        file = await self._documents.get(path, FILE)
        if file is None:
            if path == ROOT or await self._within(path):
                raise ToolError(f"The path {shown} is not a file.")
            raise ToolError(f"The path {shown} does not exist. Please provide a valid path.")
        return path, _text(file)

    async def _write(self, path: str, text: str) -> None:
        # A fact has no whitespace at its ends, so the metadata keeps it.
        kept = text.strip()
        before, _, after = text.partition(kept) if kept else ("", "", text)
        metadata = {"before": before, "after": after, "is_blank": not kept}
        try:
            await self._documents.put(path, FILE, kept or BLANK, metadata=metadata)
        except CommonplaceError as error:
            raise ToolError(f"{path} was not stored: {error}") from error

    async def _within(self, path: str) -> list[Fact]:
        """Return the file of a path, or the files of a directory, by path."""
        files = await self._documents.list_documents(name=FILE)
        inside = [each for each in files if each.subject == path or each.subject.startswith(f"{path}/")]
        return sorted(inside, key=lambda each: each.subject)

    async def _existing(self, path: str, shown: str) -> list[Fact]:
        files = await self._within(path)
        if not files:
            raise ToolError(f"The path {shown} does not exist")
        return files

    async def _view_directory(self, path: str) -> str:
        files = await self._within(path)
        if not files and path != ROOT:
            raise ToolError(f"The path {path} does not exist. Please provide a valid path.")
        sizes: dict[str, int] = {path: 0}
        for file in files:
            parts = file.subject.removeprefix(f"{path}/").split("/")
            size = len(_text(file).encode())
            sizes[path] += size
            for depth in range(1, min(len(parts), LEVELS) + 1):
                name = f"{path}/{'/'.join(parts[:depth])}" + ("/" if depth < len(parts) else "")
                sizes[name] = sizes.get(name, 0) + size
        shown = [
            f"{_size(size)}\t{name}" for name, size in sizes.items() if "/." not in name.removeprefix(path)
        ]
        header = (
            f"Here're the files and directories up to {LEVELS} levels deep in {path}, excluding hidden items:"
        )
        return "\n".join([header, *shown])


def _confined(path: str) -> str:
    """Return a path in its plain form.

    Raises:
        ToolError: The path is not in the root directory.
    """
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise ToolError(f"Path must start with {ROOT}, got: {path}")
    plain = posixpath.normpath(path)
    if plain != ROOT and not plain.startswith(f"{ROOT}/"):
        raise ToolError(f"Path {path} would escape {ROOT} directory")
    return plain


def _text(file: Fact) -> str:
    content = "" if file.metadata["is_blank"] else file.content
    return f"{file.metadata['before']}{content}{file.metadata['after']}"


def _lines_with(text: str, part: str) -> Iterable[int]:
    """Yield the number of the line of each occurrence of a part, from 1."""
    start = text.find(part)
    while start != -1:
        yield text.count("\n", 0, start) + 1
        start = text.find(part, start + 1)


def _numbered(lines: list[str], first: int, last: int) -> str:
    first = max(1, first)
    return "\n".join(
        f"{number:>{NUMBER_WIDTH}}\t{line}" for number, line in enumerate(lines[first - 1 : last], first)
    )


def _size(size: int) -> str:
    """Return a number of bytes as `du -h` writes it."""
    amount, unit = float(size), "B"
    for unit in ("B", "K", "M", "G"):
        if amount < 1024 or unit == "G":  # noqa: PLR2004 - the next unit
            break
        amount /= 1024
    return f"{amount:.0f}{unit}" if amount == int(amount) else f"{amount:.1f}{unit}"
