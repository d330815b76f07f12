"""A primary and its replica: the primary is killed under load, and the replica takes its place."""

import asyncio
import itertools
import logging
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

import asyncpg
import pytest

from commonplace.core.errors import StorageError
from commonplace.core.settings import Settings
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge.memory import KnowledgeMemory
from commonplace.knowledge.workers import Worker
from support.limits import require_within
from support.replication import Server, all_of, primary_and_replica, promote, wait_for_replica
from support.workers import make_lively, until

log = logging.getLogger(__name__)
pytestmark = pytest.mark.cluster

EPISODES: Final = 200
SERVICE_BACK_S: Final = 5.0
"""How soon the first write must succeed after the replica was promoted; a pool tries each dead connection once."""


async def stored(server: Server) -> list[str]:
    """Return the texts of all episodes."""
    connection = await asyncpg.connect(server.url)
    try:
        return [row[0] for row in await connection.fetch("SELECT content FROM episodes")]
    finally:
        await connection.close()


async def test_a_failover_loses_no_acknowledged_write(
    tmp_path: Path, engine: EmbeddingEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The URL names both servers; memory and worker find the new primary, and nothing that was acknowledged is lost."""
    make_lively(monkeypatch)
    acknowledged: list[tuple[float, str]] = []
    with primary_and_replica() as (primary, replica):
        settings = Settings(home=tmp_path, postgres_url=all_of(primary, replica))
        async with (
            KnowledgeMemory.open(settings, engine=engine) as memory,
            Worker.open(settings, knowledge=memory) as worker,
            asyncio.TaskGroup() as group,
        ):
            await wait_for_replica(primary)

            async def store_many() -> None:
                for number in itertools.count():
                    if len(acknowledged) >= EPISODES:
                        return
                    with suppress(StorageError):
                        await memory.store_episode(content=f"Message {number}.", butler="b", fail_open=False)
                        acknowledged.append((time.monotonic(), f"Message {number}."))
                    await asyncio.sleep(0)

            async def has_stored(count: int) -> bool:
                return len(acknowledged) >= count

            group.create_task(worker.run())
            storing = group.create_task(store_many())
            await worker.began.wait()
            await until(lambda: has_stored(EPISODES // 2), what="half of the episodes")
            killed_at = time.monotonic()
            await asyncio.to_thread(primary.kill)
            await promote(replica)
            promoted_at = time.monotonic()
            await storing
            worker.began.clear()
            await asyncio.wait_for(worker.began.wait(), 60)
            worker.stop()
        found = await stored(replica)
    stored_at = min(at for at, _ in acknowledged if at > promoted_at)
    back_s = stored_at - promoted_at
    log.warning(
        "%d acknowledged; seconds from the promotion to the next write: %.2f, from the kill: %.2f",
        len(acknowledged),
        back_s,
        stored_at - killed_at,
    )
    assert {text for _, text in acknowledged} <= set(found)
    assert len(found) == len(set(found))
    require_within(back_s, SERVICE_BACK_S)
