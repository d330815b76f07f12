"""Questions of an operator in a browser: what is known, what happened, what an agent would be told."""

import re

import pytest
from playwright.async_api import Page, expect

from commonplace.operational import MemoryFilter
from support.browser import MEDIUM, WIDE, Screenshot, check_accessibility
from support.dashboards import Dashboard
from support.streams import chunks, encode, init, result, says


async def learn(dashboard: Dashboard) -> None:
    """Store something about a staging database in three memories."""
    memories = dashboard.memories
    await memories.operational.add(
        category="maintenance", service="postgres", observation="The staging database is dumped at 02:00"
    )
    await memories.workspace.store("The staging database is on host db-3")
    await memories.knowledge.store_fact(
        subject="staging database", predicate="port", content="The staging database listens on port 5433"
    )
    await memories.knowledge.store_fact(
        subject="Ada", predicate="drinks", content="Ada drinks green tea", importance=9.0
    )


@pytest.mark.requirement("DSH-05.1")
async def test_one_search_over_all_memories_from_any_page(
    page: Page, dashboard: Dashboard, screenshot: Screenshot
) -> None:
    """One key chord and a query; results are one list, name their memory, say why, and can be forgotten in place."""
    await page.goto("/search")
    await expect(page.get_by_text("No memories yet")).to_be_visible()
    await learn(dashboard)
    await page.goto("/events")
    await page.keyboard.press("Control+k")
    await page.keyboard.type("staging database")
    await page.keyboard.press("Enter")
    results = page.get_by_role("region", name="Results").get_by_role("listitem")
    for short_id, text in (
        (r"fact\s+f:", "listens on port 5433"),
        (r"lesson\s+o:", "dumped at 02:00"),
        (r"note\s+w:", "host db-3"),
    ):
        await expect(results.filter(has_text=text)).to_contain_text(re.compile(short_id))
    await page.get_by_text("Why", exact=True).first.click()
    await expect(page.get_by_text("It contains “staging”, “database”.").first).to_be_visible()
    await expect(page.get_by_text("green tea")).to_have_count(0)
    await screenshot("search")
    await check_accessibility(page)

    await results.filter(has_text="listens on port 5433").get_by_role("button", name="Actions of f:").click()
    await page.locator(".verbs:popover-open").get_by_role("button", name="Forget").click()
    await expect(page.get_by_text(re.compile(r"f:\w+ was forgotten\."))).to_be_visible()
    await expect(page.get_by_text("listens on port 5433")).to_have_count(0)
    await expect(page).to_have_url(f"{dashboard.url}/search?q=staging+database")
    async with page.expect_response(
        "**/search?q=staging+database", timeout=30_000
    ):  # the page asks each minute
        await page.keyboard.press("u")
    await expect(page.get_by_text("listens on port 5433")).to_be_visible()

    await page.goto("/search?since=yesterday")
    await expect(page.get_by_text("host db-3")).to_be_visible()
    await page.goto("/search?q=what+happened+last+week")
    await expect(page.get_by_text("Nothing was stored then")).to_be_visible()
    await page.goto("/search?q=submarine")
    await expect(page.get_by_text("No memories found")).to_be_visible()
    await page.goto("/knowledge/facts")
    await page.keyboard.press("/")
    await expect(page.locator("[data-everywhere]")).to_be_focused()


@pytest.mark.requirement("DSH-03.1")
async def test_this_week_says_what_happened_and_why(
    page: Page, dashboard: Dashboard, screenshot: Screenshot
) -> None:
    """Each change of all memories is there with its cause; a tab shows one kind of change."""
    await page.goto("/week")
    await expect(page.get_by_text("No changes")).to_be_visible()
    await learn(dashboard)
    [fact] = [one for one in await dashboard.memories.knowledge.lists.facts() if one.subject == "Ada"]
    await dashboard.memories.knowledge.forget("fact", fact.id)
    await dashboard.operational.delete([(await dashboard.operational.list_memories())[0].id])
    await page.goto("/week")
    for text in ("listens on port 5433", "host db-3", "Deleted lesson", "Forgotten fact"):
        await expect(page.get_by_text(text).first).to_be_visible()
    await expect(page.get_by_role("link", name="Audit log").first).to_be_visible()
    await screenshot("week")
    await check_accessibility(page)
    await page.get_by_label("Project").select_option("global")
    await expect(page.get_by_text("host db-3")).to_have_count(0)
    await expect(page.get_by_text("listens on port 5433")).to_be_visible()
    await page.get_by_label("Project").select_option("Any")
    await expect(page.get_by_text("host db-3")).to_be_visible()
    await page.get_by_role("link", name="Deleted 1").click()
    await expect(page.get_by_text("listens on port 5433")).to_have_count(0)
    await expect(page.locator("#week .items li")).to_have_count(1)
    await page.get_by_label("Time").select_option("yesterday")
    await expect(page.get_by_text("No changes")).to_be_visible()


