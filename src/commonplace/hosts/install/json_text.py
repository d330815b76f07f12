"""Edits of JSON documents in their text, so that unchanged parts keep every byte. Pure.

A new part comes after the existing parts, separated and indented like them; a part is removed together with the comma
and the white space before it. So adding a part and removing it again restores the text. Only the white space inside an
originally empty container is lost, unless the caller passes it in.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

Keys = tuple[str, ...]
"""The path from a document to a value in it; empty for the document itself."""

_DECODER: Final = json.JSONDecoder()
_SPACE: Final = re.compile(r"[ \t\r\n]*")
_INDENT: Final = re.compile(r"\A\s*\{\r?\n([ \t]+)\"")


def rewrite(text: str, document: Mapping[str, Any], *, interiors: Mapping[Keys, str]) -> str:
    """Return the text of a document, changed to represent another document.

    Args:
        text: A JSON object.
        document: The new document: its keys in the order of the text, new keys last.
        interiors: The white space for containers that become empty; by default no white space.
    """
    found = _INDENT.match(text)
    editor = _Editor(
        indent=found[1] if found else "  ",
        newline="\r\n" if "\r\n" in text else "\n",
        one_line="\n" not in text.strip() and text.strip().strip("{}").strip() != "",
        interiors=interiors,
    )
    start = _after_space(text, 0)
    value, end = _DECODER.raw_decode(text, start)
    return text[:start] + editor.edited(text[start:end], value, document, (), "") + text[end:]


def interior(text: str, keys: Keys) -> str | None:
    """Return the white space inside an empty container of a JSON text; ``None`` if the path is not a container."""
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
class _Part:
    """A member of an object or an element of a list, as written in the text.

    Attributes:
        lead: White space before the part.
        name: Key and colon with the space around them; empty in a list.
        key: ``None`` in a list.
        text: The text of the value.
        tail: White space after the part, before the comma or the closing bracket.
    """

    lead: str
    name: str = ""
    key: str | None = None
    text: str
    value: object
    tail: str = ""


_Kept = list[tuple[_Part, object]]
"""Parts that stay, each with its new value."""

_Added = list[tuple[str, object]]
"""New parts: key and colon, and the value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Editor:
    """An editor that keeps the style of a text: indentation step, line ends, one line or several."""

    indent: str
    newline: str
    one_line: bool
    interiors: Mapping[Keys, str]

    def edited(self, text: str, before: object, after: object, keys: Keys, margin: str) -> str:
        """Return the text of a value, changed to another value; ``margin`` is the indentation of its line."""
        if before == after:
            return text
        parts = _parts(text) if isinstance(before, (dict, list)) else []
        if isinstance(before, dict) and isinstance(after, dict):
            kept, added = _members(parts, cast("dict[str, object]", after))
        elif isinstance(before, list) and isinstance(after, list):
            kept, added = _elements(parts, cast("list[object]", after))
        else:
            return _compact(after) if self.one_line else self._indented(after, margin)
        if not kept and not added:
            return f"{text[0]}{self.interiors.get(keys, '')}{text[-1]}"
        return f"{text[0]}{self._joined(parts, kept, added, keys, margin)}{text[-1]}"

    def _joined(self, parts: Sequence[_Part], kept: _Kept, added: _Added, keys: Keys, margin: str) -> str:
        """Return the inside of a container that keeps some parts and gets new parts."""
        lead, closing = self._surroundings(parts, margin)
        pieces = [self._kept(part, value, keys, margin) for part, value in kept]
        pieces += [self._new(name, value, lead, margin) for name, value in added]
        if parts and not kept:
            pieces[0] = parts[0].lead + pieces[0].removeprefix(lead)
        tails = ["" if part is parts[-1] else part.tail for part, _ in kept] + [""] * len(added)
        tails[-1] = closing
        return ",".join(piece + tail for piece, tail in zip(pieces, tails, strict=True))

    def _kept(self, part: _Part, value: object, keys: Keys, margin: str) -> str:
        path = (*keys, part.key or "")
        text = self.edited(part.text, part.value, value, path, _margin(part.lead, margin))
        return f"{part.lead}{part.name}{text}"

    def _new(self, name: str, value: object, lead: str, margin: str) -> str:
        text = self._indented(value, _margin(lead, margin)) if "\n" in lead else _compact(value)
        return f"{lead}{name}{text}"

    def _surroundings(self, parts: Sequence[_Part], margin: str) -> tuple[str, str]:
        """Return the white space before a new part of a container, and before the closing bracket."""
        if not parts:
            if self.one_line:
                return "", ""
            return f"{self.newline}{margin}{self.indent}", f"{self.newline}{margin}"
        lead = parts[-1].lead
        if len(parts) == 1 and "\n" not in lead:
            lead = " "
        return lead, parts[-1].tail

    def _indented(self, value: object, margin: str) -> str:
        text = json.dumps(value, ensure_ascii=False, indent=self.indent)
        return text.replace("\n", f"{self.newline}{margin}")


def _members(parts: Sequence[_Part], after: dict[str, object]) -> tuple[_Kept, _Added]:
    """Return the members of an object that stay, and the new members."""
    kept = [(part, after[part.key]) for part in parts if part.key in after]
    known = {part.key for part in parts}
    return kept, [(f"{_compact(key)}: ", value) for key, value in after.items() if key not in known]


def _elements(parts: Sequence[_Part], after: Sequence[object]) -> tuple[_Kept, _Added]:
    """Return the elements of a list that stay, followed by the new elements."""
    if len(parts) == len(after):
        return list(zip(parts, after, strict=True)), []
    kept: _Kept = []
    for part in parts:
        if len(kept) < len(after) and part.value == after[len(kept)]:
            kept.append((part, part.value))
    return kept, [("", value) for value in after[len(kept) :]]


def _parts(text: str) -> list[_Part]:
    """Return the parts of an object or a list."""
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
    """Return the indentation of the line that begins within some white space."""
    return lead.rpartition("\n")[2] if "\n" in lead else margin


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
