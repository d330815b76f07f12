"""Moving memories between scopes: merged projects, promoted facts, and back."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest

from commonplace.core.clock import ManualClock
from commonplace.core.errors import ConflictError, InvalidInputError, NotFoundError
from commonplace.core.settings import Settings
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge import KnowledgeMemory, Narrowing

pytestmark = pytest.mark.requirement("PRJ-01.1", "PRJ-02.1")


@pytest.fixture
def clock() -> ManualClock:
    """Return a clock that stands still."""
    return ManualClock(datetime(2026, 5, 1, tzinfo=UTC))


@pytest.fixture
async def memory(
    knowledge_url: str, engine: EmbeddingEngine, clock: ManualClock
) -> AsyncIterator[KnowledgeMemory]:
    """Return an empty memory."""
    settings = Settings(postgres_url=knowledge_url)
    async with KnowledgeMemory.open(settings, engine=engine, clock=clock) as opened:
        yield opened


async def port(
    memory: KnowledgeMemory, value: int, scope: str, source_episode_id: UUID | None = None
) -> UUID:
    """Store the port of the database, and return the fact's id."""
    receipt = await memory.store_fact(
        subject="database",
        predicate="port",
        content=f"The database listens on {value}.",
        scope=scope,
        source_episode_id=source_episode_id,
    )
    return receipt.id


async def scopes(memory: KnowledgeMemory) -> dict[str, tuple[str, str]]:
    """Return the scope and the state of each fact by its content."""
    return {each.content: (each.scope, each.validity) for each in await memory.lists.facts(limit=100)}


async def test_a_move_takes_episodes_facts_and_rules_and_leaves_the_other_scopes(
    memory: KnowledgeMemory,
) -> None:
    """Searches with the new scope find them; searches with the old one do not."""
    episode = (await memory.store_episode(content="The deploy of api failed twice.", butler="api")).id
    rule = (await memory.store_rule(content="Deploy api with the canary first.", scope="api")).id
    fact = await port(memory, 5432, "api")
    other = await port(memory, 6543, "web")

    move = await memory.scopes.move("api", "api-7k3m2q9t")

    assert (move.episodes, move.facts, move.rules, move.superseded) == ((episode,), (fact,), (rule,), ())
    found = {
        each.memory.id
        for each in await memory.search(
            "deploy of api, database port", narrowing=Narrowing(scope="api-7k3m2q9t")
        )
    }
    assert {episode, fact, rule} <= found
    assert other not in found
    assert {
        each.memory.id for each in await memory.search("deploy of api", narrowing=Narrowing(scope="api"))
    } == set()
    assert await scopes(memory) == {
        "The database listens on 5432.": ("api-7k3m2q9t", "active"),
        "The database listens on 6543.": ("web", "active"),
    }


async def test_of_two_facts_of_one_key_the_newer_one_stays_and_an_undo_brings_both_back(
    memory: KnowledgeMemory, clock: ManualClock
) -> None:
    """Whichever side the newer one is on."""
    old = await port(memory, 1, "a")
    clock.advance(days=1)
    new = await port(memory, 2, "b")
    clock.advance(days=1)

    forth = await memory.scopes.move("a", "b")

    assert forth.superseded == ((new, old),)
    assert await scopes(memory) == {
        "The database listens on 1.": ("b", "superseded"),
        "The database listens on 2.": ("b", "active"),
    }
    assert forth.event_id is not None
    back = await memory.scopes.undo(forth.event_id)
    assert back.facts == (old,)
    before = {
        "The database listens on 1.": ("a", "active"),
        "The database listens on 2.": ("b", "active"),
    }
    assert await scopes(memory) == before
    forth = await memory.scopes.move("b", "a")
    assert forth.superseded == ((new, old),)
    assert (await scopes(memory))["The database listens on 2."] == ("a", "active")
    assert [each.facts for each in await memory.scopes.undo_all("b", "a")] == [(new,)]
    assert await scopes(memory) == before
    assert await memory.links.list("fact", new) == []