@pytest.mark.requirement("DSH-04.1")
async def test_what_an_agent_would_be_told(page: Page, dashboard: Dashboard, screenshot: Screenshot) -> None:
    """Each line says why it is told, and what just missed says what it lacked; a pin brings it in."""
    await learn(dashboard)
    await page.goto("/briefing?prompt=which+port+does+the+staging+database+use")
    text = page.get_by_role("region", name="The text that the prompt gets").locator("pre")
    await expect(text).to_contain_text("listens on port 5433")
    told = page.locator("#told li", has_text="listens on port 5433")
    missed = page.locator("#told li", has_text="green tea")
    await expect(page.get_by_role("region", name="What is in it, and why")).to_contain_text("It scores")
    await expect(missed).to_be_hidden()
    await page.get_by_text("Left out", exact=False).first.click()
    await expect(missed).to_contain_text("Its match with the prompt is too weak: 0.00; the minimum")
    await screenshot("briefing")
    await check_accessibility(page)

    await missed.get_by_role("button", name="Actions of").focus()
    await page.keyboard.press("Enter")
    await page.get_by_role("button", name="Pin", exact=True).press("Enter")
    await expect(missed).to_contain_text("It is pinned, so every prompt shows it.")
    await expect(text).to_contain_text("green tea")
    await page.keyboard.press("u")
    await expect(missed).to_contain_text("Its match with the prompt is too weak: 0.00; the minimum")

    await page.get_by_label("Token budget").fill("60")
    await page.get_by_label("Token budget").press("Enter")
    await expect(page.locator("#left-out li", has_text="listens on port 5433")).to_have_count(1)
    await expect(told).to_contain_text("It does not fit into the token budget.")

    await page.get_by_text("Weights", exact=True).click()
    await page.get_by_role("slider", name="Importance").fill("1")
    await expect(told).to_contain_text("importance 0.50 times 1")


@pytest.mark.requirement("DSH-04.1")
async def test_the_lessons_of_one_service_are_picked_and_forgotten(page: Page, dashboard: Dashboard) -> None:
    """A service narrows the lessons; one is forgotten in place."""
    await learn(dashboard)
    await dashboard.operational.add(category="timing", observation="Starts slowly", service="jellyfin")
    await page.goto("/briefing?prompt=which+port+does+the+staging+database+use")
    lessons = page.locator("#told li:has(.kind-lesson)")
    await expect(lessons).to_have_count(2)
    await page.get_by_label("Service").select_option("jellyfin")
    await expect(lessons).to_have_count(1)
    await expect(lessons).to_contain_text("Starts slowly")
    await lessons.get_by_role("button", name="Actions of o:").click()
    await page.locator(".verbs:popover-open").get_by_role("button", name="Forget").click()
    await expect(lessons).to_have_count(0)
    (left,) = await dashboard.operational.list_memories(MemoryFilter(active=True))
    assert left.service == "postgres"


