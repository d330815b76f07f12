"""Importers: each one reads the memories of one program from a path and yields items, without writing anything.

A part that cannot be read is yielded as ``Unreadable``, so the other items are imported.

To add an importer, write a file with such a function and add it to ``ImportSource`` and ``IMPORTERS``.
"""

from collections.abc import Callable, Mapping
from datetime import tzinfo
from enum import StrEnum
from pathlib import Path
from typing import Final

from commonplace.core.clock import Clock, utc_now
from commonplace.core.errors import InvalidInputError, StorageUnavailableError
from commonplace.services.transfer import jsonl, markdown, table
from commonplace.services.transfer.importers import (
    basic_memory,
    claude_mem,
    claude_memory,
    codex_memory,
    conversations,
    instructions,
    mcp_memory,
    mem0,
    vector_stores,
)
from commonplace.services.transfer.importers.sqlite_files import opened, tables_of
from commonplace.services.transfer.items import Read
from commonplace.services.transfer.naming import with_distinct_keys
from commonplace.services.transfer.said import with_said_dates


class ImportSource(StrEnum):
    """The program or format that items come from."""

    JSONL = "jsonl"
    CSV = "csv"
    MARKDOWN = "markdown"
    INSTRUCTIONS = "instructions"
    MCP_MEMORY = "mcp-memory"
    BASIC_MEMORY = "basic-memory"
    CLAUDE_MEMORY = "claude-memory"
    CODEX_MEMORY = "codex-memory"
    CLAUDE_MEM = "claude-mem"
    MEM0 = "mem0"
    CONVERSATIONS = "conversations"


def _with_distinct_keys(read: Callable[[Path], Read]) -> Callable[[Path], Read]:
    return lambda path: with_distinct_keys(read(path))


IMPORTERS: Final[Mapping[ImportSource, Callable[[Path], Read]]] = {
    ImportSource.JSONL: jsonl.read,
    ImportSource.CSV: table.read,
    ImportSource.MARKDOWN: markdown.read,
    ImportSource.INSTRUCTIONS: instructions.read,
    ImportSource.MCP_MEMORY: _with_distinct_keys(mcp_memory.read),
    ImportSource.BASIC_MEMORY: _with_distinct_keys(basic_memory.read),
    ImportSource.CLAUDE_MEMORY: _with_distinct_keys(claude_memory.read),
    ImportSource.CODEX_MEMORY: _with_distinct_keys(codex_memory.read),
    ImportSource.CLAUDE_MEM: _with_distinct_keys(claude_mem.read),
    ImportSource.MEM0: _with_distinct_keys(mem0.read),
    ImportSource.CONVERSATIONS: conversations.read,
}
"""The importer of each source."""

_DATED: Final = frozenset(
    {
        ImportSource.MCP_MEMORY,
        ImportSource.BASIC_MEMORY,
        ImportSource.CLAUDE_MEMORY,
        ImportSource.CODEX_MEMORY,
        ImportSource.CLAUDE_MEM,
        ImportSource.MEM0,
    }
)
"""The programs that write when a fact was said."""

_BY_SUFFIX: Final = {
    ".csv": ImportSource.CSV,
    ".md": ImportSource.INSTRUCTIONS,
    ".mdc": ImportSource.INSTRUCTIONS,
}
_BY_NAME: Final = {"conversations": ImportSource.CONVERSATIONS, "memory": ImportSource.MCP_MEMORY}
"""The sources of documents in JSON that show no shape, by the beginning of their name."""
_DATABASES: Final = frozenset({".db", ".sqlite", ".sqlite3"})


def read_source(source: ImportSource, path: Path, zone: tzinfo, clock: Clock = utc_now) -> Read:
    """Yield the items of a source; texts of other programs get the dates of words such as "tomorrow" in ``zone``.

    The texts of an export are kept as they are: they have the dates already, or nobody knows when they were said.

    Raises:
        InvalidInputError: The path is no such source.
        StorageUnavailableError: A file cannot be read.
    """
    try:
        items = IMPORTERS[source](path)
        yield from with_said_dates(items, zone, clock()) if source in _DATED else items
    except OSError as error:
        raise StorageUnavailableError(f"{path}: {error.strerror or error}") from error


def source_of(path: Path, given: ImportSource | None = None) -> ImportSource:
    """Return the source of a path: the given source, else the one detected from the contents.

    Raises:
        StorageUnavailableError: The path does not exist, or cannot be read.
        InvalidInputError: No importer can read the path.
    """
    try:
        if not path.exists():
            raise StorageUnavailableError(f"{path}: no such file or folder")
        source = given or (_kind_of_folder(path) if path.is_dir() else _kind_of_file(path))
    except OSError as error:
        raise StorageUnavailableError(f"{path}: {error.strerror or error}") from error
    if source is None:
        names = ", ".join(ImportSource)
        raise InvalidInputError(
            "source", f"a file or folder of {names}, or --from with one of these", str(path)
        )
    return source


def _kind_of_folder(path: Path) -> ImportSource:
    shapes: tuple[tuple[ImportSource, Callable[[Path], object]], ...] = (
        (ImportSource.MEM0, vector_stores.databases_of),
        (ImportSource.CONVERSATIONS, conversations.files_of),
        (ImportSource.CODEX_MEMORY, codex_memory.is_memory_folder),
        (ImportSource.CLAUDE_MEMORY, claude_memory.is_memory_folder),
        (ImportSource.MARKDOWN, markdown.has_items),
        (ImportSource.BASIC_MEMORY, basic_memory.is_vault),
        (ImportSource.INSTRUCTIONS, instructions.files_of),
        (ImportSource.MARKDOWN, markdown.has_folders),
    )
    return next((source for source, fits in shapes if fits(path)), ImportSource.BASIC_MEMORY)


def _kind_of_file(path: Path) -> ImportSource | None:
    suffix = path.suffix.lower()
    if not path.is_file():
        return None
    if suffix == ".jsonl":
        return _kind_of_lines(path)
    if suffix == ".json":
        return _kind_of_document(path)
    if suffix in _DATABASES:
        return _kind_of_database(path)
    if suffix == ".md" and claude_memory.is_memory(path):
        return ImportSource.CLAUDE_MEMORY
    return _BY_SUFFIX.get(suffix)


def _kind_of_database(path: Path) -> ImportSource:
    try:
        with opened(path, "a database") as connection:
            is_claude_mem = not claude_mem.TABLES.isdisjoint(tables_of(connection))
    except InvalidInputError:
        return ImportSource.MEM0
    return ImportSource.CLAUDE_MEM if is_claude_mem else ImportSource.MEM0


def _kind_of_lines(path: Path) -> ImportSource:
    with path.open("rb") as file:
        first = file.readline()
    try:
        document = jsonl.parse(first)
    except (ValueError, RecursionError):
        return ImportSource.JSONL
    return (
        ImportSource.MCP_MEMORY if isinstance(document, dict) and "type" in document else ImportSource.JSONL
    )


def _kind_of_document(path: Path) -> ImportSource | None:
    """Return the source of a file in JSON by the shape of the document, else by its name; it may be lines as well."""
    try:
        document = jsonl.read_document(path)
    except InvalidInputError:
        lines = _kind_of_lines(path)
        document = None
        if lines is ImportSource.MCP_MEMORY:
            return lines
    if conversations.is_export(document):
        return ImportSource.CONVERSATIONS
    if mcp_memory.is_graph(document):
        return ImportSource.MCP_MEMORY
    if mem0.is_export(document):
        return ImportSource.MEM0
    return next((source for name, source in _BY_NAME.items() if path.name.lower().startswith(name)), None)
