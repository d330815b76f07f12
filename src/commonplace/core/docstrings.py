"""Docstrings as documentation: the description of an object, and of its parameters or fields."""

import inspect
import re
from typing import Final

_SECTION: Final = re.compile(r"^(?:Attributes|Parameters):\n((?:(?: {4}.*)?(?:\n|$))+)", re.MULTILINE)
_ENTRY: Final = re.compile(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", re.MULTILINE)


def documented(thing: object) -> tuple[str, dict[str, str]]:
    """Return the docstring of an object and the descriptions in its section ``Parameters:`` or ``Attributes:``.

    Returns:
        The docstring without the section, and the descriptions by name, each in one line.
    """
    doc = inspect.getdoc(thing) or ""
    section = _SECTION.search(doc)
    if section is None:
        return doc, {}
    entries = {name: " ".join(text.split()) for name, text in _ENTRY.findall(section[1])}
    return (doc[: section.start()] + doc[section.end() :]).strip(), entries
