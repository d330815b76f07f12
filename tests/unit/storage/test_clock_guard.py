"""The guard against wrong clocks: which jumps it believes, and how it lets go."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from commonplace.core.clock import ManualClock
from commonplace.core.errors import ClockError
from commonplace.storage.clock_guard import ClockGuard, Sighting, fault_of, machine_now

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
DAY_S = 86_400.0


def seen(*, days: float = 0, uptime_days: float = 0, boot: str = "a") -> Sighting:
    """Return a sighting some days after noon."""
    return Sighting(at=NOON + timedelta(days=days), uptime_s=uptime_days * DAY_S, boot=boot)


@pytest.mark.requirement("HRD-05.1")
@pytest.mark.parametrize(
    ("now", "last", "newest_days", "is_synchronised", "is_plausible"),
    [
        (seen(), None, None, False, True),
        (seen(days=3, uptime_days=3), seen(), 0, False, True),  # the machine was idle for three days
        (seen(days=400, uptime_days=0.01), seen(), 0, True, False),
        (seen(days=-400, uptime_days=0.01), seen(), 0, True, False),
        (seen(days=0.9, uptime_days=0.01), seen(), 0, False, True),
        (seen(days=400, uptime_days=0.01), seen(), 400, True, False),  # rows that were written meanwhile
        (seen(days=0.5, boot="b"), seen(), 0, False, True),
        (seen(days=400, boot="b"), seen(), 0, False, False),
        (seen(days=400, boot="b"), seen(), None, False, False),
        (seen(days=400, boot="b"), seen(), 0, True, True),  # it was off for long, and a time server agrees
        (seen(days=3, boot="b"), seen(), 2.5, False, True),  # another machine wrote to the database meanwhile
        (seen(days=-3, boot="b"), seen(), 0, False, False),
        (seen(), None, 3, False, False),
        (seen(days=30), None, 0, False, True),  # the first use after an upgrade
        (seen(days=30, boot=""), seen(boot=""), 0, False, False),
    ],
)
def test_a_jump_is_judged_by_uptime_then_by_the_newest_row(
    *,
    now: Sighting,
    last: Sighting | None,
    newest_days: float | None,
    is_synchronised: bool,
    is_plausible: bool,
) -> None:
    """More than a day that neither of them explains is implausible."""
    newest = None if newest_days is None else NOON + timedelta(days=newest_days)
    assert (fault_of(now, last, newest, is_synchronised=is_synchronised) is None) is is_plausible


@pytest.mark.requirement("HRD-05.1")
def test_the_guard_holds_until_the_clock_is_back_or_confirmed(tmp_path: Path) -> None:
    """A wrong time is not remembered as the last one; other clocks than the system's are not judged."""
    now = [seen()]
    guard = ClockGuard(tmp_path / "home", look=lambda: now[0], is_synchronised=lambda: False)
    guard.require()
    now[0] = seen(days=400, uptime_days=0.01)
    for _ in range(2):
        with pytest.raises(ClockError, match=r"the clock says 2027.*commonplace admin clock --confirm"):
            guard.require(NOON)
    ClockGuard(tmp_path / "home", clock=ManualClock(NOON), look=lambda: now[0]).require(NOON)
    now[0] = seen(days=0.02, uptime_days=0.02)
    guard.require(NOON)
    now[0] = seen(days=400, uptime_days=0.03)
    guard.confirm()
    guard.require(NOON)
    (tmp_path / "home" / "clock.json").write_text("{damaged")
    guard.require()


def test_the_machine_is_seen_as_it_is() -> None:
    """Uptime moves on within one boot."""
    first, second = machine_now(), machine_now()
    assert first.boot == second.boot
    assert first.uptime_s <= second.uptime_s
