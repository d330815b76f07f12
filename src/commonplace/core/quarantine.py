"""Quarantine of texts that look like instructions, for memories whose tables have no column for flags.

Operational, app and workspace memory leave such a text out of their blocks until a person approves it. The home keeps
one empty file for each approved text, named by a hash. The workspace itself must not say what is trusted, because its
memory may come with a cloned repository. Knowledge memory keeps the approvals in its tables.
Source: LIF-05.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Self, TypeVar

from commonplace.core.directories import make_directories
from commonplace.core.instructions import Flag, find_flags
from commonplace.core.request_context import current_context
from commonplace.core.settings import Settings
from commonplace.core.sources import Source

DIRECTORY: Final = "confirmed"

_W = TypeVar("_W", bound="Watched")


@dataclass(frozen=True, slots=True)
class Quarantine:
    """The texts that blocks leave out.

    Attributes:
        home: The directory with the approved texts; without a home, no text is quarantined.
    """

    home: Path | None = None
    is_on: bool = True

    @classmethod
    def of(cls, settings: Settings) -> "Quarantine":
        """Return the quarantine of an installation."""
        return cls(home=settings.home, is_on=settings.quarantine)

    def flags(self, text: str, of_source: Iterable[Flag] = ()) -> tuple[Flag, ...]:
        """Return the flags of a text that no person has approved, with the flags of the text that it was taken from."""
        found = tuple(dict.fromkeys((*_flags(text), *of_source)))
        return () if not found or self.home is None or self._mark(self.home, text).exists() else found

    def reasons(self, text: str, of_source: Iterable[Flag] = ()) -> tuple[Flag, ...]:
        """Return the flags for which blocks leave a text out; empty if they show it."""
        return self.flags(text, of_source) if self.is_on else ()

    def holds(self, text: str, of_source: Iterable[Flag] = ()) -> bool:
        """Return whether blocks leave a text out."""
        return bool(self.reasons(text, of_source))

    def release(self, text: str, of_source: Iterable[Flag] = ()) -> None:
        """Approve a text in the name of a person, so that blocks show it."""
        if self.home is None or not self.flags(text, of_source):
            return
        mark = self._mark(self.home, text)
        make_directories(mark.parent)
        mark.touch(mode=0o600)

    def release_own(self, text: str) -> None:
        """Approve a text if a person writes it."""
        context = current_context()
        if context is not None and context.source is Source.PERSON:
            self.release(text)

    def watch(self, memories: Iterable[_W]) -> list[_W]:
        """Return memories that say whether they are in this quarantine."""
        return [each.watched_by(self) for each in memories]

    @staticmethod
    def _mark(home: Path, text: str) -> Path:
        return home / DIRECTORY / hashlib.sha256(text.strip().encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched(ABC):
    """The base of a memory that says whether it is in quarantine.

    Attributes:
        quarantine: The quarantine that watches the memory, once it has left the store. It is in no comparison and no
            answer.
    """

    quarantine: Quarantine = field(default=Quarantine(), repr=False, compare=False)

    @property
    @abstractmethod
    def flags(self) -> tuple[Flag, ...]:
        """The reasons why no prompt shows the memory until a person confirms it; empty if prompts may show it.

        They are computed on demand, because the patterns take longer than reading the memory from the database.
        """

    def watched_by(self, quarantine: Quarantine) -> Self:
        """Return the memory as it leaves the store."""
        return replace(self, quarantine=quarantine)

    def to_json(self) -> dict[str, Any]:
        """Return the fields of the memory and its flags."""
        values = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "quarantine"}
        return values | {"flags": self.flags}


@lru_cache(maxsize=8192)
def _flags(text: str) -> tuple[Flag, ...]:
    return tuple(find_flags(text))
