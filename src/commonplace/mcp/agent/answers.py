"""Answers of the tools for agents: the short id, the text, and only those fields that have a value."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, cast

from typing_extensions import TypedDict

from commonplace.core.errors import ConflictError
from commonplace.core.json_values import json_safe
from commonplace.core.text import trim_to
from commonplace.services.catalog.entries import CatalogChange, CatalogEntry, HistoryStep, MemoryState, Verb

SHOWN_CHARS: Final = 2_000
"""Longer texts are cut in lists; ``memory_get`` returns them whole."""

WAITING: Final = frozenset({MemoryState.FLAGGED, MemoryState.HELD})
"""The states of memories that only a person decides about."""

_DONE: Final = {
    Verb.ADD: "added",
    Verb.EDIT: "edited",
    Verb.CONFIRM: "confirmed",
    Verb.PIN: "pinned",
    Verb.UNPIN: "unpinned",
    Verb.FORGET: "forgot",
}
_DETAILS: Final = (
    "source",
    "permanence",
    "maturity",
    "valid_from",
    "valid_to",
    "category",
    "session_id",
    "aliases",
)
_EMPTY: Final[tuple[object, ...]] = (None, "", [], (), {})
_WITHHELD: Final = (
    "It looks like an instruction, so it is withheld until the user decides: commonplace review {}"
)


class MemoryRecord(TypedDict, total=False):
    """A memory. ``id`` is its short id; ``about`` is its scope, service, app, tags or type."""

    id: str
    text: str
    is_cut: bool
    about: str
    date: str
    state: str
    pinned: bool
    replaced_by: str
    confidence: float
    note: str
    why: str
    likeness: float
    details: dict[str, Any]
    history: list[str]


class ChangeReceipt(TypedDict, total=False):
    """A change. ``undo`` is the id that memory_undo takes."""

    done: str
    id: str
    text: str
    before: str
    instead_of: str
    note: str
    undo: str


def record(entry: CatalogEntry, *, own: str | None, most_chars: int | None = SHOWN_CHARS) -> MemoryRecord:
    """Return a memory without the fields that have no value.

    A text that looks like an instruction is withheld. Of the memories of the caller's ``own`` scope, the scope is left
    out. ``most_chars`` cuts the text; ``None`` leaves it whole.
    """
    is_flagged = entry.state is MemoryState.FLAGGED
    text = entry.text if most_chars is None else trim_to(entry.text, most_chars)
    values = {
        "id": entry.id,
        "text": "" if is_flagged else text,
        "is_cut": (not is_flagged and len(text) < len(entry.text)) or None,
        "about": "" if entry.about == own else entry.about,
        "date": f"{entry.created_at:%Y-%m-%d}",
        "state": None if entry.state is MemoryState.CURRENT else entry.state.value,
        "pinned": entry.pinned or None,
        "replaced_by": entry.replaced_by,
        "note": _WITHHELD.format(entry.id) if is_flagged else None,
    }
    return cast("MemoryRecord", with_values(values))


def whole_record(entry: CatalogEntry, steps: Sequence[HistoryStep], *, own: str | None) -> MemoryRecord:
    """Return a memory with its whole text, its details, and its history if there are steps."""
    is_flagged = entry.state is MemoryState.FLAGGED
    details = {name: _plain(entry.fields.get(name)) for name in _DETAILS}
    more = {
        "confidence": None if entry.confidence is None else round(entry.confidence, 2),
        "details": with_values(details),
        "history": [] if is_flagged else [_line(step) for step in steps],
    }
    return cast("MemoryRecord", {**record(entry, own=own, most_chars=None), **with_values(more)})


def receipt(change: CatalogChange) -> ChangeReceipt:
    """Return what changed; a memory that waits for a person cannot be undone by an agent."""
    entry = change.entry
    waits = entry.state in WAITING
    is_new = change.verb is Verb.ADD and not change.undone
    note = change.note
    if entry.state is MemoryState.FLAGGED:
        note = f"{note} {_WITHHELD.format(entry.id)}".strip()
    return cast(
        "ChangeReceipt",
        with_values(
            {
                "done": _done(change),
                "id": entry.id,
                "text": "" if is_new or waits else trim_to(entry.text, SHOWN_CHARS),
                "before": trim_to(change.before or "", SHOWN_CHARS),
                "instead_of": change.instead_of,
                "note": note,
                "undo": None if waits else change.undo,
            }
        ),
    )


def with_values(values: Mapping[str, object]) -> dict[str, object]:
    """Return the items whose value is not empty."""
    return {name: value for name, value in values.items() if value not in _EMPTY}


def waits_for_a_person(entry: CatalogEntry) -> ConflictError:
    """Return the error for a change of a memory that only a person decides about."""
    message = f"{entry.id} is {entry.state}, so only the user decides about it: commonplace review {entry.id}"
    return ConflictError("memory_id", message, entry.id)


def _done(change: CatalogChange) -> str:
    if change.undone:
        return f"undid {change.verb}"
    is_unchanged = change.undo is None and change.verb is not Verb.ADD and bool(change.note)
    return "nothing" if is_unchanged else _DONE[change.verb]


def _line(step: HistoryStep) -> str:
    return " ".join(filter(None, (f"{step.at:%Y-%m-%d %H:%M}", step.event, step.actor, step.text)))


def _plain(value: object) -> object:
    return f"{value:%Y-%m-%d %H:%M}" if isinstance(value, datetime) else json_safe(value)
