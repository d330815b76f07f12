"""The laws of sync over random histories of the real engine; ``benchmarks/sync_laws.py`` plays many more."""

from pathlib import Path

import pytest

from support.sync_histories import History

pytestmark = [
    pytest.mark.requirement("SYN-01.1"),
    pytest.mark.requirement("SYN-03.1"),
    pytest.mark.requirement("SYN-06.1"),
    pytest.mark.requirement("SYN-07.1"),
    pytest.mark.requirement("SYN-08.1"),
]


@pytest.mark.parametrize("tens", range(20))
async def test_the_laws_hold_after_kills_full_disks_and_a_hostile_carrier(tmp_path: Path, tens: int) -> None:
    """Devices snapshot, erase, leave, join and are revoked meanwhile."""
    for seed in range(10 * tens, 10 * tens + 10):
        await History(tmp_path / str(seed), seed).play()
