"""Importers: each reads the memories of one program from a path and yields items; nothing is written.

To add one, write a file with a function like these and name it in ``Source`` and ``IMPORTERS``.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Final

from commonplace.core.errors import InvalidInputError
from commonplace.portability import jsonl, markdown
from commonplace.portability.importers import basic_memory, instructions, mcp_memory, mem0
from commonplace.portability.items import Item


class Source(StrEnum):
    """Where items are from."""

    JSONL = "jsonl"
    MARKDOWN = "markdown"
    INSTRUCTIONS = "instructions"
    MCP_MEMORY = "mcp-memory"
    BASIC_MEMORY = "basic-memory"
    MEM0 = "mem0"


IMPORTERS: Final[Mapping[Source, Callable[[Path], Iterator[Item]]]] = {
    Source.JSONL: jsonl.read,
    Source.MARKDOWN: markdown.read,
    Source.INSTRUCTIONS: instructions.read,
    Source.MCP_MEMORY: mcp_memory.read,
    Source.BASIC_MEMORY: basic_memory.read,
    Source.MEM0: mem0.read,
}
"""The importer of each source."""

_DATABASES: Final = frozenset({".db", ".sqlite", ".sqlite3"})


def source_of(path: Path) -> Source:
    """Return the source of a path, judged by its contents.

    Raises:
        InvalidInputError: The path does not exist, or no importer fits.
    """
    if path.is_dir():
        has_folders = any((path / folder).is_dir() for folder in markdown.FOLDERS.values())
        return Source.MARKDOWN if has_folders else Source.BASIC_MEMORY
    if path.suffix == ".jsonl" and path.is_file():
        return _kind_of_lines(path)
    if path.suffix in _DATABASES and path.is_file():
        return Source.MEM0
    if path.suffix == ".md" and path.is_file():
        return Source.INSTRUCTIONS
    names = ", ".join(Source)
    raise InvalidInputError("source", f"a file or folder of {names}, or --from with one of these", str(path))


def _kind_of_lines(path: Path) -> Source:
    with path.open(encoding="utf-8") as file:
        first = file.readline()
    try:
        document: object = json.loads(first)
    except ValueError:
        return Source.JSONL
    return Source.MCP_MEMORY if isinstance(document, dict) and "type" in document else Source.JSONL
