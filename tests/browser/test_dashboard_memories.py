"""The memories page in a browser: what it shows, and how it is narrowed down and kept up to date."""

import re

import pytest
from playwright.async_api import Locator, Page, expect

from commonplace.operational.model.memories import Lesson
from support.browser import Screenshot, check_accessibility
from support.dashboards import Dashboard
from support.streams import chunks, session

RESTART = "Takes 60s to start after a restart"
LOCK = "First restart always fails due to DB lock"
VACUUM = "Needs manual VACUUM FULL weekly"
DNS = "DNS checks fail transiently: retry once before escalating"


async def fill(dashboard: Dashboard) -> dict[str, Lesson]:
    """Store four memories of two services and none, in this order."""
    add = dashboard.operational.add
    stored: dict[str, Lesson] = {}
    for category, service, observation, confidence in (
        ("timing", "jellyfin", RESTART, 0.9),
        ("behavior", "jellyfin", LOCK, 0.7),
        ("maintenance", "postgres", VACUUM, 0.95),
        ("remediation", None, DNS, 0.6),
    ):
        receipt = await add(
            category=category, service=service, observation=observation, confidence=confidence
        )
        stored[observation] = receipt.memory
        dashboard.clock.advance(seconds=1)
    return stored


def rows(page: Page) -> Locator:
    """Return the rows of memories, without the heads of groups."""
    return page.locator("#memories tbody tr:not(.group)")


async def shown(page: Page) -> list[str]:
    """Return the observations as they stand in the table."""
    return await page.locator("#memories .observation").all_inner_texts()


@pytest.mark.requirement("OPS-12.1")
async def test_the_page_shows_every_column(page: Page, dashboard: Dashboard, screenshot: Screenshot) -> None:
    """The table has service or general, category, observation, confidence, status, update and source."""
    stream = session(f"[MEMORY:timing:jellyfin] {RESTART}")
    [report] = await dashboard.operational.ingest(chunks(stream))
    await dashboard.operational.add(category="remediation", observation=DNS, confidence=0.2)

    await page.goto("/")
    sidebar = page.get_by_role("navigation", name="Pages")
    labels = [text.strip() for text in await sidebar.get_by_role("link").all_inner_texts()]
    assert labels[labels.index("Lessons") - 1] == "Events"
    assert labels[labels.index("Lessons") + 1] == "Cooldowns"
    await sidebar.get_by_role("link", name="Lessons").click()

    learned = rows(page).filter(has_text=RESTART)
    for text in ("jellyfin", "timing", "0.7", "active", "just now"):
        await expect(learned).to_contain_text(text)
    source = learned.get_by_role("link", name=f"Session {report.session.id}")
    told = re.compile(rf"^/sessions/{report.session.id}\?memory=\d+#told$")
    await expect(source).to_have_attribute("href", told)
    added = rows(page).filter(has_text=DNS)
    for text in ("general", "remediation", "0.2", "inactive", "operator"):
        await expect(added).to_contain_text(text)
    await fill(dashboard)
    for number in range(6):
        await dashboard.operational.add(category="timing", observation=f"Number {number}")
    await expect(rows(page)).to_have_count(12)
    await check_accessibility(page)
    await screenshot("memories")


@pytest.mark.requirement("OPS-12.2")
async def test_a_new_memory_appears_and_disturbs_nothing(page: Page, dashboard: Dashboard) -> None:
    """The page asks at least every five seconds, and what is being edited, selected and typed stays as it is."""
    stored = await fill(dashboard)
    await page.goto("/memories")
    asks = re.match(r"every (\d+)s", await page.locator("#memories").get_attribute("hx-trigger") or "")
    assert asks
    assert int(asks[1]) < 5
    await page.get_by_label(f"Edit lesson {stored[RESTART].id}").click()
    field = page.get_by_label("Observation", exact=True)
    await field.fill("Takes 90s to start, half wr")
    await page.get_by_label(f"Select lesson {stored[VACUUM].id}").check()
    await dashboard.operational.add(category="timing", service="caddy", observation="Reloads in 2s")

    await expect(rows(page).filter(has_text="Reloads in 2s")).to_be_visible()
    await expect(field).to_have_value("Takes 90s to start, half wr")
    await expect(page.get_by_label(f"Select lesson {stored[VACUUM].id}")).to_be_checked()
    await expect(page.get_by_text("1 selected")).to_be_visible()


