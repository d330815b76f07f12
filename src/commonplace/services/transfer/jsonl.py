"""JSON Lines: one item per line, in UTF-8."""

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from commonplace.core.errors import InvalidInputError
from commonplace.services.transfer.items import (
    ExportedItem,
    Read,
    Unreadable,
    exported_json,
    from_json,
)


def lines(items: Iterable[ExportedItem]) -> Iterator[str]:
    """Yield the line of each item, without a newline."""
    for item in items:
        yield json.dumps(exported_json(item), ensure_ascii=False)


def read(path: Path) -> Read:
    """Yield the items of a file."""
    return read_lines(path, lambda document, _: iter([from_json(document)]))


def read_lines(path: Path, items_of: Callable[[object, str], Read]) -> Read:
    """Yield the items of each line, or the reason why the line cannot be read.

    ``items_of`` takes a JSON value and its place in reports, and may raise ``InvalidInputError``.

    Raises:
        InvalidInputError: The file cannot be read.
    """
    for number, line in enumerate(read_content(path).split(b"\n"), start=1):
        place = f"line {number}"
        if line.strip():
            try:
                yield from list(items_of(parse(line), place))
            except InvalidInputError as error:
                yield Unreadable(place=place, reason=str(error))
            except (ValueError, RecursionError) as error:
                yield Unreadable(place=place, reason=f"expected JSON in UTF-8: {error}")


def read_document(path: Path) -> object:
    """Return the JSON value that a file holds.

    Raises:
        InvalidInputError: The file cannot be read, or does not hold one JSON value in UTF-8.
    """
    content = read_content(path)
    try:
        return parse(content)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError("file", "JSON in UTF-8", str(error)) from None


def read_content(path: Path) -> bytes:
    """Return the content of a file.

    Raises:
        InvalidInputError: The file cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidInputError("file", "a file that can be read", error.strerror or str(error)) from None


def parse(content: bytes) -> object:
    """Return a JSON value in UTF-8, with or without a byte order mark.

    Raises:
        ValueError: The content is no such value.
        RecursionError: The value is nested too deeply.
    """
    return json.loads(content.decode("utf-8-sig"))
