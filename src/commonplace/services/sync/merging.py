"""Merging: the state of a memory from its changes that no other change has seen. Pure.

Every function takes a set, and its result does not depend on an order: devices with the same changes have the same
memory.

Source: ADR 0040.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from commonplace.services.sync.changes import Change, Fields
from commonplace.services.sync.kinds import EVIDENCE, JOINS, KEPT_TEXT, Join
from commonplace.services.sync.versions import has_seen


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """The state that the unseen changes of one memory make together.

    Attributes:
        fields: The state; ``None`` if it was deleted.
        others: Changes whose text lost against another one, or that were made while another device deleted it.
        by: The change whose text holds, or the deletion.
    """

    fields: Fields | None
    others: tuple[Change, ...] = ()
    by: Change


def unseen(changes: Iterable[Change]) -> list[Change]:
    """Return the changes of one memory that no other one of them has seen, each once, the earliest first."""
    different = {tuple(sorted(each.versions.items())): each for each in changes}
    return sorted(
        (
            each
            for each in different.values()
            if not any(
                has_seen(other.versions, each.versions) for other in different.values() if other is not each
            )
        ),
        key=lambda each: each.stamp,
    )


def merged(changes: Collection[Change]) -> Merged:
    """Return the state that the unseen changes of one memory make.

    Args:
        changes: From :func:`unseen`; at least one.
    """
    deletions = [each for each in changes if each.is_deletion]
    if deletions:
        others = sorted((each for each in changes if not each.is_deletion), key=_evidence)
        return Merged(fields=None, others=tuple(others), by=max(deletions, key=lambda each: each.stamp))
    best = max(changes, key=_evidence)
    names = sorted({name for each in changes for name in _fields(each)})
    fields = {name: _joined(name, best, changes) for name in names}
    others = [each for each in changes if _text(each) != _text(best)]
    return Merged(fields=fields, others=tuple(sorted(others, key=_evidence)), by=best)


def _evidence(change: Change) -> tuple[str, Any]:
    """Return the key by which the text of a change holds: the time of its evidence or of the change, then its stamp."""
    made_at = datetime.fromtimestamp(change.stamp.milliseconds / 1000, UTC).isoformat(timespec="milliseconds")
    return (str(_fields(change).get(EVIDENCE.get(change.kind, "")) or made_at), change.stamp)


def _fields(change: Change) -> Fields:
    return change.fields or {}


def _join_of(change: Change, name: str) -> Join:
    return JOINS[change.kind].get(name, Join.TEXT)


def _text(change: Change) -> dict[str, Any]:
    """Return the fields that belong together, and the plain text."""
    texts = {name: value for name, value in _fields(change).items() if _join_of(change, name) is Join.TEXT}
    stamped = _fields(change).get(KEPT_TEXT)
    return texts | (
        {KEPT_TEXT: stamped[0]} if _join_of(change, KEPT_TEXT) is Join.STAMPED and stamped else {}
    )


def _joined(name: str, best: Change, changes: Collection[Change]) -> Any:  # noqa: ANN401 - a value of JSON
    values = [_fields(each)[name] for each in changes if _fields(each).get(name) is not None]
    match _join_of(best, name):
        case Join.TEXT:
            return _fields(best).get(name)
        case Join.HIGHEST:
            return max(values, default=None)
        case Join.LOWEST:
            return min(values, default=None)
        case Join.UNION:
            return sorted({member for each in values for member in each})
        case Join.SUM:
            devices = sorted({device for each in values for device in each})
            return {device: max(each.get(device, 0) for each in values) for device in devices}
        case Join.STAMPED:
            return max(values, key=lambda each: each[1], default=None)
