"""Questions of an operator in a browser: what is known, what happened, what an agent would be told."""

import pytest
from playwright.async_api import Page, expect

from support.browser import Dashboard, Screenshot, check_accessibility

pytestmark = pytest.mark.asyncio(loop_scope="session")


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
    """One key chord and a query; results are grouped, say why, and can be forgotten in place."""
    await page.goto("/search")
    await expect(page.get_by_text("No memories yet")).to_be_visible()
    await learn(dashboard)
    await page.goto("/events")
    await page.keyboard.press("Control+k")
    await page.keyboard.type("staging database")
    await page.keyboard.press("Enter")
    for group, text in (
        ("Knowledge", "listens on port 5433"),
        ("Lessons of operations", "dumped at 02:00"),
        ("Notes of the workspace", "host db-3"),
    ):
        await expect(page.get_by_role("region", name=group)).to_contain_text(text)
    await expect(page.get_by_text("It holds “staging”, “database”.").first).to_be_visible()
    await expect(page.get_by_text("green tea")).to_have_count(0)
    await screenshot("search")
    await check_accessibility(page)

    await page.get_by_role("region", name="Knowledge").get_by_role("link", name="Forget").click()
    await page.get_by_role("dialog").get_by_role("button", name="Forget").click()
    await expect(page.get_by_text("The fact was forgotten.")).to_be_visible()
    await expect(page.get_by_text("listens on port 5433")).to_have_count(0)
    await expect(page).to_have_url(f"{dashboard.url}/search?q=staging+database")

    await page.goto("/search?q=submarine")
    await expect(page.get_by_text("No memory covers this")).to_be_visible()


@pytest.mark.requirement("DSH-03.1")
async def test_this_week_says_what_happened_and_why(
    page: Page, dashboard: Dashboard, screenshot: Screenshot
) -> None:
    """Each change of all memories is there with its cause; a tab shows one kind of change."""
    await page.goto("/week")
    await expect(page.get_by_text("No changes")).to_be_visible()
    await learn(dashboard)
    [fact] = [one for one in await dashboard.memories.knowledge.list_facts() if one.subject == "Ada"]
    await dashboard.memories.knowledge.forget_memory("fact", fact.id)
    await dashboard.operational.delete([(await dashboard.operational.list_memories())[0].id])
    await page.goto("/week")
    for text in ("listens on port 5433", "host db-3", "A memory that is gone"):
        await expect(page.get_by_text(text).first).to_be_visible()
    await expect(page.get_by_role("link", name="Audit log").first).to_be_visible()
    await screenshot("week")
    await check_accessibility(page)
    await page.get_by_role("link", name="Forgotten 2").click()
    await expect(page.get_by_text("listens on port 5433")).to_have_count(0)
    await expect(page.locator("#week .items li")).to_have_count(2)


@pytest.mark.requirement("DSH-04.1")
async def test_what_an_agent_would_be_told(page: Page, dashboard: Dashboard, screenshot: Screenshot) -> None:
    """Each line says why it is told, and what just missed says what it lacked; a pin brings it in."""
    await learn(dashboard)
    await page.goto("/briefing?prompt=which+port+does+the+staging+database+use")
    facts = page.get_by_role("region", name="Facts and rules")
    told = facts.locator("li", has_text="listens on port 5433")
    await expect(told.get_by_text("told", exact=True)).to_be_visible()
    await expect(told).to_contain_text("Its score is")
    missed = facts.locator("li", has_text="green tea")
    await expect(missed).to_contain_text("It missed the floor.")
    await screenshot("briefing")
    await check_accessibility(page)

    await missed.get_by_role("button", name="Pin").click()
    await expect(missed).to_contain_text("It is pinned.")
    await expect(missed.get_by_text("told", exact=True)).to_be_visible()
    await missed.get_by_role("button", name="Unpin").click()
    await expect(missed).to_contain_text("It missed the floor.")

    await page.get_by_label("Tokens").fill("60")
    await page.get_by_label("Tokens").press("Enter")
    await expect(told.get_by_text("left out")).to_be_visible()
    await expect(told).to_contain_text("It missed the budget.")
