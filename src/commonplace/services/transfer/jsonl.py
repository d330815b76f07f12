"""JSON Lines: one item per line, in UTF-8."""

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from commonplace.core.errors import InvalidInputError
from commonplace.services.transfer.items import (
    ExportedItem,
    Item,
    PastItem,
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
    return read_lines(path, lambda document: iter([from_json(document)]))


def read_lines(path: Path, items_of: Callable[[object], Iterator[Item | PastItem]]) -> Read:
    """Yield the items of each line, or the reason why the line cannot be read.

    ``items_of`` returns the items of a JSON value, and may raise ``InvalidInputError``.
    """
    for number, line in enumerate(path.read_bytes().split(b"\n"), start=1):
        if line.strip():
            try:
                yield from list(items_of(json.loads(line.decode("utf-8-sig"))))
            except InvalidInputError as error:
                yield Unreadable(place=f"line {number}", reason=str(error))
            except (ValueError, RecursionError) as error:
                yield Unreadable(place=f"line {number}", reason=f"expected JSON in UTF-8: {error}")
