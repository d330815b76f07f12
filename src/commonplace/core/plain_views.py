"""Texts in plain characters, without invisible characters, look-alike letters and percent-encoding.

Secrets are searched in this view too, so that a full-width ``sk-``, a ``password`` with a Cyrillic letter or
``password%3D`` is found. Each line of ``lookalikes.txt`` is an ASCII character, then the characters that look like it
and that NFKC does not change: Unicode's confusables (Unicode License), and small Cyrillic and Greek letters.
Source: HRD-06.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

_DISGUISE: Final = re.compile(r"[^\x00-\x7f]|[\x00-\x08\x0e-\x1f\x7f]|%(?:25){0,4}[0-9A-Fa-f]{2}")
_INVISIBLE: Final = frozenset({"Cc", "Cf", "Mn", "Me"})
_BLANKS_WITHOUT_WIDTH: Final = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"


@dataclass(frozen=True, slots=True)
class PlainView:
    """A text in plain characters.

    Attributes:
        places: For each of its characters, and for its end, the place in the original text.
    """

    text: str
    places: list[int]


def plain_view(text: str) -> PlainView | None:
    """Return the plain view of a text, or ``None`` if the text is plain already."""
    pieces: list[str] = []
    places: list[int] = []
    done = 0
    for found in _DISGUISE.finditer(text):
        plain = _plain(found[0])
        pieces += text[done : found.start()], plain
        places += range(done, found.start())
        places += [found.start()] * len(plain)
        done = found.end()
    if done == 0:
        return None
    pieces.append(text[done:])
    places += range(done, len(text) + 1)
    return PlainView("".join(pieces), places)


def is_invisible(character: str) -> bool:
    """Return whether a character has no shape of its own: a control, a joiner, a mark or a blank without width."""
    return unicodedata.category(character) in _INVISIBLE or character in _BLANKS_WITHOUT_WIDTH


def _plain(disguise: str) -> str:
    if disguise[0] == "%":
        return chr(int(disguise[-2:], 16))
    if is_invisible(disguise):
        return ""
    looks_like = _lookalikes().get(ord(disguise))
    return looks_like or unicodedata.normalize("NFKC", disguise)


@cache
def _lookalikes() -> dict[int, str]:
    lines = files("commonplace.core").joinpath("lookalikes.txt").read_text(encoding="utf-8").splitlines()
    return {ord(each): line[0] for line in lines for each in line[2:]}
