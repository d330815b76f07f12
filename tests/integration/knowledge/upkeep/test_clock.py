"""A wrong clock deletes nothing: decay, expiry and cleanup wait until the time is confirmed."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from commonplace.core.clock import format_timestamp
from commonplace.core.errors import ClockError
from commonplace.core.settings import Settings
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge.memory import KnowledgeMemory
from commonplace.operational.memory import OperationalMemory
from commonplace.storage.clock_guard import FILE, ClockGuard, machine_now
from support.commands import CommandLine


def jump(home: Path, *, days: float) -> None:
    """Let the home remember another time at the same uptime, as if the clock had jumped since."""
    now = machine_now()
    at = format_timestamp(datetime.now(UTC) - timedelta(days=days))
    (home / FILE).write_text(json.dumps({"at": at, "uptime_s": now.uptime_s, "boot": now.boot}))


@pytest.mark.requirement("HRD-05.1", "KNW-15.1")
async def test_a_clock_that_jumped_deletes_no_episode(
    knowledge_url: str, tmp_path: Path, engine: EmbeddingEngine
) -> None:
    """The episode is there after the jump, and goes once an operator confirms the time."""
    settings = Settings(home=tmp_path, postgres_url=knowledge_url)
    async with KnowledgeMemory.open(settings, engine=engine) as memory:
        await memory.store_episode(content="The port was moved.", butler="ops")
        async with memory.session.writing() as sql:
            await sql.connection.execute("UPDATE episodes SET expires_at = now() - interval '393 days'")
        jump(tmp_path, days=400)
        for upkeep in (memory.upkeep.cleanup, memory.upkeep.sweep):
            with pytest.raises(ClockError, match="--confirm"):
                await upkeep()
        assert (await memory.stats()).episodes.total == 1
        ClockGuard(tmp_path).confirm()
        assert (await memory.upkeep.cleanup()).expired_deleted == 1


@pytest.mark.requirement("HRD-05.1")
async def test_a_session_goes_on_without_decay(settings: Settings, commonplace: CommandLine) -> None:
    """Operational memory does not decay, its block is there, and the command says what to do."""
    async with OperationalMemory.open(settings) as memory:
        await memory.add(category="timing", observation="Takes 60s to start")
        jump(settings.home, days=-400)
        with pytest.raises(ClockError):
            await memory.upkeep.decay()
    shown = commonplace("ops", "context", COMMONPLACE_HOME=str(settings.home))
    assert "Takes 60s" in shown.out
    assert "decay, expiry and cleanup wait" in shown.err
    refused = commonplace("admin", "clock", COMMONPLACE_HOME=str(settings.home))
    assert (refused.status, refused.err.count("\n")) == (1, 1)
    assert commonplace("admin", "clock", "--confirm", "--json", COMMONPLACE_HOME=str(settings.home)).json[
        "plausible"
    ]
    assert commonplace("admin", "clock", COMMONPLACE_HOME=str(settings.home)).out == "plausible\n"