@pytest.mark.requirement("DSH-06.1")
async def test_the_graph_answers_a_question(page: Page, dashboard: Dashboard, screenshot: Screenshot) -> None:
    """One name shows what is known, two names show how they are connected; a wrong name leads on."""
    knowledge = dashboard.memories.knowledge
    shared = await knowledge.store_episode(content="Ada and Bob moved the orders table", butler="ops")
    for name in ("Ada", "Bob"):
        entity = await knowledge.entities.create(canonical_name=name, entity_type="person")
        fact = await knowledge.store_fact(
            subject=name, predicate="migrated", content=f"{name} moved orders", entity_id=entity.id
        )
        await knowledge.links.create(
            source_type="fact",
            source_id=fact.id,
            target_type="episode",
            target_id=str(shared.id),
            relation="derived_from",
        )
    await knowledge.entities.create(canonical_name="Cid", entity_type="person")
    await page.goto("/knowledge/graph")
    await expect(page.get_by_role("link", name="Ada")).to_be_visible()
    await expect(page.get_by_placeholder("Name an entity, or two: Anna and Ben")).to_be_focused()
    await page.keyboard.type("ada")
    await page.keyboard.press("Enter")
    await expect(page.locator("#graph[data-drawn='3']")).to_be_visible()
    await screenshot("graph-of-one")
    shows = "text => document.querySelector('#graph').labels?.includes(text)"
    for text in ("Ada", "migrated: Ada moved orders", "learned from"):
        await page.wait_for_function(shows, arg=text)
    await page.set_viewport_size(MEDIUM)
    for text in ("Ada", "migrated: Ada moved orders", "learned from", "Ada and Bob moved the orders table"):
        await page.wait_for_function(shows, arg=text)
    await page.set_viewport_size(WIDE)
    for _ in range(8):
        await page.get_by_role("button", name="Zoom out").click()
    await page.wait_for_function(shows, arg="Ada")
    await page.get_by_label("Show").select_option("Rules")
    await expect(page.locator("#graph[data-drawn='1']")).to_be_visible()

    await page.goto("/knowledge/graph?q=What+do+we+know+about+Ada%3F")
    await expect(page.locator("#graph[data-drawn='3']")).to_be_visible()
    await page.goto("/knowledge/graph?q=How+are+Ada+and+Bob+connected%3F")
    await expect(page.get_by_text("Ada and Bob are connected in 4 steps.")).to_be_visible()
    steps = page.get_by_role("region", name="Steps").get_by_role("listitem")
    await expect(steps).to_have_count(5)
    for step, text in enumerate(("↓ migrated", "↓ learned from", "↑ learned from", "↑ migrated")):
        await expect(steps.nth(step)).to_contain_text(text)
    await expect(page.locator("#graph[data-drawn='5']")).to_be_visible()
    await screenshot("graph-of-two")
    await check_accessibility(page)
    await page.goto("/knowledge/graph?q=Ada,+Cid")
    await expect(page.get_by_text("No facts or links connect Ada and Cid")).to_be_visible()
    await page.goto("/knowledge/graph?q=Dora")
    await expect(page.get_by_role("link", name="Search all memories")).to_be_visible()


@pytest.mark.requirement("DSH-03.2")
async def test_what_a_session_taught_is_forgotten_and_comes_back(
    page: Page, dashboard: Dashboard, screenshot: Screenshot
) -> None:
    """The preview names the memories of both kinds; undo restores each lesson with its confidence."""
    session = "7b1f5a52-4a50-4f3a-9d0e-3f1f2f6f0001"
    said = says("[MEMORY:timing:caddy] Reloads in 2s", session_id=session)
    await dashboard.operational.ingest(chunks(encode(init(session), said, result(session_id=session))))
    knowledge = dashboard.memories.knowledge
    episode = await knowledge.store_episode(content="Caddy was reloaded", butler="ops", session_id=session)
    fact = await knowledge.store_fact(
        subject="caddy", predicate="reload", content="takes 2s", source_episode_id=episode.id
    )
    [lesson] = await dashboard.operational.list_memories()
    await page.goto("/sessions")
    await page.get_by_role("link", name="Forget what session 1 learned").click()
    dialog = page.get_by_role("dialog")
    for text in ("Reloads in 2s", "caddy reload: takes 2s", "Caddy was reloaded"):
        await expect(dialog.get_by_text(text)).to_be_visible()
    await screenshot("session-forget")
    await check_accessibility(page)
    await dialog.get_by_role("button", name="Forget 3 memories").click()
    await expect(dialog.get_by_text("3 memories forgotten.")).to_be_visible()
    await expect(dialog.get_by_text("Undo does not bring 1 episode back.")).to_be_visible()
    assert not (await dashboard.operational.get(lesson.id)).active
    assert (await knowledge.read("fact", fact.id)).validity == "retracted"
    await dialog.get_by_role("button", name="Undo").click()
    await expect(page.get_by_text("2 memories restored.")).to_be_visible()
    restored = await dashboard.operational.get(lesson.id)
    assert (restored.active, restored.confidence) == (True, lesson.confidence)
    assert (await knowledge.read("fact", fact.id)).validity == "active"
