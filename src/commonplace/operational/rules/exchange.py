"""Memories as other devices have them: names, fields, and the confidence that all devices together give. Pure.

Confidence travels as a base and two counts, so that what several devices saw adds up. Decay does not travel: each
device charges it by itself.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from hashlib import sha256
from typing import Any, Final

from commonplace.core import confidence
from commonplace.core.clock import parse_timestamp
from commonplace.storage.database import Columns

Fields = Mapping[str, Any]
"""The fields of a memory: values of JSON."""

GAIN: Final = Decimal("0.1")
LOSS: Final = Decimal("0.2")
NAME_CHARS: Final = 32


def memory_name(category: str, service: str | None, first_text: str) -> str:
    """Return what a memory is called on every device; an edit does not change it."""
    parts = json.dumps([category, (service or "").lower(), first_text], ensure_ascii=False)
    return sha256(parts.encode()).hexdigest()[:NAME_CHARS]


def first_text_of(row: Columns) -> str:
    """Return the text with which a memory was learned."""
    created_as: Mapping[str, str] = json.loads(row["created_as"] or "{}")
    return created_as.get("observation") or row["observation"]


def fields_of(row: Columns, *, corrected_by: str | None) -> dict[str, Any]:
    """Return the fields of a memory.

    Args:
        row: A row of ``exchanged_memories``.
        corrected_by: The name of the memory that corrected it here, after all that other devices know.
    """
    reinforced = row["reinforced"] + row["reinforced_elsewhere"]
    contradicted = row["contradicted"] + row["contradicted_elsewhere"]
    undecayed = confidence.to_decimal(row["confidence"]) + confidence.to_decimal(row["lost"])
    is_retired = not row["active"] and confidence.is_active(row["confidence"])
    return {
        "category": row["category"],
        "service": row["service"],
        "first_text": first_text_of(row),
        "text": row["observation"],
        "tier": row["tier"],
        "base": float(undecayed - GAIN * reinforced + LOSS * contradicted),
        "reinforced": reinforced,
        "contradicted": contradicted,
        "is_retired": is_retired,
        "corrected_by": corrected_by or row["corrected_by_elsewhere"],
        "reinforced_at": _moment(row["updated_at"]),
        "created_at": _moment(row["created_at"]),
    }


def undecayed_confidence(fields: Fields) -> float:
    """Return the confidence that all devices together give a memory, without decay."""
    base = confidence.to_decimal(fields["base"])
    total = base + GAIN * fields["reinforced"] - LOSS * fields["contradicted"]
    return confidence.clamp(total)


def _moment(text: str) -> str:
    return parse_timestamp(text).astimezone(UTC).isoformat(timespec="microseconds")


def moment_of(fields: Fields, name: str) -> datetime:
    """Return a time among the fields (aware UTC)."""
    return datetime.fromisoformat(fields[name])
