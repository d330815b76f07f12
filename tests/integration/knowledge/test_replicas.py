"""Read replicas that cannot be used: reads go to the primary, and health and metrics say so.

Tests with a real replica are in ``tests/cluster/test_replicas.py``.
"""

import pytest

from commonplace.core.settings import Settings
from commonplace.knowledge.store import replicas
from commonplace.web.http import health
from commonplace.web.http.health import Checks, State, state_of
from commonplace.web.http.metrics.knowledge import figures
from support.deadlines import DEADLINE_S
from support.service import open_memories


@pytest.mark.session
@pytest.mark.parametrize(
    ("read_url", "fault", "up"),
    [
        ("the primary itself", "no server of COMMONPLACE_POSTGRES_READ_URL is a replica", []),
        ("postgresql://u:hunter2@127.0.0.1:1/d", "127.0.0.1:1: cannot connect", [0]),
    ],
)
async def test_without_a_usable_replica_the_service_is_degraded(
    settings: Settings,
    knowledge_url: str,
    read_url: str,
    fault: str,
    up: list[int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The primary serves the reads; the part names the replica and the reason, and no password."""
    monkeypatch.setattr(replicas, "WAIT_S", DEADLINE_S)
    monkeypatch.setattr(health, "TIMEOUT_S", DEADLINE_S)
    url = read_url if "://" in read_url else knowledge_url
    there = settings.model_copy(update={"postgres_url": knowledge_url, "postgres_read_url": url})
    async with open_memories(there) as memories:
        assert await memories.knowledge.lists.facts() == []
        parts = await Checks(memories=memories).run()
        metrics = {each.name: each.samples for each in await figures(memories.knowledge)}
    part = parts["read replicas"]
    assert part.status is State.DOWN
    assert "reads go to the primary" in part.detail
    assert fault in part.detail
    assert "hunter2" not in part.detail
    assert state_of({"read replicas": part}) is State.DEGRADED
    assert [sample.value for sample in metrics["commonplace_replica_up"]] == up
    reads = {sample.labels["server"]: sample.value for sample in metrics["commonplace_knowledge_reads"]}
    assert reads.pop("primary") > 0
    assert list(reads.values()) == up
