"""List items and paragraphs of Markdown, each with the headings above it. Pure.

What says nothing by itself is left out: tasks, struck-out text, tables, comments, rules between sections, and lines
that are only a tag.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_HEADING: Final = re.compile(r"^ {0,3}(#{1,6})\s+(\S.*)$")
_LIST_ITEM: Final = re.compile(r"^(\s*)(?:[-*+]|\d{1,9}[.)])\s+(.*)$")
_EMPTY_ITEM: Final = re.compile(r"^\s*(?:[-*+]|\d{1,9}[.)])\s*$")
_TASK: Final = re.compile(r"^(\s*)(?:[-*+]|\d{1,9}[.)])\s+\[[^\]]\](?:\s|$)")
_FENCE: Final = re.compile(r"^\s*(?:(?P<ticks>`{3,})[^`]*|(?P<tildes>~{3,}).*)$")
_QUOTE: Final = re.compile(r"^ {0,3}>[ ]?")
_STRUCK: Final = re.compile(r" ?~~(?:(?!~~|\n[ \t]*\n).)+~~", re.DOTALL)
_TAG_ALONE: Final = re.compile(r"^\s*</?[A-Za-z][\w:-]*(?:\s[^<>]*)?/?>\s*$")
_CALLOUT: Final = re.compile(r"^\s*\[![\w-]+\][+-]?")
_TABLE_HEAD: Final = re.compile(r"\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)+\|?|\|\s*:?-+:?\s*\|")
_UNDERLINE: Final = re.compile(r"^ {0,3}(={2,}|-{2,})\s*$")
_RULE: Final = re.compile(r"^ {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$")
_CODE_SPAN: Final = re.compile(r"`[^`\n]*`")


@dataclass(frozen=True, slots=True)
class Block:
    """A list item or paragraph, with the code block that follows it.

    Attributes:
        headings: The headings above it, the highest level first.
        text: The text, without the mark of the list.
        prose: The text without code.
    """

    headings: tuple[str, ...]
    text: str
    prose: str


@dataclass(frozen=True, slots=True)
class _Line:
    text: str
    is_code: bool = False

    @property
    def is_blank(self) -> bool:
        return not self.is_code and not self.text.strip()

    @property
    def indent(self) -> int:
        return len(self.text) - len(self.text.lstrip())


def blocks(text: str) -> Iterator[Block]:
    """Yield the list items and paragraphs of a text in order.

    A line that ends with a colon belongs to the code block or to each item of the list that follows. Items of an inner
    list belong to the outer item.
    """
    lines = _without_struck(_lines(_without_comments(text)))
    lines = _without_tables(_without_tasks([_plain(line) for line in lines]))
    yield from _blocks(_with_underlined_headings(lines))


def heading_of(line: str) -> tuple[int, str] | None:
    """Return the level, 1 to 6, and the text of a heading; ``None`` for any other line."""
    found = _HEADING.match(line)
    if found is None:
        return None
    text = found[2].rstrip()
    opened = text.rstrip("#")
    return len(found[1]), opened.rstrip() if opened.endswith((" ", "\t")) else text


def _without_comments(text: str) -> str:
    kept: list[str] = []
    while (start := text.find("<!--")) >= 0 and (end := text.find("-->", start)) >= 0:
        kept.append(text[:start])
        text = text[end + len("-->") :]
    return "".join([*kept, text])


def _lines(text: str) -> list[_Line]:
    """Return lines without the marks of quotes; lines of code and their fences are code."""
    lines: list[_Line] = []
    fence, is_quoted = "", False
    for raw in text.split("\n"):
        line = _unquoted(raw) if not fence or is_quoted else raw
        found = _FENCE.match(line)
        mark = (found["ticks"] or found["tildes"]) if found else ""
        if fence:
            lines.append(_Line(line.rstrip(), is_code=True))
            if mark.startswith(fence) and line.strip() == mark:
                fence = ""
        else:
            fence, is_quoted = mark, line != raw
            lines.append(_Line(line.rstrip(), is_code=bool(mark)))
    return lines


def _unquoted(line: str) -> str:
    while (found := _QUOTE.match(line)) is not None:
        line = line[found.end() :]
    return line


def _without_struck(lines: list[_Line]) -> list[_Line]:
    """Return lines without struck-out text, which may go over several lines of a paragraph."""
    kept: list[_Line] = []
    prose: list[str] = []
    for line in [*lines, _Line("", is_code=True)]:
        if not line.is_code:
            prose.append(line.text)
            continue
        if prose:
            kept += [_Line(text.rstrip()) for text in _STRUCK.sub("", "\n".join(prose)).split("\n")]
            prose.clear()
        kept.append(line)
    return kept[:-1]


def _plain(line: _Line) -> _Line:
    """Return a line without what is no text: a tag alone, the mark of a callout, a list item without text."""
    if line.is_code:
        return line
    if _TAG_ALONE.match(line.text) or _EMPTY_ITEM.match(line.text):
        return _Line("")
    return _Line(_CALLOUT.sub("", line.text))


def _without_tasks(lines: list[_Line]) -> list[_Line]:
    """Return lines without tasks, and without the lines that belong to them."""
    kept: list[_Line] = []
    indent: int | None = None
    was_blank = False
    for line in lines:
        if indent is not None and not _belongs(line, indent, was_blank=was_blank):
            indent = None
        task = None if line.is_code else _TASK.match(line.text)
        if task is not None and indent is None:
            indent = len(task[1])
        kept.append(line if indent is None else _Line(""))
        was_blank = line.is_blank
    return kept


def _belongs(line: _Line, indent: int, *, was_blank: bool) -> bool:
    """Return whether a line belongs to the list item above it, whose mark has an indent."""
    if line.is_blank or line.indent > indent:
        return True
    is_new = _LIST_ITEM.match(line.text) or heading_of(line.text) or line.is_code
    return not is_new and not was_blank


def _without_tables(lines: list[_Line]) -> list[_Line]:
    kept: list[_Line] = []
    is_table = False
    for place, line in enumerate(lines):
        below = lines[place + 1] if place + 1 < len(lines) else _Line("")
        has_cells = not line.is_code and "|" in line.text
        starts = has_cells and not below.is_code and _TABLE_HEAD.fullmatch(below.text.strip()) is not None
        is_table = starts or (is_table and has_cells)
        is_row = is_table or (has_cells and line.text.lstrip().startswith("|"))
        kept.append(_Line("") if is_row else line)
    return kept


def _with_underlined_headings(lines: list[_Line]) -> list[_Line]:
    """Return lines with ``#`` before underlined headings of one line, and without rules between sections."""
    kept: list[_Line] = []
    for line in lines:
        underline = None if line.is_code else _UNDERLINE.match(line.text)
        if underline and _is_heading(kept):
            kept[-1] = _Line(f"{'#' if underline[1][0] == '=' else '##'} {kept[-1].text.strip()}")
        elif not line.is_code and (_RULE.match(line.text) or underline):
            kept.append(_Line(""))
        else:
            kept.append(line)
    return kept


