"""Lists of all memories: each refuses a page that does not exist, with one message."""

import inspect
from datetime import UTC, datetime
from typing import Any

import pytest

from commonplace.apps.memory import AppMemory
from commonplace.core.clock import ManualClock
from commonplace.core.errors import InvalidInputError
from commonplace.core.settings import Settings
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge.memory import KnowledgeMemory
from commonplace.operational.memory import OperationalMemory
from commonplace.workspace.memory import WorkspaceMemory

NO_ID = "6f1e4c1e-0000-4000-8000-000000000000"
ARGUMENTS: dict[str, Any] = {
    "app_id": "cal",
    "entity_id": NO_ID,
    "query": "tea",
    "query_embedding": [1.0] * 384,
    "rule_id": NO_ID,
    "session_id": 1,
    "since": datetime(2026, 3, 1, tzinfo=UTC),
    "state": "waiting",
    "subject": "Ada",
    "table": "facts",
    "topic": "tea",
    "until": datetime(2026, 3, 2, tzinfo=UTC),
}
NOT_CALLED = {"changes_of_session"}
"""Takes a session as a value."""


async def refuse_pages(memory: object) -> list[str]:
    """Call each method of a memory that takes a page with pages that do not exist; return the methods' names."""
    called: list[str] = []
    for name, method in inspect.getmembers(memory, inspect.iscoroutinefunction):
        parameters = inspect.signature(method).parameters
        if name.startswith("_") or name in NOT_CALLED or "limit" not in parameters:
            continue
        called.append(name)
        required = {"limit": 5} | {each: ARGUMENTS[each] for each in parameters.keys() & ARGUMENTS.keys()}
        for field in parameters.keys() & {"limit", "offset"}:
            for value in (-1, 10**30, "5", *([0] if field == "limit" else [])):
                with pytest.raises(InvalidInputError, match=f"{field}: expected a whole number from "):
                    await method(**required | {field: value})
    return called


async def test_lists_of_knowledge_memory_refuse_a_page_that_does_not_exist(
    knowledge: KnowledgeMemory,
) -> None:
    """Reviews and duplicates too; PostgreSQL would refuse a negative limit with an error of its own."""
    called = await refuse_pages(knowledge)
    assert {"reviews", "list_waiting", "list_duplicates", "list_facts", "search", "recall"} <= set(called)


async def test_lists_of_operational_memory_refuse_a_page_that_does_not_exist(
    operational: OperationalMemory,
) -> None:
    """The views too; SQLite would take a negative limit for no limit."""
    assert {"reviews", "sessions", "events", "cooldowns"} <= set(await refuse_pages(operational))
    assert {"sessions", "recent_memories"} <= set(await refuse_pages(operational.views))


async def test_lists_of_app_memory_refuse_a_page_that_does_not_exist(
    database: Settings, clock: ManualClock, engine: EmbeddingEngine
) -> None:
    """The views and the registry too."""
    async with AppMemory.open(database, clock=clock, engine=engine) as apps:
        await apps.registry.register("cal", name="Calendar")
        for part in (apps, apps.registry, apps.loop, apps.subagent, apps.views):
            assert await refuse_pages(part)


async def test_the_search_of_workspace_memory_refuses_a_page_that_does_not_exist(settings: Settings) -> None:
    """``None`` means all."""
    async with WorkspaceMemory.open(settings) as memory:
        assert await refuse_pages(memory) == ["search"]
