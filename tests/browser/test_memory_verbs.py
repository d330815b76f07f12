"""Memories of every kind in a browser: the quick search, the menu of verbs, copying an id, keys, accessibility."""

import pytest
from playwright.async_api import Page, expect

from support.browser import NARROW, WIDE, Screenshot, check_accessibility
from support.dashboards import Dashboard

pytestmark = pytest.mark.asyncio(loop_scope="session")

FIELD = "[data-everywhere]"


async def learn(dashboard: Dashboard) -> None:
    """Store memories of several kinds about tea."""
    memories = dashboard.memories
    await memories.knowledge.store_fact(subject="Ada", predicate="drinks", content="Ada drinks green tea")
    await memories.operational.add(
        category="timing", observation="The tea kettle starts slowly", service="tea"
    )
    await memories.workspace.store("The tea kettle listens on port 5433", tags=["infra"])


async def test_the_quick_search_by_keyboard_alone(
    page: Page, dashboard: Dashboard, screenshot: Screenshot
) -> None:
    """Results come while a person types; arrows choose one and its verbs; a screen reader hears what is chosen."""
    await learn(dashboard)
    await page.goto("/events")
    field = page.locator(FIELD)
    await page.keyboard.press("Control+k")
    await expect(field).to_be_focused()
    await expect(field).to_have_attribute("aria-expanded", "false")
    await page.keyboard.type("tea")
    await expect(field).to_have_attribute("aria-expanded", "true")
    await expect(page.locator("#quick-status")).to_have_text("3 memories.")
    await screenshot("quick-search")
    await check_accessibility(page)

    options = page.locator("#quick").get_by_role("option")
    await page.keyboard.press("ArrowUp")
    await expect(options.last).to_have_attribute("aria-selected", "true")
    while "w:1" not in await page.locator("#quick [aria-selected=true]").inner_text():
        await page.keyboard.press("ArrowDown")
    chosen = await page.locator("#quick [aria-selected=true]").get_attribute("id")
    await expect(field).to_have_attribute("aria-activedescendant", chosen or "")
    await expect(field).to_be_focused()

    await page.keyboard.press("ArrowRight")
    await expect(page.locator("#quick").get_by_role("listbox")).to_have_accessible_name("Actions of w:1")
    await expect(options).to_have_text(["Show w:1", "Edit w:1", "Forget w:1", "Compare w:1"])
    await check_accessibility(page)
    await page.keyboard.press("ArrowLeft")
    await expect(page.locator(f"#{chosen}")).to_have_attribute("aria-selected", "true")
    await page.keyboard.press("ArrowRight")
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("w:1 was forgotten.")).to_be_visible()
    assert (await dashboard.memories.workspace.search()).memories == ()
    await field.press("Escape")
    await page.locator("main").click()
    await page.keyboard.press("u")
    await expect(page.get_by_text("w:1 was restored.")).to_be_visible()


async def test_the_quick_search_shows_edits_and_gives_up(page: Page, dashboard: Dashboard) -> None:
    """An id finds its memory; a verb opens its form; Escape closes; Enter without a choice lists all results."""
    await learn(dashboard)
    await page.goto("/")
    await page.keyboard.press("Control+k")
    await page.keyboard.type("o:1")
    await expect(page.locator("#quick-status")).to_have_text("1 memory.")
    for key in ("ArrowDown", "ArrowRight", "ArrowDown", "Enter"):
        await page.keyboard.press(key)
    await page.get_by_role("dialog").get_by_label("Text").fill("The kettle starts at once")
    await page.keyboard.press("Control+Enter")
    await expect(
        page.get_by_text("o:1 has the new text. Before: The tea kettle starts slowly")
    ).to_be_visible()

    await page.keyboard.press("Control+k")
    await page.keyboard.type("zebra")
    await expect(page.locator("#quick-status")).to_have_text("No memories match.")
    await page.keyboard.press("Escape")
    await expect(page.locator("#quick")).to_be_hidden()
    await page.locator(FIELD).fill("tea")
    await expect(page.locator("#quick-status")).to_have_text("3 memories.")
    await page.keyboard.press("Enter")
    await expect(page).to_have_url(f"{dashboard.url}/search?q=tea")
    await page.keyboard.press("Control+k")
    await page.keyboard.type("w:1")
    await expect(page.locator("#quick-status")).to_have_text("1 memory.")
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("Enter")
    await expect(page).to_have_url(f"{dashboard.url}/show/w:1")


