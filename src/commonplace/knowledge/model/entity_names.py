"""Comparison of names: whether two names are the same, and how well a searched name matches an entity. Pure.

The comparison ignores case in any script (``STRASSE`` is ``straße``), the encoding of accents and runs of whitespace;
``%`` and ``_`` have no special meaning (R-KNW-10). Servers fold case differently, so names are folded here, and
entities are stored with their folded names.
"""

import unicodedata
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Final

from commonplace.core.text import collapse_whitespace

SEPARATOR: Final = "\n"
"""Separates folded names; a name cannot contain it, because whitespace is collapsed to spaces."""


class NameMatch(StrEnum):
    """The ways in which a name matches an entity. Source: KNW-17.1 to KNW-17.4."""

    EXACT = "exact"
    ALIAS = "alias"
    PREFIX = "prefix"
    """The name is a part of the canonical name or of an alias."""
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
    """Return a name's key: names that differ only in case, encoding or whitespace have the same key."""
    decomposed = unicodedata.normalize("NFD", name).casefold()
    return collapse_whitespace(unicodedata.normalize("NFC", decomposed))


def fold_names(canonical_name: str, aliases: Iterable[str]) -> str:
    """Return the text that resolution searches: all folded names, the canonical name first.

    A :data:`SEPARATOR` is before and after each name, so that substring searches find whole names and parts of names.
    """
    folded = [fold_name(name) for name in (canonical_name, *aliases)]
    return f"{SEPARATOR}{SEPARATOR.join(folded)}{SEPARATOR}"


def split_names(name_keys: str) -> list[str]:
    """Return an entity's folded names, the canonical name first; the inverse of :func:`fold_names`."""
    return name_keys[1:-1].split(SEPARATOR)


def match_name(key: str, name_keys: str) -> NameMatch | None:
    """Return the best match of a folded name with an entity, or ``None``.

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
    """Return names in order, without names that have the key of an earlier or a known name."""
    seen = {fold_name(name) for name in known}
    kept: list[str] = []
    for name in names:
        key = fold_name(name)
        if key not in seen:
            seen.add(key)
            kept.append(name)
    return kept
