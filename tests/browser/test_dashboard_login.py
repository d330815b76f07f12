"""The dashboard in a browser where a login is asked for: what happens to a draft when the login ends."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from commonplace.core.settings import Settings
from commonplace.operational.model.memories import Lesson
from support.browser import DEADLINE_MS
from support.secured import Secured, secured


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarded:
    """A service that asks for tokens, and a tab in front of its login."""

    service: Secured
    page: Page

    async def log_in(self, who: str, *, at: str) -> None:
        """Open a page as somebody, and wait until its scripts have run."""
        await self.page.goto(at)
        await self.page.get_by_label("Token").fill(self.service.issued[who].secret)
        await self.page.get_by_role("button", name="Log in").click()
        await self.page.wait_for_url(f"{self.service.url}{at}", wait_until="load")


@pytest.fixture
async def guarded(browser: Browser, settings: Settings) -> AsyncIterator[Guarded]:
    """A service over empty memories, which nobody has logged in to."""
    async with secured(settings) as service:
        context = await browser.new_context(base_url=service.url)
        context.set_default_timeout(DEADLINE_MS)
        yield Guarded(service=service, page=await context.new_page())
        await context.close()


async def begin_draft(guarded: Guarded, text: str) -> tuple[Lesson, Locator]:
    """Log in as a writer and begin to change a memory; return it, and the field that holds the draft."""
    operational = guarded.service.memories.operational
    memory = (await operational.add(category="timing", observation="Takes 60s")).memory
    await guarded.log_in("writer", at="/memories")
    await guarded.page.get_by_label(f"Edit lesson {memory.id}").click()
    field = guarded.page.get_by_label("Observation", exact=True)
    await field.fill(text)
    return memory, field


@pytest.mark.requirement("OPS-12.2")
async def test_a_login_that_ends_takes_no_draft_away(guarded: Guarded) -> None:
    """Neither the next look at the list nor saving leads away from the form; who logs in elsewhere reads on."""
    page = guarded.page
    _, field = await begin_draft(guarded, "Takes 90s, half wr")
    await guarded.service.tokens.revoke(guarded.service.issued["writer"].token.id)

    again = page.locator("#connection").get_by_role("link", name="Log in again")
    await expect(again).to_be_visible()
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("alert")).to_contain_text("Nothing was changed")
    await expect(field).to_have_value("Takes 90s, half wr")
    await page.get_by_label("Category").select_option("timing")
    await expect(page.get_by_text("Log in again in another tab.").last).to_be_visible()
    await expect(field).to_have_value("Takes 90s, half wr")

    async with page.context.expect_page() as opened:
        await again.click()
    other = await opened.value
    await other.get_by_label("Token").fill(guarded.service.issued["admin"].secret)
    await other.get_by_role("button", name="Log in").click()
    await expect(again).to_be_hidden()
    await expect(field).to_have_value("Takes 90s, half wr")


@pytest.mark.requirement("OPS-12.2")
async def test_a_draft_is_saved_after_the_next_login(guarded: Guarded) -> None:
    """Whoever logs in again with the same token in another tab goes on where they were."""
    page = guarded.page
    memory, _ = await begin_draft(guarded, "Takes 90s")
    await page.context.clear_cookies()
    save = page.get_by_role("button", name="Save")
    await save.click()
    await expect(page.get_by_role("alert")).to_contain_text("Nothing was changed")

    async with page.context.expect_page() as opened:
        await page.locator("#connection").get_by_role("link", name="Log in again").click()
    other = await opened.value
    await other.get_by_label("Token").fill(guarded.service.issued["writer"].secret)
    await other.get_by_role("button", name="Log in").click()
    await other.wait_for_url(f"{guarded.service.url}/")
    await save.click()
    await expect(page.get_by_text("Saved.")).to_be_visible()
    assert (await guarded.service.memories.operational.get(memory.id)).observation == "Takes 90s"
