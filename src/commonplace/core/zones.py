"""Time zones: prompts give dates in the time zone of the people that they are about."""

import os
from contextlib import suppress
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

from commonplace.core.quoting import quoted

_SYSTEM_ZONE: Final = Path("/etc/localtime")


def find_zone(name: str | None) -> tzinfo:
    """Return a time zone.

    Args:
        name: An IANA name such as ``Europe/Berlin``; ``None`` for the zone of this machine.

    Raises:
        ValueError: No zone has the name.
    """
    if name is not None:
        try:
            return ZoneInfo(name)
        except (KeyError, OSError):
            raise ValueError(
                f"expected the name of a time zone such as Europe/Berlin, got {quoted(name)}"
            ) from None
    for found in (os.environ.get("TZ", ""), str(_SYSTEM_ZONE.resolve()).partition("zoneinfo/")[2]):
        with suppress(KeyError, OSError, ValueError):
            if found:
                return ZoneInfo(found)
    return datetime.now(UTC).astimezone().tzinfo or UTC


def zone_name(zone: tzinfo) -> str:
    """Return the name of a zone, such as ``Europe/Berlin`` or ``UTC``."""
    return zone.key if isinstance(zone, ZoneInfo) else str(zone)


def local_minute(moment: datetime, zone: tzinfo) -> str:
    """Return an aware moment in a zone with its weekday, such as ``Sun 2026-03-01 10:30``."""
    return f"{moment.astimezone(zone):%a %Y-%m-%d %H:%M}"
