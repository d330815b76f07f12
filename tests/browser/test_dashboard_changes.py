"""What an operator does to memories in a browser, with scripts and without."""

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from support.browser import Screenshot, check_accessibility
from support.dashboards import Dashboard

VACUUM = "Needs manual VACUUM FULL weekly"


def dialog(page: Page) -> Locator:
    """Return the dialog that is open."""
    return page.get_by_role("dialog")


async def add_several(dashboard: Dashboard, count: int) -> list[int]:
    """Store memories of confidence 0.7 and return their ids."""
    add = dashboard.operational.add
    return [(await add(category="timing", observation=f"Number {number}")).id for number in range(count)]


@pytest.mark.requirement("OPS-13.1")
async def test_create(page: Page, dashboard: Dashboard, screenshot: Screenshot) -> None:
    """The form adds a memory as it says, without a session, active."""
    await page.goto("/memories")
    await page.get_by_role("link", name="Add memory").click()
    await dialog(page).get_by_label("Observation").fill(VACUUM)
    await dialog(page).get_by_label("Category").select_option("maintenance")
    await dialog(page).get_by_label("Service").fill("postgres")
    await dialog(page).get_by_label("Confidence", exact=True).fill("0.9")
    await expect(dialog(page).locator("output")).to_have_text("0.9")
    await screenshot("memory-new")
    await dialog(page).get_by_role("button", name="Add memory").click()

    await expect(page.get_by_text(VACUUM)).to_be_visible()
    await expect(page.get_by_text("was added")).to_be_visible()
    await expect(dialog(page)).to_have_count(0)
    [memory] = await dashboard.operational.list_memories()
    assert (memory.category, memory.service, memory.observation) == ("maintenance", "postgres", VACUUM)
    assert (memory.confidence, memory.session_id, memory.active) == (0.9, None, True)


async def test_a_form_says_what_is_wrong_with_it(
    page: Page, dashboard: Dashboard, screenshot: Screenshot
) -> None:
    """The error stands at its field, what was typed stays, and nothing is stored."""
    await page.goto("/memories")
    await page.get_by_role("link", name="Add memory").click()
    await dialog(page).get_by_label("Observation").fill(VACUUM)
    await dialog(page).get_by_label("Category").select_option("maintenance")
    await dialog(page).get_by_label("Service").fill("no spaces please")
    await dialog(page).get_by_role("button", name="Add memory").click()

    await expect(dialog(page).get_by_role("alert")).to_contain_text("letters, digits")
    await expect(dialog(page).get_by_label("Observation")).to_have_value(VACUUM)
    await expect(dialog(page).get_by_label("Service")).to_have_attribute("aria-invalid", "true")
    await check_accessibility(page)
    await screenshot("memory-new-error")

    await dialog(page).get_by_label("Service").fill("postgres")
    await dialog(page).get_by_label("Observation").fill("password: hunter2hunter2")
    await dialog(page).get_by_role("button", name="Add memory").click()
    await expect(dialog(page).get_by_role("alert")).to_contain_text("secret")
    assert await dashboard.operational.list_memories() == []


@pytest.mark.requirement("OPS-13.2", "OPS-18.1")
async def test_edit_observation(page: Page, dashboard: Dashboard, screenshot: Screenshot) -> None:
    """A row becomes a form in its place; the text changes, the update is now, the confidence stays."""
    before = await dashboard.operational.add(
        category="timing", service="jellyfin", observation="Takes 60s", confidence=0.725
    )
    dashboard.clock.advance(hours=1)
    await page.goto("/memories")
    await page.get_by_label(f"Edit lesson {before.id}").click()
    await page.get_by_label("Observation", exact=True).fill("Takes 90s")
    await check_accessibility(page)
    await screenshot("memory-edit")
    await page.get_by_role("button", name="Save").click()

    await expect(page.locator(f"#memory-{before.id} .observation")).to_have_text("Takes 90s")
    await expect(page.get_by_text("Saved.")).to_be_visible()
    after = await dashboard.operational.get(before.id)
    assert (after.observation, after.confidence) == ("Takes 90s", 0.725)
    assert after.updated_at == dashboard.clock()


