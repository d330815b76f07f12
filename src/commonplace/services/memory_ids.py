"""The ids of all memories: a letter for the kind, a colon, and a number or the beginning of a UUID.

===========  ========  ==========================================
id           kind      full id
===========  ========  ==========================================
``f:3k7q2``  fact      a UUID
``r:9x2vd``  rule      a UUID
``e:5c7d9``  episode   a UUID
``n:4h1tz``  entity    a UUID
``o:12``     lesson    ``12``, in operational memory
``a:7``      digest    ``7``, in app memory
``w:3``      note      ``m-3``, in workspace memory
===========  ========  ==========================================
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Self
from uuid import UUID

from commonplace.core.errors import InvalidInputError
from commonplace.knowledge import MemoryType, short_id


class MemoryKind(StrEnum):
    """The kinds of memories."""

    FACT = "fact"
    RULE = "rule"
    EPISODE = "episode"
    LESSON = "lesson"
    """A memory of operational memory."""
    DIGEST = "digest"
    """A memory of app memory."""
    NOTE = "note"
    """A memory of workspace memory."""
    ENTITY = "entity"


LETTERS: Final[Mapping[MemoryKind, str]] = {
    MemoryKind.FACT: "f",
    MemoryKind.RULE: "r",
    MemoryKind.EPISODE: "e",
    MemoryKind.LESSON: "o",
    MemoryKind.DIGEST: "a",
    MemoryKind.NOTE: "w",
    MemoryKind.ENTITY: "n",
}
NUMBERED: Final = frozenset({MemoryKind.LESSON, MemoryKind.DIGEST, MemoryKind.NOTE})
"""The kinds whose ids are numbers."""

FORMS: Final = "an id such as f:3k7q2, r:9x2vd, e:5c7d9, n:4h1tz, o:12, a:7 or w:3, or the UUID of a memory"

_KINDS: Final = {letter: kind for kind, letter in LETTERS.items()}
_NUMBER: Final = r"[1-9][0-9]{0,14}"
_FORM: Final = re.compile(
    rf"\[?(?:(?P<letter>[fren]):(?P<head>[0-9a-hjkmnp-tv-z]{{4,25}})"
    rf"|(?P<numbered>[oaw]):(?:m-)?(?P<number>{_NUMBER})"
    rf"|m-(?P<note>{_NUMBER}))\]?"
)
_BEGINNING: Final = re.compile(r"[0-9a-f]{4,31}")


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryId:
    """The id of a memory; ``str`` writes it as doors print it.

    Attributes:
        key: The number of a lesson, digest or note; the UUID or the beginning of an id such as ``3k7q2`` for other
            kinds.
    """

    kind: MemoryKind
    key: str

    @classmethod
    def of(cls, kind: MemoryKind, key: object) -> Self:
        """Return the id of a memory with a full id."""
        return cls(kind=kind, key=str(key).removeprefix("m-") if kind is MemoryKind.NOTE else str(key))

    def __str__(self) -> str:
        """Return the short form."""
        letter = LETTERS[self.kind]
        if self.kind in NUMBERED or not _is_uuid(self.key):
            return f"{letter}:{self.key}"
        noun = "entity" if self.kind is MemoryKind.ENTITY else MemoryType(self.kind)
        return short_id(noun, UUID(self.key))

    @property
    def full(self) -> str:
        """The id that the memory itself takes: a UUID, a short id that names it, a number, or ``m-`` and a number."""
        if self.kind is MemoryKind.NOTE:
            return f"m-{self.key}"
        return self.key if self.kind in NUMBERED or _is_uuid(self.key) else str(self)

    @property
    def number(self) -> int:
        """The number of a lesson, digest or note."""
        return int(self.key)


def parse_memory_id(text: str) -> MemoryId | UUID:
    """Read an id; case, surrounding spaces and brackets do not matter. A UUID does not say the kind.

    Raises:
        InvalidInputError: The text is no id; the message lists the forms.
    """
    plain = text.strip().lower()
    match = _FORM.fullmatch(plain)
    if match is None:
        if _is_uuid(plain):
            return UUID(plain)
        raise InvalidInputError("id", FORMS, text)
    if match["note"]:
        return MemoryId(kind=MemoryKind.NOTE, key=match["note"])
    kind = _KINDS[match["letter"] or match["numbered"]]
    return MemoryId(kind=kind, key=match["head"] or match["number"])


def is_beginning(text: str) -> bool:
    """Return whether a text is the beginning of a UUID: 4 digits or more, which do not say the kind."""
    return _BEGINNING.fullmatch(text.strip().lower().replace("-", "")) is not None


def _is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True
