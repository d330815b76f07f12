"""Words of time at every door of knowledge memory."""

from datetime import UTC, datetime, timedelta

import pytest

from commonplace.core.clock import ManualClock
from commonplace.core.errors import InvalidInputError, NotFoundError
from commonplace.core.settings import Settings
from commonplace.knowledge import Narrowing
from support.service import open_memories

FRIDAY = datetime(2026, 11, 27, 19, tzinfo=UTC)


@pytest.mark.requirement("ONE-03.4")
async def test_every_read_takes_words(settings: Settings, knowledge_url: str) -> None:
    """A narrowing, a diff, the graph, the audit trail, one memory, one entity and its relations."""
    settings = settings.model_copy(update={"postgres_url": knowledge_url, "time_zone": "Europe/Berlin"})
    clock = ManualClock(FRIDAY - timedelta(days=7))
    async with open_memories(settings, clock=clock) as memories:
        knowledge = memories.knowledge
        old = await knowledge.store_fact(subject="Ada", predicate="drinks", content="Ada drinks tea")
        entity = await knowledge.entities.create(canonical_name="Ada", entity_type="person")
        clock.now = FRIDAY
        await knowledge.store_fact(subject="Ada", predicate="drinks", content="Ada drinks coffee")

        async def facts(**when: str) -> set[str]:
            narrowing = Narrowing(**when, times=knowledge.times)  # type: ignore[arg-type]
            return {one.content for one in await knowledge.lists.facts(narrowing=narrowing)}

        both = {"Ada drinks tea", "Ada drinks coffee"}
        assert await facts(since="yesterday") == {"Ada drinks coffee"}
        assert await facts(until="last friday") == {"Ada drinks tea"}
        assert await facts(until="2026-11-27") == {"Ada drinks tea"}
        assert await facts(until="today") == await facts(since="last week") == both

        # The audit trail has the time of the server, so these moments are far from any present.
        early, late = "1 January 1990", "1 January 2099"
        changed = await knowledge.history.diff(early, late)
        assert [one.content for one in changed.added] == ["Ada drinks coffee"]
        assert (await knowledge.get("fact", old.id, as_of=late)).content == "Ada drinks tea"
        with pytest.raises(NotFoundError):
            await knowledge.get("fact", old.id, as_of=early)
        assert (await knowledge.entities.get(entity.id, as_of=late)).canonical_name == "Ada"
        assert await knowledge.entities.relations(entity.id, as_of=early, valid_at=early) == []
        assert await knowledge.events.list(since=late) == await knowledge.events.list(until=early) == []
        assert await knowledge.events.list(since=early, until=late)
        graph = await knowledge.graph.read(entity_id=entity.id, since="yesterday")
        assert str(entity.id) in {str(node.id) for node in graph.nodes.values()}


@pytest.mark.requirement("ONE-03.4")
async def test_what_is_stored_takes_words(settings: Settings, knowledge_url: str) -> None:
    """The period of a fact, and the day of an event; a week is no day."""
    settings = settings.model_copy(update={"postgres_url": knowledge_url, "time_zone": "Europe/Berlin"})
    async with open_memories(settings, clock=ManualClock(FRIDAY)) as memories:
        knowledge = memories.knowledge
        fact = await knowledge.store_fact(
            subject="Ada", predicate="lives", content="x", valid_from="last friday", valid_to="5 May"
        )
        stored = await knowledge.read("fact", fact.id)
        assert stored.valid_from == datetime(2026, 11, 19, 23, tzinfo=UTC)
        assert stored.valid_to == datetime(2027, 5, 5, 21, 59, 59, 999999, UTC)
        episode = await knowledge.store_episode(content="x", butler="b", created_at="yesterday")
        assert (await knowledge.get("episode", str(episode.id))).created_at == datetime(
            2026, 11, 25, 23, tzinfo=UTC
        )
        for created_at in ("last week", "2026", "soon"):
            with pytest.raises(InvalidInputError, match="created_at: expected a date or a time, such as"):
                await knowledge.store_episode(content="x", butler="b", created_at=created_at)
