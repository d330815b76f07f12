"""A base backup and an archive bring the memories back as they were at a moment."""

from pathlib import Path

import asyncpg
import pytest

from commonplace.core.settings import Settings
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge.memory import KnowledgeMemory
from support.replication import archiving_server, is_primary, restored_server
from support.workers import until

pytestmark = pytest.mark.cluster


async def test_memories_come_back_as_they_were_at_a_moment(tmp_path: Path, engine: EmbeddingEngine) -> None:
    """The episode before that moment is there and can be searched; the one after it is not."""
    with archiving_server() as (server, directory):
        settings = Settings(home=tmp_path, postgres_url=server.url)
        async with KnowledgeMemory.open(settings, engine=engine) as memory:
            await memory.store_episode(content="Before the mistake.", butler="b", fail_open=False)
            connection = await asyncpg.connect(server.url)
            moment = await connection.fetchval("SELECT clock_timestamp()")
            await memory.store_episode(content="After the mistake.", butler="b", fail_open=False)
        written = await connection.fetchval("SELECT pg_walfile_name(pg_switch_wal())")

        async def is_archived() -> bool:
            return (directory / "archive" / written).exists()

        await until(is_archived, what="the archive of the log")
        await connection.close()
        with restored_server(directory, moment) as restored:
            await until(lambda: is_primary(restored), what="the end of the recovery")
            there = Settings(home=tmp_path / "restored", postgres_url=restored.url)
            async with KnowledgeMemory.open(there, engine=engine) as memory:
                found = await memory.search("mistake")
                assert [each.memory.content for each in found] == ["Before the mistake."]
                receipt = await memory.store_episode(content="Later.", butler="b", fail_open=False)
                assert receipt.stored
