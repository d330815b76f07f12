"""One search over all four memories."""

from pathlib import Path

import pytest

from commonplace.core.settings import Settings
from commonplace.services.briefing import BriefingPart
from commonplace.services.search import PARTS, MemoryResults, search_all
from support.apps import said
from support.service import open_memories


def texts(results: list[MemoryResults]) -> dict[BriefingPart, list[str]]:
    """Return the texts of the items by memory, without memories that hold nothing."""
    return {each.memory: [item.text for item in each.items] for each in results if each.items}


@pytest.mark.requirement("REL-02.1")
async def test_every_memory_answers(settings: Settings, knowledge_url: str) -> None:
    """Rare words count more than common ones; what shares no word is left out; ids are those of the commands."""
    async with open_memories(settings.model_copy(update={"postgres_url": knowledge_url})) as memories:
        for observation in (
            "The gateway restarts at night",
            "The gateway needs WireGuard",
            "The dish washer leaks",
        ):
            await memories.operational.add(category="behavior", service="home", observation=observation)
        await memories.workspace.store("WireGuard keys are in the vault")
        await memories.knowledge.store_fact(
            subject="WireGuard", predicate="port", content="WireGuard listens on 51820"
        )
        await memories.knowledge.entities.create(canonical_name="WireGuard", entity_type="other")
        await memories.apps.registry.register("cal", name="Calendar")
        await memories.apps.ingest(
            "cal", "c1", said("Please remember: WireGuard must stay off on Fridays.", "Yes.")
        )

        found = await search_all(memories, "gateway WireGuard")
        assert {each.memory for each in found} == {*PARTS}
        held = texts(found)
        assert held[BriefingPart.KNOWLEDGE] == ["WireGuard", "WireGuard port: WireGuard listens on 51820"]
        assert held[BriefingPart.OPERATIONAL][0] == "The gateway needs WireGuard"
        assert "The dish washer leaks" not in held[BriefingPart.OPERATIONAL]
        assert held[BriefingPart.WORKSPACE] == ["WireGuard keys are in the vault"]
        assert "Fridays" in held[BriefingPart.APPS][0]
        assert all(item.why for each in found for item in each.items)

        newest = texts(await search_all(memories, limit=1))
        assert newest[BriefingPart.OPERATIONAL] == ["The dish washer leaks"]
        assert texts(await search_all(memories, "submarine")) == {}


async def test_a_word_is_found_as_a_word(settings: Settings) -> None:
    """A service by its whole name, an ending aside; no word inside of another one."""
    async with open_memories(settings) as memories:
        add = memories.operational.add
        await add(category="timing", service="redis", observation="Takes 5s to fail over")
        await add(category="behavior", service="adguard", observation="Returns a redirect to the login")
        await add(category="maintenance", service="media-1", observation="Updates restart the stages")
        found = await search_all(memories, "redis", parts=[BriefingPart.OPERATIONAL])
        assert texts(found)[BriefingPart.OPERATIONAL] == ["Takes 5s to fail over"]
        assert found[0].items[0].why.startswith("It contains “redis”. Its likeness with the query is 0.")
        (staged,) = await search_all(memories, "media stage", parts=[BriefingPart.OPERATIONAL])
        assert staged.items[0].why.startswith("It contains “media”, “stages”. ")


@pytest.mark.requirement("REL-02.1")
async def test_the_most_alike_item_comes_first(settings: Settings) -> None:
    """Whichever memory holds it. All items have a likeness that compares them, without a query none."""
    async with open_memories(settings) as memories:
        await memories.operational.add(category="timing", service="backup", observation="Takes 40 minutes")
        await memories.operational.add(category="timing", observation="After a backup, wait for the disk")
        await memories.workspace.store("The bucket of the backup is shop-backups")
        await memories.workspace.store("Ask Grace about the key of the backup")
        for query, first in (
            ("backup takes how many minutes", "Takes 40 minutes"),
            ("bucket of the backup", "The bucket of the backup is shop-backups"),
        ):
            found = await search_all(memories, query)
            assert found[0].items[0].text == first
            likeness = [[item.likeness or 0.0 for item in each.items] for each in found]
            assert [each.problem is None for each in found[:2]] == [True, True]
            assert likeness == [sorted(each, reverse=True) for each in likeness]
            assert likeness[0][0] > likeness[1][0]
        newest = await search_all(memories)
        assert [each.memory for each in newest] == [*PARTS]
        assert {item.likeness for each in newest for item in each.items} == {None}


async def test_a_memory_that_is_down_says_why(settings: Settings, tmp_path: Path) -> None:
    """The others answer."""
    gone = settings.model_copy(update={"postgres_url": f"postgresql://u@/d?host={tmp_path}"})
    async with open_memories(gone) as memories:
        await memories.workspace.store("The vault is in Bern")
        *others, knowledge = await search_all(
            memories, "vault", parts=[BriefingPart.WORKSPACE, BriefingPart.KNOWLEDGE]
        )
        assert knowledge.problem
        assert texts(others)[BriefingPart.WORKSPACE] == ["The vault is in Bern"]
