"""A guard against wrong clocks: decay, expiry and cleanup wait while the time is implausible.

A clock that is briefly ahead would delete every unconsolidated episode. So the home stores when the machine was last
seen: the time, the machine's uptime and its boot id. Later, the time must have advanced as much as the uptime. After a
reboot the uptime says nothing, so the time must be within a day of the last sighting or of the newest row, or be
synchronised with a time server.

Work continues when the time is plausible again, or when an operator confirms it: ``commonplace admin clock --confirm``.
Source: HRD-05.
"""

import ctypes
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from commonplace.core.atomic_write import write_text
from commonplace.core.clock import Clock, format_timestamp, parse_timestamp, utc_now
from commonplace.core.directories import make_directories
from commonplace.core.errors import ClockError, StorageUnavailableError

LONGEST_JUMP: Final = timedelta(days=1)
FILE: Final = "clock.json"
NOTED_EVERY_S: Final = 600.0
_UPTIME: Final = Path("/proc/uptime")
_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
_UNSYNCHRONISED: Final = 5
_TIMEX_BYTES: Final = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """A moment at which the machine was seen.

    Attributes:
        uptime_s: Seconds since the machine started, sleep included.
        boot: The id of the start; empty if unknown.
    """

    at: datetime
    uptime_s: float
    boot: str


def fault_of(
    now: Sighting, last: Sighting | None, newest_row: datetime | None, *, is_synchronised: bool
) -> str | None:
    """Return why a time is implausible, or ``None``. Pure."""
    if last is not None and now.boot and now.boot == last.boot:
        expected = last.at + timedelta(seconds=now.uptime_s - last.uptime_s)
        return (
            _jump(now.at, expected, "the machine's uptime") if abs(now.at - expected) > LONGEST_JUMP else None
        )
    if is_synchronised:
        return None
    if (
        last is not None
        and (newest_row is None or newest_row <= last.at)
        and abs(now.at - last.at) > LONGEST_JUMP
    ):
        return _jump(now.at, last.at, "the last use of this home")
    if newest_row is not None:
        is_behind = newest_row - now.at > LONGEST_JUMP
        if is_behind or (last is not None and now.at - newest_row > LONGEST_JUMP):
            return _jump(now.at, newest_row, "the newest memory")
    return None


def _jump(now: datetime, expected: datetime, by: str) -> str:
    shown, wanted = (format_timestamp(each, precision="seconds") for each in (now, expected))
    return f"the clock says {shown}, but according to {by} it is about {wanted}"


def machine_now() -> Sighting:
    """Return the current sighting of the machine."""
    with suppress(OSError, ValueError):
        uptime_s = float(_UPTIME.read_text(encoding="ascii").split()[0])
        return Sighting(at=utc_now(), uptime_s=uptime_s, boot=_BOOT.read_text(encoding="ascii").strip())
    return Sighting(at=utc_now(), uptime_s=0.0, boot="")


def clock_is_synchronised() -> bool:
    """Return whether the kernel says that the clock follows a time server; true on systems that cannot tell."""
    try:
        state = ctypes.CDLL(None).adjtimex(ctypes.create_string_buffer(_TIMEX_BYTES))
    except (OSError, AttributeError):
        return True
    return 0 <= state != _UNSYNCHRONISED


class ClockGuard:
    """The guard of a home.

    Args:
        home: The home, which remembers the last sighting.
        clock: The clock of the caller. A clock other than the system's, as in tests, is not judged.
        look: Returns the current sighting of the machine.
        is_synchronised: Returns whether the machine follows a time server.
    """

    def __init__(
        self,
        home: Path,
        *,
        clock: Clock = utc_now,
        look: Callable[[], Sighting] = machine_now,
        is_synchronised: Callable[[], bool] = clock_is_synchronised,
    ) -> None:
        self._file = home / FILE
        self._judges = clock is utc_now
        self._look = look
        self._is_synchronised = is_synchronised

    def fault(self, newest_row: datetime | None = None) -> str | None:
        """Return why the time is implausible, or ``None``; store a plausible time."""
        if not self._judges:
            return None
        now, last = self._look(), self._last()
        fault = fault_of(now, last, newest_row, is_synchronised=self._is_synchronised())
        if fault is None and (
            last is None or last.boot != now.boot or now.uptime_s - last.uptime_s > NOTED_EVERY_S
        ):
            with suppress(OSError):  # On a full or read-only disk, the older sighting stays.
                self._note(now)
        return fault

    def require(self, newest_row: datetime | None = None) -> None:
        """Require a plausible time.

        Raises:
            ClockError: The time is implausible; nothing was changed.
        """
        if fault := self.fault(newest_row):
            raise ClockError(fault)

    def confirm(self) -> Sighting:
        """Store the current time, because an operator confirms that it is right.

        Raises:
            StorageUnavailableError: The home cannot be written.
        """
        now = self._look()
        try:
            self._note(now)
        except OSError as error:
            raise StorageUnavailableError(f"{self._file}: {error.strerror or error}") from error
        return now

    def _last(self) -> Sighting | None:
        try:
            found = json.loads(self._file.read_text(encoding="utf-8"))
            return Sighting(
                at=parse_timestamp(found["at"]), uptime_s=float(found["uptime_s"]), boot=str(found["boot"])
            )
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _note(self, sighting: Sighting) -> None:
        document = asdict(sighting) | {"at": format_timestamp(sighting.at)}
        make_directories(self._file.parent)
        write_text(self._file, json.dumps(document))