async def test_an_undo_leaves_what_was_stored_since_and_happens_once(memory: KnowledgeMemory) -> None:
    """A fact whose key has a newer fact in the old scope stays where it is."""
    await port(memory, 1, "a")
    move = await memory.scopes.move("a", "b")
    await port(memory, 2, "a")
    assert move.event_id is not None
    back = await memory.scopes.undo(move.event_id)
    assert back.facts == ()
    assert (await scopes(memory))["The database listens on 1."] == ("b", "active")
    with pytest.raises(ConflictError, match="was already undone"):
        await memory.scopes.undo(move.event_id)
    with pytest.raises(NotFoundError):
        await memory.scopes.undo(uuid4())
    assert await memory.scopes.undo_all("a", "b") == []


async def test_a_move_that_was_made_in_two_parts_is_undone_as_a_whole(memory: KnowledgeMemory) -> None:
    """The second move takes what was stored between the two; moves to other scopes stay."""
    first = await port(memory, 1, "a")
    await memory.scopes.move("a", "b")
    rule = (await memory.store_rule(content="Deploy with the canary first.", scope="a")).id
    await memory.scopes.move("a", "b")
    await memory.store_rule(content="Flush the cache.", scope="a")
    await memory.scopes.move("a", "c")

    moves = await memory.scopes.undo_all("a", "b")

    assert [(each.facts, each.rules) for each in moves] == [((), (rule,)), ((first,), ())]
    assert await scopes(memory) == {"The database listens on 1.": ("a", "active")}
    assert {each.scope for each in await memory.lists.rules(limit=10)} == {"a", "c"}
    with pytest.raises(InvalidInputError, match="target"):
        await memory.scopes.undo_all("a", "a")


async def test_a_preview_says_what_a_move_would_do_and_changes_nothing(memory: KnowledgeMemory) -> None:
    """The counts are those of the move that follows."""
    await port(memory, 1, "a")
    await port(memory, 2, "b")
    planned = await memory.scopes.move("a", "b", dry_run=True)
    assert planned.event_id is None
    assert (await scopes(memory))["The database listens on 1."] == ("a", "active")
    made = await memory.scopes.move("a", "b")
    assert (planned.facts, planned.superseded) == (made.facts, made.superseded)
    assert (await memory.scopes.move("a", "b")).count == 0


async def test_only_the_memories_of_some_sessions_move(memory: KnowledgeMemory) -> None:
    """Facts and rules go with the episode that they came from."""
    mine, theirs = uuid4(), uuid4()
    own = (await memory.store_episode(content="We moved the port.", butler="api", session_id=mine)).id
    other = (await memory.store_episode(content="They moved the cache.", butler="api", session_id=theirs)).id
    learned = await port(memory, 1, "api", source_episode_id=own)
    rule = (await memory.store_rule(content="Flush the cache.", scope="api", source_episode_id=other)).id

    move = await memory.scopes.move("api", "api-aaaaaaaa", sessions=[mine])

    assert (move.episodes, move.facts, move.rules) == ((own,), (learned,), ())
    assert {each.id for each in await memory.lists.episodes(limit=10, narrowing=Narrowing(scope="api"))} == {
        other
    }
    assert (await memory.get("rule", rule)).memory_type == "rule"


async def test_a_fact_is_promoted_to_everybody_and_demoted_again(memory: KnowledgeMemory) -> None:
    """Another project reads it only while it is global."""
    fact = await port(memory, 5432, "api")

    async def seen_by_web() -> set[UUID]:
        return {
            each.memory.id
            for each in await memory.search("port of the database", narrowing=Narrowing(scope="web"))
        }

    assert await seen_by_web() == set()
    await memory.scopes.move_memory("fact", fact, "global")
    assert await seen_by_web() == {fact}
    await memory.scopes.move_memory("fact", fact, "api")
    assert await seen_by_web() == set()
    with pytest.raises(InvalidInputError, match="a scope other than"):
        await memory.scopes.move_memory("fact", fact, "api")
    with pytest.raises(NotFoundError):
        await memory.scopes.move_memory("rule", fact, "global")
    episode = (await memory.store_episode(content="The port moved.", butler="api")).id
    assert episode is not None
    with pytest.raises(InvalidInputError, match="fact or rule"):
        await memory.scopes.move_memory("episode", episode, "global")


@pytest.mark.parametrize(("source", "target"), [("a", "a"), ("", "b"), ("a", "")])
async def test_a_move_between_no_two_scopes_is_refused(
    memory: KnowledgeMemory, source: str, target: str
) -> None:
    """The error names the field."""
    with pytest.raises(InvalidInputError):
        await memory.scopes.move(source, target)
