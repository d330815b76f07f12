"""Names: when two are the same, and how well a searched one fits an entity. Pure.

Names are compared without regard to case in any script (``STRASSE`` is ``straße``), to how an accent is encoded,
and to runs of whitespace; every character counts as itself, ``%`` and ``_`` too (R-KNW-10). Servers fold case
each in their own way, so the folding is done here, and entities are stored with their folded names.
"""

import unicodedata
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Final

from commonplace.core.text import collapse_whitespace

SEPARATOR: Final = "\n"
"""Between folded names; none can hold it, since whitespace is collapsed to spaces."""


class NameMatch(StrEnum):
    """How a candidate was found. Source: KNW-17.1 to KNW-17.4."""

    EXACT = "exact"
    ALIAS = "alias"
    PREFIX = "prefix"
    """The name is the beginning or another part of the canonical name or of an alias."""
    FUZZY = "fuzzy"


BASE_SCORES: Final = {
    NameMatch.EXACT: 100.0,
    NameMatch.ALIAS: 80.0,
    NameMatch.PREFIX: 50.0,
    NameMatch.FUZZY: 20.0,
}
"""Source: KNW-17.1 to KNW-17.4."""


def normal_name(name: str) -> str:
    """Return a name as it is stored: accents composed (NFC), whitespace collapsed, case kept."""
    return collapse_whitespace(unicodedata.normalize("NFC", name))


def fold_name(name: str) -> str:
    """Return what names are compared by: equal for names that differ in case, encoding or whitespace only."""
    decomposed = unicodedata.normalize("NFD", name).casefold()
    return collapse_whitespace(unicodedata.normalize("NFC", decomposed))


def fold_names(canonical_name: str, aliases: Iterable[str]) -> str:
    """Return the column that resolution searches: all folded names, the canonical one first.

    Each stands between two :data:`SEPARATOR`, so that a whole name and a part of one are both found as substrings.
    """
    folded = [fold_name(name) for name in (canonical_name, *aliases)]
    return f"{SEPARATOR}{SEPARATOR.join(folded)}{SEPARATOR}"


def split_names(name_keys: str) -> list[str]:
    """Return the folded names of an entity, the canonical one first; the inverse of :func:`fold_names`."""
    return name_keys[1:-1].split(SEPARATOR)


def match_name(key: str, name_keys: str) -> NameMatch | None:
    """Return the best tier in which a folded name fits an entity, or ``None``.

    Args:
        key: From :func:`fold_name`.
        name_keys: From :func:`fold_names`.
    """
    whole = f"{SEPARATOR}{key}{SEPARATOR}"
    if name_keys.startswith(whole):
        return NameMatch.EXACT
    if whole in name_keys:
        return NameMatch.ALIAS
    return NameMatch.PREFIX if key in name_keys else None


def without_repeats(names: Iterable[str], *, known: Sequence[str] = ()) -> list[str]:
    """Return names in their order, without those that fold to one before them or to a known one."""
    seen = {fold_name(name) for name in known}
    kept: list[str] = []
    for name in names:
        key = fold_name(name)
        if key not in seen:
            seen.add(key)
            kept.append(name)
    return kept
