"""The selection of memories to erase, and the texts by which the proof searches for them."""

import json
import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Final

from commonplace.core.request_context import DEFAULT_TENANT

ERASED: Final = "[erased]"
"""The text that replaces redacted text."""

MIN_NEEDLE_CHARS: Final = 12
MAX_NEEDLE_CHARS: Final = 80
_JSON_ESCAPES: Final = re.compile(r'["\\\x00-\x1f\x7f]+')


class By(StrEnum):
    """The property by which memories are erased."""

    SUBJECT = "subject"
    SOURCE = "source"
    SESSION = "session"
    TENANT = "tenant"
    ROWS = "rows"


@dataclass(frozen=True, kw_only=True)
class Selection:
    """The memories to erase.

    Attributes:
        value: Its value: words for a subject, else an id or a name.
        tenant: The only tenant whose knowledge memory is erased; the other memories, which have no tenants, are then
            left alone.
        with_derived: Whether memories that were derived from erased ones are erased too.
        rows: The keys of the rows of each table, for ``By.ROWS``.
    """

    by: By
    value: str
    tenant: str | None = None
    with_derived: bool = True
    rows: Mapping[str, Collection[str]] = field(default_factory=dict[str, Collection[str]])

    @property
    def is_of_installation(self) -> bool:
        """Whether it reaches the memories that belong to no other tenant."""
        return self.tenant in (None, DEFAULT_TENANT)

    @cached_property
    def pattern(self) -> str | None:
        """A regular expression for the words of a subject, the same for Python, SQLite and PostgreSQL."""
        if self.by is not By.SUBJECT:
            return None
        return "|".join(dict.fromkeys(_words_pattern(form) for form in self._forms()))

    def _forms(self) -> list[str]:
        """Return the spellings of a subject: both Unicode normal forms, and JSON escapes."""
        normal = [unicodedata.normalize(form, self.value) for form in ("NFC", "NFD")]
        return list(dict.fromkeys([self.value, *normal, *(json.dumps(each)[1:-1] for each in normal)]))

    @cached_property
    def needles(self) -> frozenset[str]:
        """The texts of a subject that are searched in files."""
        if self.by is not By.SUBJECT:
            return frozenset()
        return frozenset(cased for form in self._forms() for cased in (form, form.lower(), form.upper()))


def _words_pattern(text: str) -> str:
    """Return a pattern for whole words, with any whitespace between them, also as JSON escapes it.

    In scripts without case, such as Chinese, words are not separated, so the text may be inside another word.
    """
    body = r"(?:\s|\\[nrt])+".join(map(re.escape, text.split()))
    before = r"(?<!\w)" if _ends_word(text[0]) else ""
    after = r"(?!\w)" if _ends_word(text[-1]) else ""
    return f"{before}{body}{after}"


def _ends_word(char: str) -> bool:
    return char.isdigit() or char.lower() != char.upper()


def distinctive(texts: Iterable[str]) -> set[str]:
    """Return a piece of each text that is long enough to be found again and looks the same in JSON."""
    pieces = (max(_JSON_ESCAPES.split(text), key=len).strip()[:MAX_NEEDLE_CHARS] for text in texts)
    return {piece for piece in pieces if len(piece) >= MIN_NEEDLE_CHARS and " " in piece}
