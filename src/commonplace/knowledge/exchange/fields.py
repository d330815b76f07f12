"""Rows as fields of JSON, and back. Pure."""

from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from commonplace.knowledge.model.kinds import PINNED
from commonplace.storage.database import Columns

Fields = Mapping[str, Any]
"""The fields of a memory: values of JSON."""

GONE: Final = frozenset({"forgotten"})
"""The states of a row that is not shown."""

_LOCAL: Final = frozenset({"id", "validity"})
"""Columns that do not travel."""

_STATES: Final = {"expired": "current"}
"""States that a database decides by itself, because time passed."""

_MOMENTS: Final = frozenset(
    {"applied_at", "created_at", "expires_at", "last_confirmed_at", "valid_from", "valid_to"}
)
_IDS: Final = frozenset({"entity_id", "rule_id", "session_id", "source_episode_id", "source_id", "target_id"})
_OPTIONAL: Final = frozenset({"source_episode_id"})
"""Columns that do not travel if they are empty."""


def fields_of(row: Columns | None, *, without: Collection[str] = ()) -> dict[str, Any] | None:
    """Return the fields of a row; ``None`` if there is none or its memory was forgotten."""
    if row is None or row.get("state") in GONE or row.get("validity") == "retracted":
        return None
    fields = {
        name: _plain(value)
        for name, value in row.items()
        if name not in _LOCAL and name not in without and not (name in _OPTIONAL and value is None)
    }
    if "tags" in fields:
        fields["tags"] = sorted(fields["tags"])
    if "state" in fields:
        fields["state"] = _STATES.get(fields["state"], fields["state"])
    return fields


def by_id(rows: Iterable[Columns]) -> dict[str, Columns]:
    """Return rows by their ids."""
    return {str(row["id"]): row for row in rows}


def record_of(fields: Fields) -> dict[str, Any]:
    """Return the fields of a fact or rule as the row of a statement that takes many; pins are tags again."""
    record = {name: value for name, value in fields.items() if name not in {"pinned", "state"}}
    return {**record, "tags": [*fields["tags"], *([PINNED] if fields.get("pinned") else [])]}


def parameters(fields: Fields) -> dict[str, Any]:
    """Return fields as parameters of a statement that takes one row."""
    return {name: _parameter(name, value) for name, value in fields.items()}


def _plain(value: object) -> Any:  # noqa: ANN401 - a value of JSON
    match value:
        case UUID():
            return str(value)
        case datetime():
            return value.astimezone(UTC).isoformat(timespec="microseconds")
        case _:
            return value


def _parameter(name: str, value: Any) -> Any:  # noqa: ANN401 - a value of JSON, and one of PostgreSQL
    if value is None:
        return None
    if name in _MOMENTS:
        return datetime.fromisoformat(value)
    return UUID(value) if name in _IDS else value
