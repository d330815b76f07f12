"""Barman brings the memories back as they were at a moment."""

import asyncio
from pathlib import Path

import asyncpg
import pytest

from commonplace.core.settings import Settings
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge.memory import KnowledgeMemory
from support.barman import receiving
from support.replication import is_primary, is_streaming, new_server, running, server_directory
from support.workers import until

pytestmark = pytest.mark.cluster

NEXT_LOG = ("switch-wal", "--force", "--archive", "--archive-timeout", "90", "memory")


async def test_memories_come_back_as_they_were_at_a_moment(tmp_path: Path, engine: EmbeddingEngine) -> None:
    """The episode before that moment is there and can be searched; the one after it is not."""
    with (
        server_directory() as directory,
        new_server(directory) as server,
        receiving(server, directory / "barman") as barman,
    ):
        await until(lambda: is_streaming(server), what="a connection of Barman")
        await asyncio.to_thread(barman.run, *NEXT_LOG)
        await asyncio.to_thread(barman.run, "backup", "memory")
        settings = Settings(home=tmp_path, postgres_url=server.url)
        async with KnowledgeMemory.open(settings, engine=engine) as memory:
            await memory.store_episode(content="Before the mistake.", butler="b", fail_open=False)
            connection = await asyncpg.connect(server.url)
            moment = await connection.fetchval("SELECT clock_timestamp()")
            await connection.close()
            await memory.store_episode(content="After the mistake.", butler="b", fail_open=False)
        await asyncio.to_thread(barman.run, *NEXT_LOG)
        restored = directory / "restored"
        to_a_moment = ("--target-time", moment.isoformat(), "--target-action", "promote")
        await asyncio.to_thread(barman.run, "recover", *to_a_moment, "memory", "latest", str(restored))
        with running(restored) as copy:
            await until(lambda: is_primary(copy), what="the end of the recovery")
            there = Settings(home=tmp_path / "restored", postgres_url=copy.url)
            async with KnowledgeMemory.open(there, engine=engine) as memory:
                found = await memory.search("mistake")
                assert [each.memory.content for each in found] == ["Before the mistake."]
                receipt = await memory.store_episode(content="Later.", butler="b", fail_open=False)
                assert receipt.stored
