"""What a device knows of sync: since when it fails and why, what waits, and when others were seen."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from datetime import datetime
from pathlib import Path

import pytest

from commonplace.core.clock import ManualClock
from commonplace.core.errors import StorageUnavailableError
from commonplace.core.settings import Settings
from commonplace.services.sync.home import FOLDER, read_status
from commonplace.services.sync.requested_sync import RequestedSync
from commonplace.services.sync.state import FILE, SyncState
from commonplace.services.sync.status import SyncStatus
from support.database_stock import DatabaseStock
from support.deadlines import DEADLINE_S
from support.service import open_memories
from support.synced_homes import DESKTOP, LAPTOP, SyncedPair, synced_pair

pytestmark = pytest.mark.requirement("SYN-13.1")

SECRET = "ghp_16characters"


@pytest.fixture
async def pair(
    settings: Settings,
    knowledge_url: str,
    knowledge_databases: DatabaseStock,
    clock: ManualClock,
    tmp_path: Path,
) -> AsyncIterator[SyncedPair]:
    """Two homes that share a folder."""
    here = settings.model_copy(update={"postgres_url": knowledge_url})
    async with (
        open_memories(here, clock=clock) as memories,
        synced_pair(memories, knowledge_databases, tmp_path) as pair,
    ):
        yield pair


async def status_of(pair: SyncedPair) -> SyncStatus:
    """The state of sync of the first home."""
    status = await read_status(pair.settings)
    assert status is not None
    return status


async def test_a_home_that_does_not_sync_has_no_status(settings: Settings) -> None:
    """Reading it makes nothing."""
    assert await read_status(settings) is None
    assert not (settings.home / FOLDER).exists()


async def test_a_device_is_seen_when_a_file_of_it_is_taken(pair: SyncedPair, clock: ManualClock) -> None:
    """And when it introduces itself; a sync without news says when this device synced, and no more."""
    times: list[datetime] = []
    for _ in range(3):
        await pair.sync()
        times.append(clock.now)
        clock.advance(hours=1)
    assert seen_at(await status_of(pair)) == {LAPTOP: times[2], DESKTOP: times[0]}
    await pair.store_port(pair.other, 8096)
    await pair.sync_other()
    await pair.sync()
    assert seen_at(await status_of(pair)) == {LAPTOP: clock.now, DESKTOP: clock.now}


def seen_at(status: SyncStatus) -> dict[str, datetime | None]:
    """Return when each device was last seen."""
    return {each.name: each.seen_at for each in status.devices}


async def test_a_failure_is_known_until_a_sync_works(pair: SyncedPair, clock: ManualClock) -> None:
    """Since the first one; what was found here waits."""
    await pair.sync()
    synced_at = clock.now
    clock.advance(hours=1)
    await pair.store_port(pair.own, 8096)
    pair.block()
    failed_at = clock.now
    for _ in range(2):
        with pytest.raises(StorageUnavailableError):
            await pair.sync()
        clock.advance(hours=1)
    status = await status_of(pair)
    assert status.failure is not None
    assert status.failure.since == failed_at
    assert "cannot be used" in status.failure.error
    assert (status.synced_at, status.is_waiting, status.unsent, status.outbox) == (synced_at, True, 1, 0)
    assert status.unwritten == 0
    pair.unblock()
    await pair.sync()
    status = await status_of(pair)
    assert (status.failure, status.is_waiting, status.synced_at) == (None, False, clock.now)


async def test_files_that_another_device_has_seen_are_missing(pair: SyncedPair) -> None:
    """As when a carrier keeps them back; the page says how many."""
    await pair.sync()
    with closing(SyncState(pair.settings.home / FOLDER / FILE)) as state:
        (other,) = [each.device for each in state.devices() if each.name == DESKTOP]
    await asyncio.to_thread(_mention, pair, other, 3)
    (missing,) = [each.missing for each in (await status_of(pair)).devices if each.name == DESKTOP]
    assert missing == 3


def _mention(pair: SyncedPair, device: str, number: int) -> None:
    """Let the state say that another device has seen files of a device."""
    with closing(sqlite3.connect(pair.settings.home / FOLDER / FILE)) as connection, connection:
        connection.execute("INSERT OR REPLACE INTO mentions VALUES (?, ?)", (device, number))


async def test_no_status_shows_a_token(pair: SyncedPair) -> None:
    """Neither in the address of the target nor in an error of git."""
    with closing(SyncState(pair.settings.home / FOLDER / FILE)) as state:
        state.keep_own({"target": f"https://{SECRET}@127.0.0.1:1/memories.git".encode()})
    with pytest.raises(StorageUnavailableError) as refused:
        await pair.sync()
    status = await status_of(pair)
    assert status.target == "https://127.0.0.1:1/memories.git"
    assert status.failure is not None
    for text in (str(refused.value), status.failure.error):
        assert "127.0.0.1:1" in text
        assert SECRET not in text


async def test_a_sync_on_request_goes_on_when_nobody_waits(pair: SyncedPair) -> None:
    """Only one at a time; its outcome is known when it has ended."""
    await pair.store_port(pair.own, 8096)
    requested = RequestedSync(pair.settings, pair.own.knowledge, clock=pair.own.knowledge.clock)
    assert await requested.run(wait_s=0) is None
    assert requested.is_running
    outcome = await requested.run(wait_s=DEADLINE_S)
    assert outcome is not None
    assert outcome == requested.outcome
    assert (outcome.has_failed, requested.is_running) == (False, False)
    assert outcome.text.startswith("1 change of this device")
    await requested.aclose()


async def test_a_service_that_stops_ends_a_sync_on_request(pair: SyncedPair) -> None:
    """The next sync does what it could not."""
    await pair.store_port(pair.own, 8096)
    requested = RequestedSync(pair.settings, pair.own.knowledge)
    assert await requested.run(wait_s=0) is None
    await requested.aclose()
    assert not requested.is_running
    await pair.sync()
    assert (await pair.sync_other()).other_changes == 1