async def test_the_keys_are_listed(page: Page, dashboard: Dashboard) -> None:
    """A question mark lists them, but not while a person types."""
    assert dashboard.url
    await page.goto("/memories")
    await page.keyboard.press("?")
    await expect(page.get_by_role("dialog").get_by_text("Search all memories from any page")).to_be_visible()
    await check_accessibility(page)
    await page.keyboard.press("Escape")
    await page.keyboard.press("Control+k")
    await page.keyboard.type("?")
    await expect(page.locator(FIELD)).to_have_value("?")
    await expect(page.get_by_role("dialog")).to_have_count(0)


async def test_a_menu_changes_a_row_and_copies_its_id(
    page: Page, dashboard: Dashboard, screenshot: Screenshot
) -> None:
    """A menu opens by keyboard, says what cannot be done, and closes when something is done."""
    await learn(dashboard)
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await page.goto("/memories")
    button = page.get_by_role("button", name="Actions of o:1")
    await button.press("Enter")
    menu = page.locator(".verbs:popover-open")
    await screenshot("menu")
    await check_accessibility(page)
    await menu.get_by_role("button", name="Copy o:1").click()
    assert await page.evaluate("navigator.clipboard.readText()") == "o:1"
    await menu.get_by_role("button", name="Confirm").click()
    await expect(page.get_by_text("o:1 was confirmed.")).to_be_visible()
    await expect(menu).to_have_count(0)
    await expect(page.locator("#memory-1")).to_contain_text("0.8")
    await page.keyboard.press("u")
    await expect(page.locator("#memory-1")).to_contain_text("0.7")

    await page.goto("/show/w:1")
    await page.get_by_role("button", name="Forget").click()
    await expect(page).to_have_url(f"{dashboard.url}/workspace")
    await expect(page.get_by_text("w:1 was forgotten.")).to_be_visible()
    await page.get_by_role("button", name="Undo").click()
    await expect(page.locator("#m-1")).to_contain_text("5433")


async def test_every_page_is_accessible_and_fits(page: Page, dashboard: Dashboard) -> None:
    """Landmarks have names of their own, links in text are underlined, and targets are large enough.

    On a phone; in a wide window too, and in the dark, where no other test looks.
    """
    await learn(dashboard)
    knowledge = dashboard.memories.knowledge
    for name in ("Ada", "Ben"):
        await knowledge.entities.create(canonical_name=name, entity_type="person")
    ada = (await knowledge.lists.entities(name="Ada"))[0]
    await knowledge.store_fact(subject="Ada", predicate="works with", content="Ben", entity_id=ada.id)
    elsewhere = (
        "/search?q=tea", "/workers", "/knowledge", "/knowledge/graph?all=true", "/knowledge/facts", "/week",
        "/briefing?prompt=tea",
    )  # fmt: skip
    here = ("/safe", "/compare?one=o:1&other=w:1", "/compare?one=o:1", "/show/w:1", "/apps/-/new")
    for path in (*elsewhere, *here):
        await page.set_viewport_size(NARROW)
        await page.goto(path)
        await expect(page.get_by_role("heading").first).to_be_visible()
        assert await page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"], path
        await check_accessibility(page, "light")
        await page.set_viewport_size({"width": WIDE["width"], "height": NARROW["height"]})
        assert await page.evaluate("document.documentElement.scrollWidth") <= WIDE["width"], path
        if path in here:
            await check_accessibility(page)