@pytest.mark.requirement("OPS-13.3", "OPS-18.1")
async def test_adjust_confidence(page: Page, dashboard: Dashboard) -> None:
    """The slider goes from 0.7 to 0.95 by mouse or keys, and the update is now."""
    before = await dashboard.operational.add(category="timing", observation="Takes 60s")
    dashboard.clock.advance(hours=1)
    await page.goto("/memories")
    await page.get_by_label(f"Edit lesson {before.id}").click()
    slider = page.get_by_label("Confidence", exact=True)
    await slider.fill("0.94")
    await slider.press("ArrowRight")
    await page.get_by_role("button", name="Save").click()

    await expect(page.get_by_text("Saved.")).to_be_visible()
    await expect(page.locator(f"#memory-{before.id}")).to_contain_text("0.95")
    after = await dashboard.operational.get(before.id)
    assert (after.observation, after.confidence) == ("Takes 60s", 0.95)
    assert after.updated_at == dashboard.clock()


@pytest.mark.requirement("OPS-18.1")
async def test_editing_with_keys_alone(page: Page, dashboard: Dashboard) -> None:
    """A row can be opened, given up and saved without a mouse; giving up changes nothing."""
    [memory_id] = await add_several(dashboard, 1)
    await page.goto("/memories")
    edit = page.get_by_label(f"Edit lesson {memory_id}")
    await edit.focus()
    await page.keyboard.press("Enter")
    field = page.get_by_label("Observation", exact=True)
    await expect(field).to_be_focused()
    await page.keyboard.type("Thrown away ")
    await page.keyboard.press("Escape")
    await expect(page.locator(f"#memory-{memory_id} .observation")).to_have_text("Number 0")
    await expect(edit).to_be_focused()

    await page.keyboard.press("Enter")
    await expect(field).to_be_focused()
    await field.fill("Kept")
    await page.keyboard.press("Tab")
    await page.keyboard.press("Tab")
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await expect(page.locator(f"#memory-{memory_id} .observation")).to_have_text("Kept")
    await expect(edit).to_be_focused()


async def test_what_another_changed_meanwhile_stays(page: Page, dashboard: Dashboard) -> None:
    """An operator who changes the text alone does not undo a confidence that moved while they typed."""
    [memory_id] = await add_several(dashboard, 1)
    await page.goto("/memories")
    await page.get_by_label(f"Edit lesson {memory_id}").click()
    await page.get_by_label("Observation", exact=True).fill("Number zero")
    await dashboard.operational.edit([memory_id], confidence=0.5)
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_text("Saved.")).to_be_visible()
    await expect(page.locator(f"#memory-{memory_id}")).to_contain_text("0.5")
    after = await dashboard.operational.get(memory_id)
    assert (after.observation, after.confidence) == ("Number zero", 0.5)


@pytest.mark.requirement("OPS-13.4")
async def test_delete(page: Page, dashboard: Dashboard, screenshot: Screenshot) -> None:
    """Deleting asks first; saying no keeps it, saying yes removes the row for good."""
    keep, gone = await add_several(dashboard, 2)
    await page.goto("/memories")
    await page.get_by_label(f"Delete lesson {gone}").click()
    await dialog(page).get_by_role("link", name="Cancel").click()
    await expect(dialog(page)).to_have_count(0)
    assert len(await dashboard.operational.list_memories()) == 2

    await page.get_by_label(f"Delete lesson {gone}").click()
    await expect(dialog(page)).to_contain_text("Number 1")
    await check_accessibility(page)
    await screenshot("memory-delete")
    await dialog(page).get_by_role("button", name="Delete").click()
    await expect(page.locator(f"#memory-{gone}")).to_have_count(0)
    assert [memory.id for memory in await dashboard.operational.list_memories()] == [keep]