@pytest.mark.requirement("OPS-12.2")
async def test_a_memory_that_goes_while_it_is_edited(page: Page, dashboard: Dashboard) -> None:
    """The form stays, and saving says that the memory is not there any more."""
    stored = await fill(dashboard)
    await page.goto("/memories")
    await page.get_by_label(f"Edit lesson {stored[RESTART].id}").click()
    await page.get_by_label("Observation", exact=True).fill("Something else")
    await dashboard.operational.delete([stored[RESTART].id])
    await dashboard.operational.add(category="timing", service="caddy", observation="Reloads in 2s")
    await expect(rows(page).filter(has_text="Reloads in 2s")).to_be_visible()

    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("alert")).to_contain_text(f"no lesson with id {stored[RESTART].id}")


@pytest.mark.requirement("OPS-12.2")
@pytest.mark.parametrize("found", ["by status", "by words"])
async def test_what_is_edited_stays_when_the_list_no_longer_has_it(
    page: Page, dashboard: Dashboard, found: str
) -> None:
    """The form stays with its text and the keyboard, also where its group or the whole table goes."""
    stored = await fill(dashboard)
    edited = stored[VACUUM].id
    await page.goto("/memories?status=active" if found == "by status" else "/memories?search=VACUUM")
    await page.get_by_label(f"Edit lesson {edited}").click()
    field = page.get_by_label("Observation", exact=True)
    await field.fill("Needs VACUUM, half wr")
    if found == "by status":
        await dashboard.operational.edit([edited], confidence=0.2)
    else:
        await dashboard.operational.edit([edited], observation="Needs it weekly")
    expected = "Active 3" if found == "by status" else "All 0"
    await expect(page.get_by_role("link", name=expected, exact=True)).to_be_visible()

    await expect(field).to_have_value("Needs VACUUM, half wr")
    await expect(field).to_be_focused()
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_text("Saved.")).to_be_visible()
    assert (await dashboard.operational.get(edited)).observation == "Needs VACUUM, half wr"
    await expect(page.locator(f"#memory-{edited}")).to_have_count(0 if found == "by status" else 1)


@pytest.mark.requirement("OPS-12.2")
async def test_what_is_edited_stays_when_the_list_is_sorted(page: Page, dashboard: Dashboard) -> None:
    """Also where the list no longer has it, and the rows around it go to other groups."""
    stored = await fill(dashboard)
    edited = stored[LOCK].id
    await page.goto("/memories?status=active")
    await page.get_by_label(f"Edit lesson {edited}").click()
    field = page.get_by_label("Observation", exact=True)
    await field.fill("Fails once, half wr")
    await dashboard.operational.edit([edited], confidence=0.2)
    await expect(page.get_by_role("link", name="Active 3", exact=True)).to_be_visible()
    await page.get_by_role("columnheader", name="Confidence").get_by_role("link").click()
    await expect(page.get_by_role("columnheader", name="Confidence")).to_have_attribute(
        "aria-sort", "descending"
    )
    await expect(field).to_have_value("Fails once, half wr")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_text("Saved.")).to_be_visible()
    assert (await dashboard.operational.get(edited)).observation == "Fails once, half wr"


@pytest.mark.requirement("OPS-12.3")
async def test_filter_by_service(page: Page, dashboard: Dashboard) -> None:
    """Only memories of that service are shown, or only general ones; the address says so, and one can go back."""
    await fill(dashboard)
    await page.goto("/memories")
    service = page.get_by_label("Service")
    await service.select_option("jellyfin")
    await expect(rows(page)).to_have_count(2)
    assert sorted(await shown(page)) == sorted([RESTART, LOCK])
    await expect(page).to_have_url(f"{dashboard.url}/memories?service=jellyfin")
    await service.select_option("general")
    await expect(rows(page)).to_have_count(1)
    assert await shown(page) == [DNS]
    await page.reload()
    assert await shown(page) == [DNS]
    await page.go_back()
    await expect(rows(page)).to_have_count(2)
    assert sorted(await shown(page)) == sorted([RESTART, LOCK])


