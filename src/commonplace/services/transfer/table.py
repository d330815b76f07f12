"""A table in CSV: one row for each item of any kind, for spreadsheets.

The column ``kind`` comes first, then every field of any kind. Lists and objects are JSON. A text that a spreadsheet
would run as a formula begins with an apostrophe, which an import removes.
"""

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Final, TextIO

from commonplace.core.errors import InvalidInputError
from commonplace.services.transfer.items import (
    KINDS,
    TEXT_FIELD,
    ExportedItem,
    Read,
    Unreadable,
    exported_json,
    from_json,
)

_MOST_CHARS: Final = 16_000_000
"""The limit of a cell; the library's own limit is below the longest memory."""
_FORMULA: Final = re.compile(r"'*[=+\-@\t\r]")
_FIRST: Final = ("kind", *dict.fromkeys(TEXT_FIELD.values()))
_JSON: Final = frozenset({"importance", "confidence", "tags", "aliases", "metadata", "past", "record"})
"""The columns whose cells are JSON; the others are text."""
COLUMNS: Final = tuple(
    dict.fromkeys((*_FIRST, *(each.name for cls in KINDS.values() for each in fields(cls)), "past", "record"))
)
"""The kind, the texts, the other fields, and what an import does not store."""


def write(items: Iterable[ExportedItem], file: TextIO) -> None:
    """Write a table with a head."""
    writer = csv.DictWriter(file, COLUMNS)
    writer.writeheader()
    for item in items:
        writer.writerow({name: _cell(value) for name, value in exported_json(item).items()})


def read(path: Path) -> Read:
    """Yield the items of a file."""
    csv.field_size_limit(_MOST_CHARS)
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        yield Unreadable(place=path.name, reason=f"expected text in UTF-8: {error}")
        return
    rows = csv.DictReader(io.StringIO(text, newline=""))
    if "kind" not in (rows.fieldnames or ()):
        yield Unreadable(place="line 1", reason="expected the names of columns, one of them kind")
        return
    yield from _items(rows)


def _items(rows: "csv.DictReader[str]") -> Read:
    while True:
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            yield Unreadable(place=f"line {rows.line_num}", reason=f"expected CSV: {error}")
            return
        try:
            yield from_json(dict(_values(row)))
        except InvalidInputError as error:
            yield Unreadable(place=f"line {rows.line_num}", reason=str(error))


def _cell(value: object) -> str:
    if isinstance(value, str):
        return f"'{value}" if _FORMULA.match(value) else value
    return json.dumps(value, ensure_ascii=False)


def _values(row: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the fields of a row that has a value; a cell of a field that is no text is JSON."""
    for name, cell in row.items():
        if not isinstance(cell, str) or not cell:
            continue
        yield name, _of_json(cell) if name in _JSON else _unescaped(cell)


def _of_json(cell: str) -> object:
    """Return the value of a cell; a spreadsheet may have written ``TRUE``."""
    try:
        return json.loads(cell.lower() if cell.lower() in {"true", "false"} else cell)
    except ValueError:
        return cell


def _unescaped(cell: str) -> str:
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell
