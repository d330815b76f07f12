"""The LangGraph store, beside the framework's own and inside a real graph."""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    Item,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchItem,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore
from typing_extensions import TypedDict

from commonplace.adapters.langgraph import CommonplaceStore
from commonplace.core.errors import InvalidInputError, SecretRefusedError
from commonplace.core.settings import Settings
from commonplace.knowledge import KnowledgeMemory, Narrowing
from support.clock import StillClock

ITEMS = {
    (("users", "ann"), "food"): {"text": "Ann likes sushi", "rank": 1, "tags": ["a"]},
    (("users", "ann"), "city"): {"text": "Ann lives in Lisbon", "rank": 2, "deep": {"x": 1}},
    (("users", "bob"), "food"): {"text": "Bob likes pizza", "rank": 3},
    (("docs", "v1", "en"), "intro"): {"text": "A tutorial", "rank": 4.5},
    (("docs", "v2", "en"), "intro"): {"text": "A guide", "rank": None},
}
SEARCHES = [
    SearchOp(()),
    SearchOp(("users",)),
    SearchOp(("users", "ann"), filter={"rank": 1}),
    SearchOp(("users",), filter={"rank": {"$gt": 1, "$lte": 3}}),
    SearchOp((), filter={"rank": {"$ne": 3}, "text": "Ann likes sushi"}),
    SearchOp((), filter={"deep": {"x": 1}}),
    SearchOp((), filter={"tags": ["a"]}),
    SearchOp(("user",)),
]
LISTS = [
    ListNamespacesOp(),
    ListNamespacesOp(match_conditions=(MatchCondition("prefix", ("users",)),)),
    ListNamespacesOp(match_conditions=(MatchCondition("suffix", ("en",)),)),
    ListNamespacesOp(match_conditions=(MatchCondition("prefix", ("docs", "*", "en")),)),
    ListNamespacesOp(max_depth=1),
    ListNamespacesOp(limit=2, offset=1),
]


def found(results: Any) -> list[tuple[Any, ...]]:  # noqa: ANN401 - items or None
    """Return what two stores must agree on, in an order of its own."""
    return sorted((item.namespace, item.key, str(item.value)) for item in results)


async def test_it_answers_as_the_store_of_the_framework(memory: KnowledgeMemory) -> None:
    """The same puts, gets, searches with filters, lists of namespaces and deletes."""
    ours, theirs = CommonplaceStore(memory), InMemoryStore()
    stores: tuple[BaseStore, ...] = (ours, theirs)
    puts = [PutOp(namespace, key, value) for (namespace, key), value in ITEMS.items()]
    for store in stores:
        assert await store.abatch(puts) == [None] * len(puts)
    for search in SEARCHES:
        mine, reference = [(await store.abatch([search]))[0] for store in stores]
        assert found(mine) == found(reference), search
    for listing in LISTS:
        mine, reference = [(await store.abatch([listing]))[0] for store in stores]
        assert mine == reference, listing
    for store in stores:
        await store.adelete(("users", "ann"), "food")
        await store.adelete(("users", "ann"), "nothing")
        assert await store.aget(("users", "ann"), "food") is None
        await store.aput(("users", "ann"), "city", {"text": "Ann lives in Oslo"})
        assert (await store.aget(("users", "ann"), "city")).value == {"text": "Ann lives in Oslo"}
        with pytest.raises(InvalidNamespaceError):
            await store.aput(("a.b",), "k", {})
        assert len(await store.asearch((), limit=2, offset=1)) == 2
    assert found(await ours.asearch((), limit=100)) == found(await theirs.asearch((), limit=100))


async def test_a_batch_reads_before_it_writes_and_the_last_write_wins(memory: KnowledgeMemory) -> None:
    """As in the framework's store."""
    store = CommonplaceStore(memory)
    get, first, last = GetOp(("n",), "k"), PutOp(("n",), "k", {"v": 1}), PutOp(("n",), "k", {"v": 2})
    assert await store.abatch([first, get, last]) == [None, None, None]
    (item,) = await store.abatch([get])
    assert isinstance(item, Item)
    assert item.value == {"v": 2}


async def test_an_item_keeps_its_birth_and_its_history(memory: KnowledgeMemory, clock: StillClock) -> None:
    """A put is a new version of the same item, which knowledge memory keeps."""
    store = CommonplaceStore(memory)
    await store.aput(("n",), "k", {"v": 1})
    born, clock.now = clock.now, clock.now + timedelta(hours=1)
    await store.aput(("n",), "k", {"v": 2})
    item = await store.aget(("n",), "k")
    assert (item.created_at, item.updated_at) == (born, clock.now)
    (fact,) = await memory.lists.facts(validity="active", narrowing=Narrowing(scope="langgraph"))
    assert [each.content for each in await memory.history.chain(fact.id)] == ['{"v": 2}', '{"v": 1}']


async def test_a_search_finds_by_words_and_ranks(memory: KnowledgeMemory) -> None:
    """Within the namespace and the scope; items with ``index=False`` are never found by words."""
    store, other = CommonplaceStore(memory), CommonplaceStore(memory, scope="other")
    for (namespace, key), value in ITEMS.items():
        await store.aput(namespace, key, value)
    await other.aput(("users", "eve"), "food", {"text": "Eve likes sushi"})
    await store.aput(("users", "zoe"), "food", {"text": "Zoe likes sushi"}, index=False)
    await memory.store_fact(subject="sushi", predicate="is", content="Everybody likes sushi")
    first, *rest = await store.asearch(("users",), query="likes sushi")
    assert isinstance(first, SearchItem)
    assert (first.namespace, first.key) == (("users", "ann"), "food")
    scores = [each.score or 0.0 for each in (first, *rest)]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] > 0
    assert {each.namespace[1] for each in (first, *rest)} <= {"ann", "bob"}
    (only,) = await store.asearch(("users",), query="likes sushi", filter={"rank": 3})
    assert only.namespace == ("users", "bob")