@pytest.mark.requirement("OPS-13.5")
async def test_bulk_delete(page: Page, dashboard: Dashboard, screenshot: Screenshot) -> None:
    """Five that are selected are removed, the sixth stays."""
    keep, *gone = await add_several(dashboard, 6)
    await page.goto("/memories")
    await page.get_by_label("Select all on this page").check()
    await page.get_by_label(f"Select lesson {keep}").uncheck()
    await expect(page.get_by_text("5 selected")).to_be_visible()
    await screenshot("memories-bulk")
    await page.get_by_role("button", name="Delete selected").click()
    await expect(dialog(page)).to_contain_text("Delete 5 lessons?")
    await dialog(page).get_by_role("button", name="Delete").click()
    await expect(page.locator("#memories tbody tr:not(.group)")).to_have_count(1)
    assert [memory.id for memory in await dashboard.operational.list_memories()] == [keep]
    assert len(gone) == 5


@pytest.mark.requirement("OPS-18.2")
async def test_bulk_confidence(page: Page, dashboard: Dashboard, screenshot: Screenshot) -> None:
    """All that are selected get the confidence that is set, the others keep theirs."""
    one, two, other = await add_several(dashboard, 3)
    await page.goto("/memories")
    await page.get_by_label(f"Select lesson {one}").check()
    await page.get_by_label(f"Select lesson {two}").check()
    await page.get_by_role("button", name="Set confidence").click()
    await dialog(page).get_by_label("Confidence", exact=True).fill("0.35")
    await screenshot("memories-confidence")
    await dialog(page).get_by_role("button", name="Set confidence").click()
    await expect(page.get_by_text("2 lessons have confidence 0.35 now.")).to_be_visible()
    await expect(page.locator(f"#memory-{one}")).to_contain_text("0.35")
    found = {memory.id: memory.confidence for memory in await dashboard.operational.list_memories()}
    assert found == {one: 0.35, two: 0.35, other: 0.7}


async def test_without_scripts(browser: Browser, dashboard: Dashboard) -> None:
    """Adding, filtering, editing and deleting work by plain links and forms."""
    context = await browser.new_context(base_url=dashboard.url, java_script_enabled=False)
    page = await context.new_page()
    await page.goto("/memories")
    await page.get_by_role("link", name="Add memory").click()
    await page.get_by_label("Observation").fill(VACUUM)
    await page.get_by_label("Category").select_option("maintenance")
    await page.get_by_role("button", name="Add memory").click()
    await page.get_by_label("Category").select_option("timing")
    await page.get_by_role("button", name="Apply").click()
    await expect(page.get_by_text("No lesson matches these filters")).to_be_visible()
    await page.get_by_role("link", name="Clear the filters").click()

    await page.get_by_role("link", name=VACUUM).click()
    await page.get_by_label("Observation", exact=True).fill("Needs none")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_label("Observation", exact=True)).to_have_value("Needs none")
    [memory] = await dashboard.operational.list_memories()
    assert (memory.observation, memory.confidence) == ("Needs none", 0.7)

    await page.goto("/memories")
    await page.get_by_label(f"Select lesson {memory.id}").check()
    await page.get_by_role("button", name="Delete selected").click()
    await page.get_by_role("button", name="Delete").click()
    await expect(page.get_by_text("No lessons yet")).to_be_visible()
    assert await dashboard.operational.list_memories() == []
    await context.close()


async def test_a_memory_that_is_not_there(page: Page, dashboard: Dashboard) -> None:
    """A part of a page says so where it was asked for."""
    [memory_id] = await add_several(dashboard, 1)
    await page.goto("/memories")
    await dashboard.operational.delete([memory_id])
    await page.get_by_label(f"Delete lesson {memory_id}").click()
    await expect(page.get_by_text(f"no lesson with id {memory_id}")).to_be_visible()
