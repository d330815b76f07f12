"""The overview in a browser: all four memories side by side, and none that takes the others down."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from commonplace.core.settings import Settings
from support import known
from support.apps import fill, said
from support.browser import Screenshot, check_accessibility
from support.dashboards import Dashboard
from support.known import earlier
from support.service import open_memories, serving
from support.streams import chunks, encode, init, result

NEWS = "New lessons, digests and notes"


@pytest.fixture
async def silent_server() -> AsyncIterator[str]:
    """A server that takes connections and never says anything; yields its URL as PostgreSQL's."""

    async def say_nothing(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await over.wait()
        writer.close()

    over = asyncio.Event()
    async with await asyncio.start_server(say_nothing, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        yield f"postgresql://postgres@127.0.0.1:{port}/postgres"
        over.set()


async def test_what_was_learned_what_fades_and_what_failed(
    page: Page, dashboard: Dashboard, screenshot: Screenshot
) -> None:
    """Every memory has its part on the page, and so has the health of all."""
    memories = dashboard.memories
    await page.goto("/")
    await expect(page.get_by_text("No lessons, digests or notes yet")).to_be_visible()
    await expect(page.get_by_text("No facts or rules yet")).to_be_visible()
    first = page.get_by_role("region", name="Start here", exact=True)
    await expect(first.get_by_role("button", name="Copy")).to_have_count(3)
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await first.get_by_role("button", name="Copy: commonplace demo").click()
    await expect(page.get_by_text("Copied: commonplace demo")).to_be_visible()
    assert await page.evaluate("navigator.clipboard.readText()") == "commonplace demo"
    await page.reload()
    await expect(page.get_by_text("parts of the service work")).to_be_visible()
    await expect(page.get_by_text("No facts or rules yet")).to_be_visible()
    await screenshot("overview-empty")

    dashboard.clock.now -= timedelta(days=40)
    await dashboard.operational.add(category="timing", service="jellyfin", observation="Takes 60s to start")
    dashboard.clock.now += timedelta(days=40)
    await dashboard.operational.add(category="dependency", service="caddy", observation="Needs WireGuard")
    await dashboard.operational.ingest(chunks(encode(init(), result("Out of turns", is_error=True))))
    await memories.workspace.store("PostgreSQL listens on port 5433 here")
    await memories.apps.registry.register("cal", name="Calendar")
    await fill(memories.apps, "cal", 3)
    await memories.apps.energy.spend(1000)
    await memories.apps.ingest("cal", "late", said("Please remember the parcel for board nine.", "Yes."))
    await earlier(memories.knowledge, 70).store_fact(
        subject="release", predicate="leaves on", content="Tuesday", permanence="volatile"
    )
    await known.fill(memories.knowledge)

    await page.reload()
    learned = page.get_by_role("region", name=NEWS)
    for words in ("Needs WireGuard", "port 5433", "matter3", "lesson", "note", "cal"):
        await expect(learned).to_contain_text(words)
    await expect(page.get_by_role("region", name="Fading lessons")).to_contain_text("Takes 60s to start")
    await expect(page.get_by_role("region", name="Failed sessions")).to_contain_text("Out of turns")
    await expect(page.get_by_role("region", name="Waiting and failed digests")).to_contain_text("late")
    await expect(page.get_by_role("img", name="Digests: 3 new in 30 days")).to_be_visible()
    await expect(page.get_by_role("region", name="Start here")).to_have_count(0)
    await expect(page.get_by_role("region", name="New facts and rules")).to_contain_text("telescope dome")
    await expect(page.get_by_role("region", name="Fading facts")).to_contain_text("release")
    failed = page.get_by_role("region", name="Failed background work")
    for words in ("run failed", "the model is busy", "dead letter", "No JSON block found"):
        await expect(failed).to_contain_text(words)
    dead = page.locator("#load-knowledge .figure", has_text="Dead letters")
    await expect(dead).to_contain_text("1")
    await expect(page.get_by_text("parts of the service work")).to_have_count(0)
    health = page.get_by_role("region", name="Health")
    await expect(health).to_contain_text("No language model is set")
    await expect(health).to_contain_text("will not be tried again")
    await health.get_by_role("button", name="Copy: commonplace consolidation allow MODEL").click()
    await expect(page.get_by_text("Copied: commonplace consolidation allow MODEL")).to_be_visible()
    assert await page.evaluate("navigator.clipboard.readText()") == "commonplace consolidation allow MODEL"
    await check_accessibility(page)
    await screenshot("overview-filled")


async def test_an_empty_home_offers_sample_memories(
    page: Page, dashboard: Dashboard, screenshot: Screenshot
) -> None:
    """One click loads them, and two remove them; the overview follows."""
    await page.goto("/")
    await expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    await page.get_by_role("button", name="Load sample memories").click()
    # The page may follow while they are being stored.
    await expect(page.get_by_role("region", name=NEWS)).to_contain_text("indexer")
    assert len(await dashboard.operational.list_memories()) > 1
    await page.reload()
    await expect(page.get_by_role("region", name=NEWS)).to_contain_text("indexer")
    await expect(page.get_by_text("This home has sample memories.")).to_be_visible()
    await check_accessibility(page)
    await screenshot("overview-sample")
    await page.goto("/briefing?prompt=Who+owns+the+orders+database%3F")
    told = page.get_by_role("region", name="What is in it, and why").locator("li")
    await expect(told.filter(has_text="Ben owns the orders")).to_be_visible()
    await page.goto("/")
    await page.get_by_role("link", name="Remove the sample memories").click()
    await page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    await expect(page.get_by_text("No memory is stored yet.")).to_be_visible()
    assert await dashboard.operational.list_memories() == []


async def test_the_page_comes_at_once_while_knowledge_memory_is_opening(
    page: Page, silent_server: str, screenshot: Screenshot, tmp_path: Path
) -> None:
    """Its server takes the connection and says nothing: the cards of the others are there, its own say it starts."""
    settings = Settings(home=tmp_path / "other", workspace=tmp_path, postgres_url=silent_server)
    async with open_memories(settings) as memories, serving(memories) as url:
        await memories.operational.add(category="timing", observation="Takes 60s to start")
        answer = await page.goto(url, wait_until="commit")
        assert answer is not None
        assert answer.ok
        learned = page.get_by_role("region", name=NEWS)
        await expect(learned).to_contain_text("Takes 60s to start")
        await expect(page.get_by_text("The database is starting.").first).to_be_visible()
        await screenshot("overview-starting")


async def test_a_memory_that_is_down_leaves_the_others_alone(
    page: Page, screenshot: Screenshot, tmp_path: Path
) -> None:
    """Nobody listens at the server's address: its cards and the health of the service say so."""
    settings = Settings(
        home=tmp_path / "other", workspace=tmp_path, postgres_url="postgresql://postgres@127.0.0.1:1/none"
    )
    async with open_memories(settings) as memories, serving(memories) as url:
        await memories.operational.add(category="timing", observation="Takes 60s to start")
        await page.goto(url)
        await expect(page.get_by_role("region", name=NEWS)).to_contain_text("Takes 60s to start")
        fresh = page.get_by_role("region", name="New facts and rules")
        await expect(fresh.get_by_role("alert")).to_contain_text("Unavailable")
        await page.reload()
        health = page.get_by_role("region", name="Health")
        await expect(health).to_contain_text("Knowledge")
        await expect(health).to_contain_text("down")
        await screenshot("overview-down")
