"""A few weeks of three devices that sync; ``benchmarks/sync_year.py`` plays a year."""

from pathlib import Path

import pytest

from commonplace.services.sync.syncing import FileLimits
from support.sync_year import Year
from support.sync_year_attacks import ATTACKS

pytestmark = [
    pytest.mark.requirement("SYN-01.1"),
    pytest.mark.requirement("SYN-02.1"),
    pytest.mark.requirement("SYN-03.1"),
    pytest.mark.requirement("SYN-06.1"),
    pytest.mark.requirement("SYN-07.1"),
    pytest.mark.requirement("SYN-08.1"),
]

STEPS = (
    "state.record, before commit",
    "state.record, after",
    "state.take, after",
    "memories.write, after",
    "state.written, before commit",
    "state.pack, after",
    "carrier.put, before",
    "carrier.put, after",
    "state.sent, after",
)
"""Some of the steps at which a sync was killed."""


async def test_the_laws_hold_for_weeks_of_faults_and_attacks(tmp_path: Path) -> None:
    """Each step is killed, clocks jump, devices are away, lost and replaced, and the carrier attacks."""
    year = Year(tmp_path, 1, days=28, limits=FileLimits(most_changes=40, snapshot_after=150))
    await year.play()
    assert year.broken == []
    assert year.count["full exchanges"] >= 4
    assert {name for name in ATTACKS if year.laws[f"told and refused: {name}"]}
    assert set(STEPS) <= set(year.world.steps.kills)
    assert {"erasure", "revocation", "departure"} <= set(year.count)
