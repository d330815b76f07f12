"""The time of the last successful backup, which a home remembers."""

import json
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Final

from commonplace.core.atomic_write import write_text
from commonplace.core.clock import format_timestamp, parse_timestamp

FILE: Final = "last-backup.json"


def note_backup(home: Path, made_at: datetime) -> None:
    """Store the time of a successful backup. A home that cannot be written keeps the older time."""
    with suppress(OSError):
        write_text(home / FILE, json.dumps({"made_at": format_timestamp(made_at)}))


def last_backup_at(home: Path) -> datetime | None:
    """Return when the last successful backup was made; ``None`` if no backup is known."""
    try:
        return parse_timestamp(json.loads((home / FILE).read_text(encoding="utf-8"))["made_at"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
