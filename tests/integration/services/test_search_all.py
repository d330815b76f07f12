"""One search over all four memories."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from commonplace.core.clock import ManualClock
from commonplace.core.settings import Settings
from commonplace.services.briefing import BriefingPart
from commonplace.services.memory_ids import MemoryKind
from commonplace.services.opening import Memories
from commonplace.services.search.items import MemoryResults, SearchCriteria, memory_of
from commonplace.services.search.searching import search_all
from support.apps import said
from support.service import open_memories

FRIDAY = datetime(2026, 11, 27, 19, tzinfo=UTC)


def texts(results: MemoryResults, *kinds: MemoryKind) -> list[str]:
    """Return the texts of the items of some kinds, or of all."""
    return [item.text for item in results.items if not kinds or item.kind in kinds]


@asynccontextmanager
async def open_all(
    settings: Settings, knowledge_url: str, clock: ManualClock | None = None
) -> AsyncIterator[Memories]:
    """Open all four memories on a database of the test, by default on a Friday evening."""
    settings = settings.model_copy(update={"postgres_url": knowledge_url, "time_zone": "Europe/Berlin"})
    async with open_memories(settings, clock=clock or ManualClock(FRIDAY)) as memories:
        yield memories


@pytest.mark.requirement("REL-02.1")
async def test_every_memory_answers(settings: Settings, knowledge_url: str) -> None:
    """One list of all memories; rare words count more than common ones; every item says why it is there."""
    async with open_all(settings, knowledge_url) as memories:
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
        assert {memory_of(item.kind) for item in found.items} == {
            BriefingPart.KNOWLEDGE,
            BriefingPart.OPERATIONAL,
            BriefingPart.APPS,
            BriefingPart.WORKSPACE,
        }
        assert texts(found)[0] == "The gateway needs WireGuard"
        assert texts(found, MemoryKind.ENTITY) == ["WireGuard"]
        assert "The dish washer leaks" not in texts(found)
        assert "Fridays" in texts(found, MemoryKind.DIGEST)[0]
        assert all(item.why for item in found.items)
        scores = [item.score or 0.0 for item in found.items]
        assert scores == sorted(scores, reverse=True)
        assert (await search_all(memories, "submarine")).items == ()
        assert len((await search_all(memories, limit=2)).items) == 2


@pytest.mark.requirement("ONE-03.1")
async def test_names_are_found_in_episodes(settings: Settings, knowledge_url: str) -> None:
    """Whatever its meaning is: a literal match stands before memories that are only alike."""
    async with open_all(settings, knowledge_url) as memories:
        await memories.knowledge.store_episode(content="Ben and Anna moved the orders table", butler="dev")
        await memories.knowledge.store_rule(content="Ask Anna before a migration")
        await memories.knowledge.store_fact(subject="orders", predicate="owner", content="Ben owns orders")
        found = await search_all(memories, "anna")
        assert set(texts(found)[:2]) == {"Ben and Anna moved the orders table", "Ask Anna before a migration"}
        assert all((item.score or 0) > 1 for item in found.items[:2])
        assert all((item.score or 0) <= 1 for item in found.items[2:])


@pytest.mark.requirement("ONE-03.1")
@pytest.mark.parametrize(
    ("text", "queries"),
    [
        ("See src/api/limits.py for the quota", ("api/limits.py", "limits.py", "limits", "LIMIT", "src/api")),
        ("Müller wohnt in der Straße 7", ("Müller", "muller", "Mueller", "STRASSE", "strasse", "7")),
        ("Grüße aus Köln", ("grusse", "koeln", "KÖLN", "grüß")),
        ("The port is 51820, not 5432", ("51820", "port 51820", "5432")),
        (
            "Renée said “don\u2019t panic” on Tuesday",
            ("renee", "don't", '"don\'t panic"', "“don\u2019t panic”"),
        ),
        ("データベースは東京にある", ("東京", "データベース", "ベース")),
        ("데이터베이스는 서울에 있다", ("서울", "데이터베이스")),
        ("Москва и Ёлка", ("москва", "елка", "ЁЛКА")),
        ("max_connections = 200 in c++", ("max_connections", "connections", "c++", "200")),
        ("It is what it is", ("is", "it is what it is")),
        ("The Σίσυφος job ☕ failed", ("ΣΊΣΥΦΟΣ", "☕", "fail")),
        ("100% of $HOME was /var/lib", ("100%", "$HOME", "/var/lib", "%")),
    ],
)
async def test_every_literal_match_is_found(
    settings: Settings, knowledge_url: str, text: str, queries: tuple[str, ...]
) -> None:
    """Parts of words, other cases, accents, umlauts, quotes, numbers and scripts without spaces, in every kind."""
    async with open_all(settings, knowledge_url) as memories:
        await memories.knowledge.store_episode(content=text, butler="dev")
        await memories.knowledge.store_rule(content=text)
        await memories.knowledge.store_fact(subject="a subject", predicate="is", content=text)
        await memories.operational.add(category="behavior", service="home", observation=text)
        await memories.workspace.store(text)
        kinds = {
            MemoryKind.EPISODE,
            MemoryKind.RULE,
            MemoryKind.FACT,
            MemoryKind.LESSON,
            MemoryKind.NOTE,
        }
        for query in queries:
            literal = [
                item.kind for item in (await search_all(memories, query)).items if (item.score or 0) > 1
            ]
            assert {*literal} == kinds, query


async def test_a_short_word_is_found_as_a_word(settings: Settings) -> None:
    """An ending aside; a part of a longer word ranks behind the word."""
    async with open_memories(settings) as memories:
        add = memories.operational.add
        await add(category="timing", service="redis", observation="Takes 5s to fail over")
        await add(category="behavior", service="adguard", observation="Returns a redisplay to the login")
        await add(category="maintenance", service="media-1", observation="Updates restart the stages")
        criteria = SearchCriteria(kinds=[MemoryKind.LESSON])
        found = await search_all(memories, "redis", criteria=criteria)
        assert texts(found) == ["Takes 5s to fail over", "Returns a redisplay to the login"]
        assert found.items[0].why.startswith("It contains “redis”. Its similarity to the query is 0.")
        staged = await search_all(memories, "media stage", criteria=criteria)
        assert staged.items[0].why.startswith("It contains “media”, “stage”. ")
        assert texts(await search_all(memories, "di", criteria=criteria)) == []


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
            assert found.items[0].text == first
            assert all(item.likeness is not None for item in found.items)
        newest = await search_all(memories)
        assert {item.likeness for item in newest.items} == {None}


async def test_a_memory_that_is_down_says_why(settings: Settings, tmp_path: Path) -> None:
    """The others answer."""
    gone = settings.model_copy(update={"postgres_url": f"postgresql://u@/d?host={tmp_path}"})
    async with open_memories(gone) as memories:
        await memories.workspace.store("The vault is in Bern")
        found = await search_all(memories, "vault", parts=[BriefingPart.WORKSPACE, BriefingPart.KNOWLEDGE])
        assert list(found.problems) == [BriefingPart.KNOWLEDGE]
        assert texts(found) == ["The vault is in Bern"]


@pytest.mark.requirement("ONE-03.1")
async def test_what_is_gone_is_not_found(settings: Settings, knowledge_url: str) -> None:
    """Forgotten, superseded and expired memories, inactive lessons, and memories of another tenant."""
    clock = ManualClock(FRIDAY)
    async with open_all(settings, knowledge_url, clock) as memories:
        knowledge = memories.knowledge
        forgotten = await knowledge.store_fact(
            subject="a", predicate="b", content="a zebra that was forgotten"
        )
        await knowledge.forget("fact", forgotten.id)
        rule = await knowledge.store_rule(content="a zebra rule that was forgotten")
        await knowledge.forget("rule", rule.id)
        await knowledge.store_fact(subject="x", predicate="y", content="a zebra of old")
        await knowledge.store_fact(subject="x", predicate="y", content="a horse of today")
        episode = await knowledge.store_episode(content="a zebra episode that was forgotten", butler="dev")
        await knowledge.forget("episode", str(episode.id))
        await knowledge.store_episode(content="a zebra episode that expires", butler="dev")
        other = knowledge.acting_for(tenant_id="other", actor="other")
        await other.store_rule(content="a zebra of another tenant")
        await memories.operational.add(category="behavior", service="zoo", observation="a zebra lesson")
        await memories.operational.delete([one.id for one in await memories.operational.list_memories()])
        clock.advance(days=400)
        for query in ("zebra", "zeb", "a zebra of"):
            found = await search_all(memories, query)
            assert [text for text in texts(found) if "zebra" in text] == []


@pytest.mark.requirement("ONE-03.2")
async def test_a_question_about_a_time_lists_that_time(settings: Settings, knowledge_url: str) -> None:
    """Days of the time zone; nothing of another day, even if it is alike; a bare word is also searched for."""
    clock = ManualClock(FRIDAY - timedelta(days=1))
    async with open_all(settings, knowledge_url, clock) as memories:
        await memories.workspace.store("Yesterday's note")
        clock.now = datetime(2026, 11, 26, 23, 30, tzinfo=UTC)  # Friday, 0:30 in Berlin
        await memories.knowledge.store_episode(content="The deploy of yesterday failed", butler="dev")
        clock.now = FRIDAY
        assert texts(await search_all(memories, "what happened today?")) == ["The deploy of yesterday failed"]
        for query in ("what happened yesterday?", "was ist gestern passiert?", "qué pasó ayer?"):
            assert texts(await search_all(memories, query)) == ["Yesterday's (2026-11-25) note"]
        assert texts(await search_all(memories, "yesterday")) == [
            "Yesterday's (2026-11-25) note",
            "The deploy of yesterday failed",
        ]
        none = await search_all(memories, "what happened last week?")
        assert (none.items, none.period is not None) == ((), True)


@pytest.mark.requirement("ONE-03.2")
async def test_a_search_is_narrowed(settings: Settings, knowledge_url: str) -> None:
    """By kind, by time, by the person or thing, and by the project."""
    clock = ManualClock(FRIDAY - timedelta(days=7))
    async with open_all(settings, knowledge_url, clock) as memories:
        knowledge = memories.knowledge
        await knowledge.entities.create(canonical_name="Ada Lovelace", entity_type="person", aliases=["Ada"])
        await knowledge.store_fact(subject="Ada Lovelace", predicate="likes", content="She likes green tea")
        await memories.workspace.store("Ask Ada about tea")
        await memories.workspace.store("Tea from Canada is in the kitchen")
        clock.now = FRIDAY
        await knowledge.store_rule(content="Serve tea at five", scope="kitchen")
        await knowledge.store_episode(content="We drank tea", butler="kitchen")

        async def narrowed(**criteria: object) -> set[str]:
            return {*texts(await search_all(memories, "tea", criteria=SearchCriteria(**criteria)))}  # type: ignore[arg-type]

        assert await narrowed(kinds=[MemoryKind.RULE]) == {"Serve tea at five"}
        times = knowledge.times
        assert await narrowed(since=times.since("yesterday")) == {"Serve tea at five", "We drank tea"}
        early = await narrowed(until=times.until("last friday"))
        assert early == {
            "Ada Lovelace likes: She likes green tea",
            "Ask Ada about tea",
            "Tea from Canada is in the kitchen",
        }
        assert await narrowed(about="Ada") == {"Ada Lovelace likes: She likes green tea", "Ask Ada about tea"}
        assert await narrowed(scope="kitchen") == {"Serve tea at five", "We drank tea"}
        about = await search_all(memories, criteria=SearchCriteria(about="ada lovelace"))
        assert {item.kind for item in about.items} == {MemoryKind.ENTITY, MemoryKind.FACT, MemoryKind.NOTE}


async def test_more_items_than_the_limit_are_announced(settings: Settings, knowledge_url: str) -> None:
    """With and without a query."""
    async with open_all(settings, knowledge_url) as memories:
        for number in range(4):
            await memories.workspace.store(f"The vault number {number}")
        for query in ("vault", ""):
            assert (await search_all(memories, query, limit=3)).has_more
            assert not (await search_all(memories, query, limit=4)).has_more
