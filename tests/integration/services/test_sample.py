"""The sample home: loaded into an empty home, and removed without a trace and without harm to other memories."""

import pytest

from commonplace.core.errors import ConflictError
from commonplace.core.settings import Settings
from commonplace.knowledge import Narrowing, Validity
from commonplace.services.opening import Memories
from commonplace.services.sample import drop, is_loaded, load
from commonplace.services.sample.table import APP_MEMORIES, EPISODES, FACTS, LESSONS, NOTES
from support.service import open_memories


async def _texts(memories: Memories) -> list[str]:
    """Return the texts of all memories in any state, sorted."""
    knowledge = memories.knowledge
    return sorted(
        [
            *(one.observation for one in await memories.operational.list_memories()),
            *(one.text for one in (await memories.workspace.search(limit=None)).memories),
            *(one.content for one in await memories.apps.figures.newest(limit=100)),
            *(one.content for one in await knowledge.lists.facts()),
            *(one.content for one in await knowledge.lists.rules()),
            *(one.content for one in await knowledge.lists.episodes()),
            *(one.canonical_name for one in await knowledge.lists.entities()),
        ]
    )


async def test_dropping_the_sample_leaves_an_empty_home(settings: Settings) -> None:
    """Rows, histories, entities and the app are gone, so that the home is as new."""
    async with open_memories(settings) as memories:
        receipt = await load(memories)
        assert await is_loaded(memories)
        assert (receipt.operational, receipt.apps, receipt.workspace) == (
            len(LESSONS),
            len(APP_MEMORIES),
            len(NOTES),
        )
        assert receipt.knowledge == len(EPISODES) + len(FACTS) + 2
        with pytest.raises(ConflictError, match=r"^The home already has the sample memories\. Remove"):
            await load(memories)

        assert await drop(memories) == receipt
        assert await _texts(memories) == []
        assert await memories.apps.registry.list() == []
        assert await memories.operational.history(1) == []
        assert not await is_loaded(memories)


async def test_dropping_the_sample_keeps_what_others_added(settings: Settings) -> None:
    """Also memories of a sample service, entity and app, a correction, and memories with the tag."""
    async with open_memories(settings) as memories:
        knowledge = memories.knowledge
        await knowledge.store_fact(subject="Carl", predicate="team", content="Carl is on the shop team")
        with pytest.raises(ConflictError, match="--beside-others"):
            await load(memories)
        await load(memories, beside_others=True)
        anna = next(one for one in await knowledge.lists.entities() if one.canonical_name == "Anna")
        team = next(
            one
            for one in await knowledge.lists.facts(
                validity=Validity.ACTIVE, narrowing=Narrowing(entity_id=anna.id)
            )
            if one.predicate == "team"
        )
        await knowledge.store_fact(
            subject="Anna",
            predicate="team",
            content="Anna is on the shop team",
            scope=team.scope,
            tags=team.tags,
            entity_id=anna.id,
        )
        await memories.operational.add(category="timing", service="checkout", observation="Takes 90 seconds")
        await memories.workspace.store("The office closes at six", tags=["office"])
        kept = [
            {
                "content": "Carl is back.",
                "createdAt": "2026-01-01T00:00:00Z",
                "updatedAt": "2026-01-01T00:00:00Z",
            }
        ]
        await memories.apps.import_document("sample", {"memories": kept})

        await drop(memories)
        assert await _texts(memories) == sorted(
            [
                "Anna",
                "Anna is on the shop team",
                "Carl is back.",
                "Carl is on the shop team",
                "Takes 90 seconds",
                "The office closes at six",
            ]
        )
        assert not await is_loaded(memories)
