"""Changing a document of JSON in its text, so that what did not change stays to the byte. Pure.

What is added stands behind what is there, separated and indented like it; what goes takes the comma and the white space
before it along. To add something and take it out again therefore gives back the same text. Only the white space inside
a container that was empty is lost; who wants it back says what it was.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

Keys = tuple[str, ...]
"""The way from a document to something in it; empty for the document itself."""

_DECODER: Final = json.JSONDecoder()
_SPACE: Final = re.compile(r"[ \t\r\n]*")
_INDENT: Final = re.compile(r"\A\s*\{\r?\n([ \t]+)\"")


def rewrite(text: str, document: Mapping[str, Any], *, interiors: Mapping[Keys, str]) -> str:
    """Return the text of a document with another one in the place of what it says.

    Args:
        text: A JSON object.
        document: What the text is to say: keys in the order of the text, new ones last.
        interiors: What stands between the brackets of a container that becomes empty; nothing where none is named.
    """
    found = _INDENT.match(text)
    style = _Style(
        indent=found[1] if found else "  ",
        newline="\r\n" if "\r\n" in text else "\n",
        one_line="\n" not in text.strip() and text.strip().strip("{}").strip() != "",
        interiors=interiors,
    )
    start = _after_space(text, 0)
    value, end = _DECODER.raw_decode(text, start)
    return text[:start] + _changed(text[start:end], value, document, (), "", style) + text[end:]


def interior(text: str, keys: Keys) -> str | None:
    """Return the white space inside an empty container of a JSON text; ``None`` where there is no empty one."""
    start = _after_space(text, 0)
    value, end = _DECODER.raw_decode(text, start)
    inside = text[start:end]
    for key in keys:
        parts = _parts(inside) if isinstance(value, dict) else []
        found = next((part for part in parts if part.key == key), None)
        if found is None:
            return None
        inside, value = found.text, found.value
    return inside[1:-1] if value in ({}, []) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Style:
    """How a text is written: its step of indentation, its line ends, whether it has one line only."""

    indent: str
    newline: str
    one_line: bool
    interiors: Mapping[Keys, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """A member of an object or an element of a list, as it stands.

    Attributes:
        lead: White space before it.
        name: Key and colon, with what stands around them; empty in a list.
        key: Its key; ``None`` in a list.
        text: Its value as it stands.
        value: Its value.
        tail: White space behind it, before the comma or the closing bracket.
    """

    lead: str
    name: str = ""
    key: str | None = None
    text: str
    value: object
    tail: str = ""


def _changed(text: str, before: object, after: object, keys: Keys, margin: str, style: _Style) -> str:
    """Return the text of a value with another in its place; ``margin`` is the indentation of its line."""
    if before == after:
        return text
    if isinstance(before, dict) and isinstance(after, dict):
        old, new = cast("dict[str, object]", before), cast("dict[str, object]", after)
        parts = _parts(text)
        kept = [(part, new[part.key]) for part in parts if part.key in new]
        added = [(f"{_compact(key)}: ", value) for key, value in new.items() if key not in old]
    elif isinstance(before, list) and isinstance(after, list):
        parts = _parts(text)
        kept, rest = _aligned(parts, cast("list[object]", after))
        added = [("", value) for value in rest]
    else:
        return _compact(after) if style.one_line else _indented(after, margin, style)
    if not kept and not added:
        return f"{text[0]}{style.interiors.get(keys, '')}{text[-1]}"
    lead, closing = _surroundings(parts, margin, style)
    pieces = [
        (
            f"{part.lead}{part.name}",
            _changed(
                part.text, part.value, value, (*keys, part.key or ""), _margin(part.lead, margin), style
            ),
            "" if part is parts[-1] else part.tail,
        )
        for part, value in kept
    ]
    inner = _margin(lead, margin)
    for name, value in added:
        first = parts[0].lead if parts and not pieces else lead
        shown = _indented(value, inner, style) if "\n" in lead else _compact(value)
        pieces.append((f"{first}{name}", shown, ""))
    *others, (front, last, _) = pieces
    body = "".join(f"{name}{value}{tail}," for name, value, tail in others)
    return f"{text[0]}{body}{front}{last}{closing}{text[-1]}"


def _aligned(parts: list[_Part], after: list[object]) -> tuple[list[tuple[_Part, object]], list[object]]:
    """Return the elements that stay, each with what it becomes, and those that are new behind them."""
    if len(parts) == len(after):
        return list(zip(parts, after, strict=True)), []
    kept: list[tuple[_Part, object]] = []
    for part in parts:
        if len(kept) < len(after) and part.value == after[len(kept)]:
            kept.append((part, part.value))
    return kept, after[len(kept) :]


def _surroundings(parts: list[_Part], margin: str, style: _Style) -> tuple[str, str]:
    """Return the white space before what is added to a container, and before its closing bracket."""
    if not parts:
        if style.one_line:
            return "", ""
        return f"{style.newline}{margin}{style.indent}", f"{style.newline}{margin}"
    lead = parts[-1].lead
    if len(parts) == 1 and "\n" not in lead:
        lead = " "
    return lead, parts[-1].tail


def _parts(text: str) -> list[_Part]:
    """Take an object or a list apart."""
    parts: list[_Part] = []
    place = 1
    while True:
        start = _after_space(text, place)
        if text[start] in "]}":
            return parts
        key, value_start = None, start
        if text[0] == "{":
            key, behind = _DECODER.raw_decode(text, start)
            value_start = _after_space(text, _after_space(text, behind) + 1)
        value, end = _DECODER.raw_decode(text, value_start)
        behind = _after_space(text, end)
        parts.append(
            _Part(
                lead=text[place:start],
                name=text[start:value_start],
                key=key,
                text=text[value_start:end],
                value=value,
                tail=text[end:behind],
            )
        )
        if text[behind] != ",":
            return parts
        place = behind + 1


def _after_space(text: str, place: int) -> int:
    found = _SPACE.match(text, place)
    return found.end() if found else place


def _margin(lead: str, margin: str) -> str:
    """Return the indentation of the line of what stands behind some white space."""
    return lead.rpartition("\n")[2] if "\n" in lead else margin


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _indented(value: object, margin: str, style: _Style) -> str:
    text = json.dumps(value, ensure_ascii=False, indent=style.indent)
    return text.replace("\n", f"{style.newline}{margin}")
