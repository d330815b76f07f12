"""Facades of all memories: what callers pass wrongly is refused with an error of commonplace that names it."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any

import pytest

from commonplace.apps.memory import AppMemory
from commonplace.apps.model.conversations import Message
from commonplace.core.clock import ManualClock
from commonplace.core.errors import CommonplaceError, InvalidInputError
from commonplace.core.settings import Settings
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge import FactCriteria
from commonplace.knowledge.memory import KnowledgeMemory
from commonplace.operational.memory import OperationalMemory
from commonplace.workspace.memory import WorkspaceMemory
from support.facades import parts_of
from support.streams import chunks

NO_ID = "6f1e4c1e-0000-4000-8000-000000000000"
ARGUMENTS: dict[str, Any] = {
    "app_id": "cal",
    "butler": "dev",
    "category": "timing",
    "content": "Ada likes tea.",
    "conversation_id": "c-1",
    "decision": "same",
    "document": {},
    "drafts": [],
    "entity_id": NO_ID,
    "ids": [],
    "memory_id": NO_ID,
    "memory_type": "fact",
    "message": "tea",
    "messages": [Message(role="user", content="I like tea.")],
    "number": 1,
    "observation": "Takes 3 s",
    "predicate": "likes",
    "query": "tea",
    "query_embedding": [1.0] * 384,
    "role": "user",
    "rule_id": NO_ID,
    "same": True,
    "scope": "global",
    "session_id": 1,
    "since": datetime(2026, 3, 1, tzinfo=UTC),
    "state": "waiting",
    "subject": "Ada",
    "table": "facts",
    "text": "Ada likes tea.",
    "tier": 1,
    "topic": "tea",
    "prompt": "tea",
    "until": datetime(2026, 3, 2, tzinfo=UTC),
    "verdict": "same",
}
WRONG = (
    *(None, 7, 10**30, float("nan"), "xx", "\x00", "\ud800"),
    *(["x"], [None], {"a": 1}, datetime(2026, 1, 1)),  # noqa: DTZ001 - without a zone
)
OBJECTS = {
    *("cc_spawner", "criteria", "memories", "narrowing", "on_progress", "policy"),
    *("quotas", "request", "style", "told", "wanted"),
}
"""Parameters that take objects of the program, not data."""
NOT_CALLED = {"begin", "changes", "import_episodes", "ingest", "run"}
"""Take objects of the program, or open the database."""


def coroutines(memory: object) -> Iterator[tuple[str, Callable[..., Any], Mapping[str, inspect.Parameter]]]:
    """Yield the methods of a memory or a part, each with its name and parameters."""
    for name in dir(memory):  # ``getmembers`` fails at ``__weakref__`` in Python 3.11.2
        if name.startswith("_") or name in NOT_CALLED:
            continue
        method = getattr(memory, name)
        if inspect.iscoroutinefunction(method):
            yield name, method, inspect.signature(method).parameters


def with_parts(memory: KnowledgeMemory) -> Iterator[tuple[str, object]]:
    """Yield a memory and its parts, each with the beginning of the dotted names of its methods."""
    yield "", memory
    for name in parts_of(KnowledgeMemory):
        yield f"{name}.", attrgetter(name)(memory)


def required(parameters: Mapping[str, inspect.Parameter]) -> dict[str, Any]:
    """Return arguments for the parameters without a default."""
    empty = inspect.Parameter.empty
    return {name: ARGUMENTS.get(name, NO_ID) for name, each in parameters.items() if each.default is empty}


def opened_parts(memory: object) -> list[object]:
    """Return an open memory and its named parts."""
    named = [part for name, part in vars(memory).items() if not name.startswith("_")]
    return [memory, *(part for part in named if type(part).__module__.startswith("commonplace."))]


async def refuse_pages(memory: object) -> set[str]:
    """Call each method of a memory that takes a page with pages that do not exist; return the methods' names."""
    called: set[str] = set()
    for name, method, parameters in coroutines(memory):
        for field in parameters.keys() & {"limit", "offset"}:
            called.add(name)
            for value in (-1, 10**30, "5", *([0] if field == "limit" else [])):
                with pytest.raises(InvalidInputError, match=f"{field}: expected a whole number from "):
                    await method(**{"limit": 5} | required(parameters) | {field: value})
    return called


