"""Finding changes: what is different from what was last seen of a memory. Pure.

A memory shows the plain value of each field. A change says of a sum what each device counts, and of a stamped value
when it was set.

Source: ADR 0040.
"""

from dataclasses import astuple, dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from commonplace.services.sync.changes import Change, Fields
from commonplace.services.sync.kinds import EVIDENCE, JOINS, Join, SyncKind
from commonplace.services.sync.versions import Stamp, Versions, next_versions

if TYPE_CHECKING:
    from collections.abc import Mapping

_EXPIRY: Final = "expires_at"
_BIRTH: Final = "created_at"


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenMemory:
    """A memory as this device last read or wrote it.

    Attributes:
        fields: What it showed; ``None`` if it was gone.
        as_change: The same fields in the form of a change; also of a memory that does not show them, as it has expired.
        versions: The changes that are in it. What is changed here has seen these, and none that arrived since.
    """

    fields: Fields | None = None
    as_change: Fields | None = None
    versions: Versions = field(default_factory=dict[str, int])


def change_of(kind: SyncKind, name: str, now: Fields | None, seen: SeenMemory, stamp: Stamp) -> Change:
    """Return the change of a memory that shows other fields than were last seen.

    Fields that a later release added are in the last change but are not shown here; they stay as they are.

    Args:
        kind: What it is.
        name: What it is called on every device.
        now: Its fields now; ``None`` if it is gone.
        seen: How it was last seen.
        stamp: The time of this change.
    """
    plain, last = seen.fields or {}, seen.as_change or {}
    value_stamp = _stamp_of_values(kind, now, stamp)
    fields = (
        None
        if now is None
        else {
            **{name: value for name, value in last.items() if name not in plain},
            **{
                name: _lifted(
                    JOINS[kind].get(name, Join.TEXT), value, plain.get(name), last.get(name), value_stamp
                )
                for name, value in now.items()
            },
        }
    )
    versions = next_versions([seen.versions], stamp.device)
    return Change(kind=kind, name=name, versions=versions, stamp=stamp, fields=fields)


def _stamp_of_values(kind: SyncKind, shown: Fields | None, stamp: Stamp) -> Stamp:
    """Return the stamp of the values of a change: when they were written, if the memory says so."""
    written_at = (shown or {}).get(EVIDENCE.get(kind, ""))
    if written_at is None:
        return stamp
    return min(stamp, Stamp(int(datetime.fromisoformat(written_at).timestamp() * 1000), 0, stamp.device))


def has_expired(fields: Fields | None, now: datetime) -> bool:
    """Return whether the time of a memory is over."""
    expires_at = (fields or {}).get(_EXPIRY)
    return expires_at is not None and datetime.fromisoformat(expires_at) <= now


def is_passage_of_time(kind: SyncKind, now: Fields | None, seen: SeenMemory, at: datetime) -> bool:
    """Return whether a memory is different only because it expired here, or is back after a clock was set right.

    Each device decides this by its own clock, so it is no change.

    Args:
        kind: What the memory is.
        now: Its fields now; ``None`` if it is gone.
        seen: How it was last seen.
        at: The time on this device.
    """
    if now is None:
        return has_expired(seen.fields, at)
    return seen.fields is None and seen.as_change is not None and now == shown_fields(kind, seen.as_change)


def is_edit_of(now: Fields | None, written: Fields | None, before: Fields | None) -> bool:
    """Return whether a memory that shows neither of two states was edited after the later one was written.

    A sync that was killed has perhaps written a memory without noting it. An edit that came after shows a value that
    only the write can have brought, and none that the write would have replaced.

    Args:
        now: The fields that the memory shows.
        written: The fields that the sync was about to write.
        before: The fields before it.
    """
    if now is None or written is None:
        return False
    if before is None:  # Two devices may have made it by themselves, but not at the same microsecond.
        return now.get(_BIRTH) is not None and now.get(_BIRTH) == written.get(_BIRTH)
    names = [name for name, value in written.items() if value != before.get(name)]
    is_old = any(now.get(name) == before.get(name) for name in names)
    return not is_old and any(now.get(name) == written[name] for name in names)


def shown_fields(kind: SyncKind, fields: Fields) -> Fields:
    """Return the fields of a change as the memory shows them."""
    return {name: _plain(JOINS[kind].get(name, Join.TEXT), value) for name, value in fields.items()}


def _lifted(join: Join, value: Any, seen: Any, before: Any, stamp: Stamp) -> Any:  # noqa: ANN401 - values of JSON
    """Return a value as a change says it."""
    match join:
        case Join.SUM:
            counts: Mapping[str, int] = before or {}
            more = value - (seen or 0)
            return dict(sorted({**counts, stamp.device: max(0, counts.get(stamp.device, 0) + more)}.items()))
        case Join.STAMPED:
            if before is not None and before[0] == value:
                return before
            if before is None and value is None:
                return [None, [0, 0, stamp.device]]  # Nobody has set the value, so whoever sets it is later.
            return [value, list(astuple(_after(stamp, before)))]
        case Join.UNION:
            return sorted(value)
        case _:
            return value


def _after(stamp: Stamp, before: Any) -> Stamp:  # noqa: ANN401 - a stamped value
    """Return a stamp that is later than that of the value that it replaces."""
    if before is None:
        return stamp
    milliseconds, count, _ = before[1]
    return max(stamp, Stamp(milliseconds, count + 1, stamp.device))


def _plain(join: Join, value: Any) -> Any:  # noqa: ANN401 - values of JSON
    match join:
        case Join.SUM:
            counts: Mapping[str, int] = value or {}
            return sum(counts.values())
        case Join.STAMPED:
            return None if value is None else value[0]
        case _:
            return value