@pytest.mark.requirement("OPS-12.3")
async def test_a_service_that_is_new_can_be_chosen(page: Page, dashboard: Dashboard) -> None:
    """It joins the filter while the page is open, and what was chosen before stays chosen, also without memories."""
    stored = await fill(dashboard)
    await page.goto("/memories")
    service = page.get_by_label("Service")
    await service.select_option("postgres")
    await expect(rows(page)).to_have_count(1)
    await dashboard.operational.add(category="timing", service="caddy", observation="Reloads in 2s")
    options = service.locator("option")
    await expect(options).to_have_text(["Any", "caddy (1)", "jellyfin (2)", "postgres (1)", "general (1)"])
    await expect(service).to_have_value("postgres")
    await dashboard.operational.delete([stored[VACUUM].id])
    await expect(options.filter(has_text="postgres")).to_have_text("postgres (0)")
    await expect(service).to_have_value("postgres")
    await service.select_option("caddy")
    await expect(rows(page)).to_have_count(1)
    assert await shown(page) == ["Reloads in 2s"]
    await expect(options).to_have_text(["Any", "caddy (1)", "jellyfin (2)", "general (1)"])
    await expect(service).to_have_value("caddy")


@pytest.mark.requirement("OPS-17.1")
async def test_search(page: Page, dashboard: Dashboard) -> None:
    """Typing narrows the list down, in any case of letters; a filter stays while a link changes another."""
    await fill(dashboard)
    await page.goto("/memories")
    await page.get_by_placeholder("Search lessons").press_sequentially("RESTART")
    await expect(rows(page)).to_have_count(2)
    assert sorted(await shown(page)) == sorted([RESTART, LOCK])
    await page.get_by_role("link", name="Inactive").click()
    await expect(page.get_by_text("No lesson matches these filters")).to_be_visible()
    await page.get_by_label("Category").select_option("timing")
    await expect(page).to_have_url(f"{dashboard.url}/memories?search=RESTART&category=timing&status=inactive")


@pytest.mark.requirement("OPS-16.2")
async def test_inactive_memories_are_set_apart(page: Page, dashboard: Dashboard) -> None:
    """They look different, have a list of their own, and can be edited and deleted."""
    stored = await fill(dashboard)
    weak = stored[LOCK].id
    await dashboard.operational.edit([weak], confidence=0.2)
    await page.goto("/memories")
    row = page.locator(f"#memory-{weak}")
    await expect(row.locator(".observation")).to_have_css("text-decoration-line", "line-through")
    await expect(page.locator(f"#memory-{stored[RESTART].id} .observation")).to_have_css(
        "text-decoration-line", "none"
    )
    await page.get_by_role("link", name="Inactive 1").click()
    await expect(rows(page)).to_have_count(1)

    await page.get_by_label(f"Edit lesson {weak}").click()
    await page.get_by_label("Observation", exact=True).fill("Fails while the database is locked")
    await page.get_by_role("button", name="Save").click()
    await expect(row).to_contain_text("Fails while the database is locked")
    edited = await dashboard.operational.get(weak)
    assert (edited.active, edited.confidence) == (False, 0.2)

    await page.get_by_label(f"Delete lesson {weak}").click()
    await page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await expect(row).to_have_count(0)


async def test_history_of_a_memory(page: Page, dashboard: Dashboard, screenshot: Screenshot) -> None:
    """Its page tells every change with who made it, and draws the confidence."""
    stored = await fill(dashboard)
    memory_id = stored[RESTART].id
    for confidence in (0.5, 0.8, 0.65):
        dashboard.clock.advance(days=3)
        await dashboard.operational.edit([memory_id], confidence=confidence)
    await page.goto(f"/memories/{memory_id}")
    await expect(page.locator(".history li")).to_have_count(4)
    await expect(page.locator(".history li").first).to_contain_text("edited by operator")
    await expect(page.locator(".chart canvas")).to_be_visible()
    await check_accessibility(page)
    await screenshot("memory")


async def test_an_empty_page_says_what_to_do(
    page: Page, dashboard: Dashboard, screenshot: Screenshot
) -> None:
    """Where nothing was learned, the page says how it would be."""
    await page.goto("/memories")
    await expect(page.get_by_role("heading", name="No lessons yet")).to_be_visible()
    await expect(page.get_by_text("commonplace ops ingest")).to_be_visible()
    await screenshot("memories-empty")
    await dashboard.operational.add(category="timing", observation="Fast at noon")
    await expect(rows(page)).to_have_count(1)


async def test_the_connection_is_lost(page: Page, dashboard: Dashboard) -> None:
    """The page says that what it shows may be old, and takes it back when the service answers again."""
    await fill(dashboard)
    await page.goto("/memories")
    await page.context.set_offline(offline=True)
    await expect(page.get_by_text("No connection to the service")).to_be_visible()
    await page.context.set_offline(offline=False)
    await expect(page.get_by_text("No connection to the service")).to_be_hidden()