async def test_other_facts_of_the_scope_are_no_items(memory: KnowledgeMemory) -> None:
    """The store passes over them, and puts an item in the place of one."""
    store = CommonplaceStore(memory)
    await memory.store_fact(subject="n", predicate="plain", content="Ann likes sushi", scope="langgraph")
    await memory.store_fact(subject="n", predicate="json", content='{"v": "sushi"}', scope="langgraph")
    await store.aput(("n",), "item", {"v": "sushi"})
    assert [await store.aget(("n",), key) for key in ("plain", "json")] == [None, None]
    for query in (None, "sushi"):
        assert [item.key for item in await store.asearch(("n",), query=query)] == ["item"]
    assert await store.alist_namespaces() == [("n",)]
    await store.aput(("n",), "plain", {"v": 1})
    assert (await store.aget(("n",), "plain")).value == {"v": 1}


async def test_a_search_finds_each_of_equal_items(memory: KnowledgeMemory) -> None:
    """Two keys of one namespace may hold the same value."""
    store = CommonplaceStore(memory)
    for key in ("first", "second"):
        await store.aput(("n",), key, {"v": "sushi"})
    assert {item.key for item in await store.asearch(("n",), query="sushi")} == {"first", "second"}


async def test_an_item_expires_unless_it_is_read(memory: KnowledgeMemory, clock: StillClock) -> None:
    """After its time to live, counted from the last write or read; a sweep deletes what expired."""
    store = CommonplaceStore(memory, ttl={"default_ttl": 10, "refresh_on_read": True})
    await store.aput(("n",), "short", {"v": 1})
    await store.aput(("n",), "long", {"v": 2}, ttl=None)
    clock.now += timedelta(minutes=9)
    assert await store.aget(("n",), "short") is not None
    clock.now += timedelta(minutes=9)
    assert await store.aget(("n",), "short", refresh_ttl=False) is not None
    clock.now += timedelta(minutes=1)
    assert await store.aget(("n",), "short") is None
    assert [item.key for item in await store.asearch(("n",))] == ["long"]
    assert [item.key for item in await store.asearch(("n",), query="v")] == ["long"]
    assert (await store.sweep_ttl(), await store.sweep_ttl()) == (1, 0)


async def test_what_memory_cannot_hold_is_refused(memory: KnowledgeMemory) -> None:
    """With an error that names the field; nothing is stored."""
    store = CommonplaceStore(memory)
    for key, value, error in (
        ("k" * 257, {"v": 1}, InvalidInputError),
        (" k", {"v": 1}, InvalidInputError),
        ("k", {"v": object()}, InvalidInputError),
        ("k", {"v": float("nan")}, InvalidInputError),
        ("k", {"v": "ghp_abcdefghijklmnopqrstuvwxyz0123456789"}, SecretRefusedError),
    ):
        with pytest.raises(error):
            await store.aput(("n",), key, value)
    assert await store.asearch(()) == []


async def test_threads_and_loops_share_a_store(memory: KnowledgeMemory) -> None:
    """The methods without await work in other threads, and say so in the memory's own."""
    store = CommonplaceStore(memory)
    await asyncio.to_thread(store.put, ("n",), "k", {"v": 1})
    item = await asyncio.to_thread(lambda: asyncio.run(store.aget(("n",), "k")))
    assert item is not None
    assert item.value == {"v": 1}
    with pytest.raises(RuntimeError, match="use aget"):
        store.get(("n",), "k")


def test_a_program_without_an_event_loop_opens_a_store(knowledge_url: str, tmp_path: Path) -> None:
    """What it stored is there when it opens the store again."""
    settings = Settings(home=tmp_path, workspace=tmp_path, postgres_url=knowledge_url)
    with CommonplaceStore.open(settings) as store:
        store.put(("n",), "k", {"v": 1})
    with CommonplaceStore.open(settings) as store:
        item = store.get(("n",), "k")
        assert item is not None
        assert item.value == {"v": 1}


class State(TypedDict):
    """The state of the graph."""

    said: str
    known: str


async def test_a_graph_remembers_across_runs(memory: KnowledgeMemory) -> None:
    """A node that reads and writes the store of its runtime."""

    async def answer(state: State, runtime: Runtime[None]) -> dict[str, str]:
        assert runtime.store is not None
        before = await runtime.store.asearch(("users", "ann"), query=state["said"])
        await runtime.store.aput(("users", "ann"), state["said"], {"text": state["said"]})
        return {"known": " ".join(item.value["text"] for item in before)}

    graph = StateGraph(State)
    graph.add_node("answer", answer)
    graph.add_edge(START, "answer")
    compiled = graph.compile(store=CommonplaceStore(memory))
    assert (await compiled.ainvoke({"said": "I like sushi", "known": ""}))["known"] == ""
    assert (await compiled.ainvoke({"said": "sushi", "known": ""}))["known"] == "I like sushi"