def _is_heading(lines: list[_Line]) -> bool:
    """Return whether the last line is a paragraph of its own. A longer paragraph is text, whatever stands below it."""
    if not lines or not _is_text(lines[-1]) or _LIST_ITEM.match(lines[-1].text):
        return False
    return len(lines) == 1 or not _is_text(lines[-2])


def _is_text(line: _Line) -> bool:
    return not line.is_blank and not line.is_code and heading_of(line.text) is None


def _blocks(lines: list[_Line]) -> Iterator[Block]:
    headings: list[str] = []
    block: list[_Line] = []
    lead, item_indent = "", None
    for line in lines:
        heading = None if line.is_code else heading_of(line.text)
        item = None if line.is_code else _LIST_ITEM.match(line.text)
        if item is not None and item_indent is not None and block and line.indent > item_indent:
            item = None
        announces = bool(block) and block[-1].text.endswith(":")
        is_over = heading is not None or item is not None or (line.is_blank and not announces)
        if item is not None and announces and item_indent is None:
            lead, is_over = " ".join([*(each.text for each in block), ""]), False
            block.clear()
        if is_over and block:
            yield from _block(headings, block)
            block.clear()
        if heading is not None:
            above, title = heading[0] - 1, heading[1]
            headings = [*headings[:above], *[""] * (above - len(headings)), title]
            lead, item_indent = "", None
        elif item is not None:
            block.append(_Line(f"{lead}{item[2]}"))
            item_indent = line.indent
        elif not line.is_blank:
            lead = lead if block else ""
            item_indent = item_indent if block else None
            block.append(line)
    yield from _block(headings, block)


def _block(headings: list[str], lines: list[_Line]) -> Iterator[Block]:
    text = "\n".join(line.text for line in lines).strip()
    prose = "\n".join(_CODE_SPAN.sub("", line.text) for line in lines if not line.is_code).strip()
    if re.search(r"\w", text):
        yield Block(tuple(each for each in headings if each), text, prose)
