"""The wordings of a memory, read from its history."""

import dataclasses
from collections.abc import Sequence
from typing import Final

from commonplace.operational.model.memories import (
    Change,
    ChangeKind,
    Wording,
)

_SAYING: Final = frozenset({ChangeKind.CREATED, ChangeKind.REINFORCED})
"""Kinds of change that use a memory's own text, unless the change has another wording."""


def wordings(changes: Sequence[Change]) -> list[Wording]:
    """Return every wording in a memory's history, in order of first use."""
    found: dict[str, Wording] = {}
    current = ""
    for change in changes:
        before, after = ((fields or {}).get("observation", "") for fields in (change.before, change.after))
        current = after or current
        said = change.wording or (current if change.kind in _SAYING else "")
        for text in dict.fromkeys(filter(None, (change.wording, before, after, said))):
            known = found.get(text) or Wording(
                number=len(found) + 1, text=text, first_at=change.created_at, uses=0
            )
            found[text] = dataclasses.replace(known, uses=known.uses + (text == said))
    return list(found.values())