async def take_or_refuse(memory: object) -> None:
    """Call each method of a memory with a value of a wrong type for each parameter."""
    failed: dict[str, str] = {}
    for name, method, parameters in coroutines(memory):
        for field in parameters.keys() - OBJECTS:
            for value in WRONG:
                try:
                    await method(**required(parameters) | {field: value})
                except CommonplaceError:
                    continue
                except Exception as error:  # noqa: BLE001 - what the test looks for
                    failed[f"{name}({field}={value!r})"] = repr(error)
    assert failed == {}


async def test_lists_of_knowledge_memory_refuse_a_page_that_does_not_exist(
    knowledge: KnowledgeMemory,
) -> None:
    """Reviews and duplicates too; PostgreSQL would refuse a negative limit with an error of its own."""
    called = {
        f"{prefix}{name}" for prefix, part in with_parts(knowledge) for name in await refuse_pages(part)
    }
    paged = {"reviews.list", "reviews.waiting", "reviews.duplicates.list", "lists.facts", "search", "recall"}
    assert paged <= called


async def test_lists_of_operational_memory_refuse_a_page_that_does_not_exist(
    operational: OperationalMemory,
) -> None:
    """Its parts too; SQLite would take a negative limit for no limit."""
    called = {type(part).__name__: await refuse_pages(part) for part in opened_parts(operational)}
    assert {name for name, methods in called.items() if methods} == {
        "OperationalChanges", "OperationalCooldowns", "OperationalEvents", "OperationalFigures",
        "OperationalReviews", "OperationalSessions",
    }  # fmt: skip


async def test_lists_of_app_memory_refuse_a_page_that_does_not_exist(
    database: Settings, clock: ManualClock, engine: EmbeddingEngine
) -> None:
    """Its parts too."""
    async with AppMemory.open(database, clock=clock, engine=engine) as apps:
        await apps.registry.register("cal", name="Calendar")
        called = {type(part).__name__: await refuse_pages(part) for part in opened_parts(apps)}
    assert {name for name, methods in called.items() if methods} == {
        "AppChanges", "AppConversations", "AppMemory", "AppRegistry", "AppSpaces", "AppUsage",
        "DigestWorker", "Injection",
    }  # fmt: skip


async def test_the_search_of_workspace_memory_refuses_a_page_that_does_not_exist(settings: Settings) -> None:
    """``None`` means all."""
    async with WorkspaceMemory.open(settings) as memory:
        assert await refuse_pages(memory) == {"search"}


@pytest.mark.long
async def test_knowledge_memory_refuses_values_of_a_wrong_type(knowledge: KnowledgeMemory) -> None:
    """No error of asyncpg, no naive time, and no text in place of a list."""
    for _, part in with_parts(knowledge):
        await take_or_refuse(part)
    with pytest.raises(InvalidInputError, match="since: expected a datetime with a time zone"):
        await knowledge.events.list(since=datetime(2026, 1, 1))  # noqa: DTZ001 - without a zone
    with pytest.raises(InvalidInputError, match=r"value: expected .* got .*boolean"):
        await knowledge.lists.facts(criteria=FactCriteria(fading="yes"))  # type: ignore[arg-type]


async def test_operational_memory_refuses_values_of_a_wrong_type(operational: OperationalMemory) -> None:
    """No error of SQLite or asyncpg, and no text in place of a list."""
    for part in (
        operational,
        operational.reviews,
        operational.sessions,
        operational.wordings,
        operational.upkeep,
    ):
        await take_or_refuse(part)
    with pytest.raises(InvalidInputError, match="services: expected a list"):
        await operational.context(services="caddy")
    with pytest.raises(InvalidInputError, match="tiers: expected a list"):
        await operational.ingest(chunks(b""), tiers=1)  # type: ignore[arg-type]


async def test_app_memory_refuses_values_of_a_wrong_type(
    database: Settings, clock: ManualClock, engine: EmbeddingEngine
) -> None:
    """Its parts for hosts too."""
    async with AppMemory.open(database, clock=clock, engine=engine) as apps:
        await apps.registry.register("cal", name="Calendar")
        for part in (apps, apps.conversations, apps.digests, apps.focus, apps.registry, apps.shares):
            await take_or_refuse(part)


async def test_workspace_memory_refuses_values_of_a_wrong_type(settings: Settings) -> None:
    """Messages too."""
    async with WorkspaceMemory.open(settings) as memory:
        await memory.store("Ada likes tea.")
        await take_or_refuse(memory)
