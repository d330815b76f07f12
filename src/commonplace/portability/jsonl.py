"""JSON Lines: one item a line, UTF-8."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from commonplace.core.errors import InvalidInputError
from commonplace.portability.items import Item, from_json, to_json


def lines(items: Iterable[Item]) -> Iterator[str]:
    """Yield the line of each item, without its end."""
    for item in items:
        yield json.dumps(to_json(item), ensure_ascii=False)


def read(path: Path) -> Iterator[Item]:
    """Yield the items of a file.

    Raises:
        InvalidInputError: A line is not an item; the message has its number.
    """
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), start=1):
        if line.strip():
            try:
                yield from_json(json.loads(line))
            except (ValueError, RecursionError) as error:
                raise InvalidInputError(f"{path}, line {number}", "an item in JSON", str(error)) from None
