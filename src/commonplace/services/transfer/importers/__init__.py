"""Importers: each one reads the memories of one program from a path and yields items, without writing anything.

A part that cannot be read is yielded as ``Unreadable``, so the other items are imported.

To add an importer, write a file with such a function and add it to ``ImportSource`` and ``IMPORTERS``.
"""

import json
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from datetime import tzinfo
from enum import StrEnum
from pathlib import Path
from typing import Final

from commonplace.core.errors import InvalidInputError, StorageUnavailableError
from commonplace.services.transfer import jsonl, markdown, table
from commonplace.services.transfer.importers import (
    basic_memory,
    claude_mem,
    instructions,
    mcp_memory,
    mem0,
    vector_stores,
)
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
    CLAUDE_MEM = "claude-mem"
    MEM0 = "mem0"


def _with_distinct_keys(read: Callable[[Path], Read]) -> Callable[[Path], Read]:
    return lambda path: with_distinct_keys(read(path))


IMPORTERS: Final[Mapping[ImportSource, Callable[[Path], Read]]] = {
    ImportSource.JSONL: jsonl.read,
    ImportSource.CSV: table.read,
    ImportSource.MARKDOWN: markdown.read,
    ImportSource.INSTRUCTIONS: instructions.read,
    ImportSource.MCP_MEMORY: _with_distinct_keys(mcp_memory.read),
    ImportSource.BASIC_MEMORY: _with_distinct_keys(basic_memory.read),
    ImportSource.CLAUDE_MEM: _with_distinct_keys(claude_mem.read),
    ImportSource.MEM0: _with_distinct_keys(mem0.read),
}
"""The importer of each source."""

_OTHER_PROGRAMS: Final = frozenset(
    {ImportSource.MCP_MEMORY, ImportSource.BASIC_MEMORY, ImportSource.CLAUDE_MEM, ImportSource.MEM0}
)

_HAS_OBSERVATIONS: Final = "SELECT 1 FROM sqlite_master WHERE name = 'observations'"
_BY_SUFFIX: Final = {".csv": ImportSource.CSV, ".md": ImportSource.INSTRUCTIONS}
_DATABASES: Final = frozenset({".db", ".sqlite", ".sqlite3"})


def read_source(source: ImportSource, path: Path, zone: tzinfo) -> Read:
    """Yield the items of a source; facts of other programs get the dates of words such as "tomorrow" in ``zone``.

    The texts of an export are kept as they are: they have the dates already, or nobody knows when they were said.
    """
    items = IMPORTERS[source](path)
    return with_said_dates(items, zone) if source in _OTHER_PROGRAMS else items


def source_of(path: Path, given: ImportSource | None = None) -> ImportSource:
    """Return the source of a path: the given source, else the one detected from the contents.

    Raises:
        StorageUnavailableError: The path does not exist.
        InvalidInputError: No importer can read the path.
    """
    if not path.exists():
        raise StorageUnavailableError(f"{path}: no such file or folder")
    if given is not None:
        return given
    if path.is_dir():
        if vector_stores.databases_of(path):
            return ImportSource.MEM0
        has_folders = any((path / folder).is_dir() for folder in markdown.FOLDERS.values())
        return ImportSource.MARKDOWN if has_folders else ImportSource.BASIC_MEMORY
    if path.suffix == ".jsonl" and path.is_file():
        return _kind_of_lines(path)
    if path.suffix in _DATABASES and path.is_file():
        return _kind_of_database(path)
    if path.suffix.lower() in _BY_SUFFIX and path.is_file():
        return _BY_SUFFIX[path.suffix.lower()]
    names = ", ".join(ImportSource)
    raise InvalidInputError("source", f"a file or folder of {names}, or --from with one of these", str(path))


def _kind_of_database(path: Path) -> ImportSource:
    with (
        closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection,
        suppress(sqlite3.Error),
    ):
        if connection.execute(_HAS_OBSERVATIONS).fetchone():
            return ImportSource.CLAUDE_MEM
    return ImportSource.MEM0


def _kind_of_lines(path: Path) -> ImportSource:
    with path.open("rb") as file:
        first = file.readline()
    try:
        document: object = json.loads(first)
    except ValueError:
        return ImportSource.JSONL
    return (
        ImportSource.MCP_MEMORY if isinstance(document, dict) and "type" in document else ImportSource.JSONL
    )
