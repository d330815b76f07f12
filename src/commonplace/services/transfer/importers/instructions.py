"""Instructions for agents in Markdown: ``CLAUDE.md``, ``AGENTS.md`` and the like.

Each list item and each paragraph becomes a rule, with the code block that follows it. The headings above it become its
tags. Headings, comments and lines that include other files (``@path``) are skipped.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from commonplace.knowledge import RuleDraft
from commonplace.services.transfer.items import Item
from commonplace.services.transfer.markdown import split

MAX_TAG_CHARS: Final = 100
_HEADING: Final = re.compile(r"^(#{1,6})\s+(.*?)\s*#*$")
_LIST_ITEM: Final = re.compile(r"^(?:[-*+]|\d+[.)])\s+(.*)$")
_FENCE: Final = re.compile(r"^\s*(```|~~~)")
_COMMENT: Final = re.compile(r"<!--.*?-->", re.DOTALL)


def read(path: Path) -> Iterator[Item]:
    """Yield the rules of a file."""
    _, text = split(path)
    for headings, content in _blocks(_COMMENT.sub("", text).splitlines()):
        if not content.startswith("@"):
            tags = dict.fromkeys([path.name, *headings])
            yield RuleDraft(content=content, tags=tuple(tag[:MAX_TAG_CHARS] for tag in tags))


def _blocks(lines: list[str]) -> Iterator[tuple[list[str], str]]:
    """Yield each list item and paragraph with the headings above it.

    A line that ends with a colon belongs to the code block or to each item of the list that follows.
    """
    headings: list[str] = []
    block: list[str] = []
    lead, in_code = "", False
    for line in [*lines, "# end"]:
        heading = None if in_code else _HEADING.match(line)
        item = None if in_code else _LIST_ITEM.match(line)
        is_over = heading is not None or item is not None
        if not (in_code or line.strip() or _announces(block)):
            is_over = True
        if item is not None and _announces(block):
            lead, is_over = " ".join([*block, ""]), False
            block.clear()
        if is_over and block:
            yield [each for each in headings if each], "\n".join(block)
            block.clear()
        if heading is not None:
            level = len(heading[1]) - 1
            headings, lead = [*headings[:level], *[""] * (level - len(headings)), heading[2]], ""
        elif item is not None:
            block.append(f"{lead}{item[1]}")
        elif in_code or line.strip():
            lead = lead if block else ""
            block.append(line.rstrip())
        if _FENCE.match(line):
            in_code = not in_code


def _announces(block: list[str]) -> bool:
    return bool(block) and block[-1].endswith(":")
