"""Sessions, events and cooldowns in a browser (OPS-20)."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Page, Route, expect

from support.browser import Screenshot, check_accessibility, look_away, look_back
from support.dashboards import Dashboard
from support.deadlines import DEADLINE_S
from support.streams import chunks, encode, init, result, says, session

REPORT = (
    "All services answer.\n"
    "[EVENT:critical:postgres] Disk is at 97 %\n"
    "[EVENT:info] Checked 12 services\n"
    "[COOLDOWN:restart:jellyfin] The database was locked\n"
    "[MEMORY:timing:jellyfin] Takes 60s to start after a restart"
)


@pytest.mark.requirement("OPS-20.1")
async def test_sessions(page: Page, dashboard: Dashboard, screenshot: Screenshot) -> None:
    """The list shows how each session ended, newest first; its page shows what it learned, told and printed."""
    await dashboard.operational.ingest(chunks(session(REPORT, session_id="s-1")), tiers=[3])
    dashboard.clock.advance(minutes=5)
    failed = encode(init("s-2"), result("API Error: overloaded", session_id="s-2", is_error=True))
    await dashboard.operational.ingest(chunks(failed))

    await page.goto("/sessions")
    rows = page.locator("#sessions tbody tr")
    await expect(rows.nth(0)).to_contain_text("failed")
    for text in ("completed", "3 remediate", "1.5 s", "$0.02", "claude-x"):
        await expect(rows.nth(1)).to_contain_text(text)
    await check_accessibility(page)
    await screenshot("sessions")

    await page.get_by_label("Status").select_option("completed")
    await expect(rows).to_have_count(1)
    await rows.get_by_role("link", name="Session 1", exact=True).click()
    for text in ("Takes 60s to start", "Disk is at 97 %", "The database was locked", "All services answer."):
        await expect(page.get_by_text(text).first).to_be_visible()
    await check_accessibility(page)
    await screenshot("session")


def begin_session(dashboard: Dashboard) -> tuple[asyncio.Queue[bytes | None], asyncio.Task[object]]:
    """Have a session recorded that says one thing; return what takes the rest of it, ``None`` for its end."""
    more: asyncio.Queue[bytes | None] = asyncio.Queue()

    async def stream() -> AsyncIterator[bytes]:
        yield encode(init("s-1"), says("Checking DNS first."))
        while (piece := await more.get()) is not None:
            yield piece

    return more, asyncio.create_task(dashboard.operational.ingest(stream()))


@pytest.mark.requirement("OPS-20.1")
async def test_a_running_session_is_followed(page: Page, dashboard: Dashboard) -> None:
    """What the agent says appears while it runs; in the end the page says how it went."""
    more, running = begin_session(dashboard)
    await page.goto("/sessions")
    await expect(page.locator("#sessions")).to_contain_text("running")
    await page.locator("#sessions tbody a").first.click()
    output = page.locator("#output")
    await expect(output).to_contain_text("Checking DNS first.")

    await more.put(encode(says("[MEMORY:timing:caddy] Reloads in 2s")))
    await expect(output).to_contain_text("Reloads in 2s")
    await expect(page.locator("#session")).to_contain_text("caddy")
    await more.put(encode(result("All is well.")))
    await more.put(None)
    await running
    await expect(page.locator("#session")).to_contain_text("completed")
    await expect(page.locator("#session")).to_contain_text("All is well.")
    await expect(output.locator(".waiting")).to_have_count(0)


@pytest.mark.requirement("OPS-20.1")
async def test_a_session_is_followed_after_each_interruption(page: Page, dashboard: Dashboard) -> None:
    """A tab in the background, no connection, a fault: what could not be read is read later, each line once."""
    more, running = begin_session(dashboard)
    await page.goto("/sessions")
    await page.locator("#sessions tbody a").first.click()
    said = page.locator("#output .said")
    await expect(said.filter(has_text="Checking DNS first.")).to_have_count(1)

    await look_away(page, unanswered="/output")
    await look_back(page)
    await more.put(encode(says("Now the proxy.")))
    await expect(said.filter(has_text="Now the proxy.")).to_have_count(1)
    await miss_one_answer(page, by_fault=False)
    await more.put(encode(says("Now the disk.")))
    await expect(said.filter(has_text="Now the disk.")).to_have_count(1)
    await miss_one_answer(page, by_fault=True)
    await more.put(encode(says("Now the clock.")))
    await expect(said.filter(has_text="Now the clock.")).to_have_count(1)
    await more.put(encode(result("All is well.")))
    await more.put(None)
    await running
    await expect(page.locator("#output .waiting")).to_have_count(0)
    lines = await said.all_inner_texts()
    for line in ("Checking DNS first.", "Now the proxy.", "Now the disk.", "Now the clock."):
        assert lines.count(line) == 1, line


async def miss_one_answer(page: Page, *, by_fault: bool) -> None:
    """Let one question for more output fail, on the way or in the service."""
    missed = asyncio.Event()

    async def fail(route: Route) -> None:
        await (route.fulfill(status=503, body="") if by_fault else route.abort())
        missed.set()

    await page.route("**/output?*", fail, times=1)
    async with asyncio.timeout(DEADLINE_S):
        await missed.wait()


@pytest.mark.requirement("OPS-20.2")
async def test_events(page: Page, dashboard: Dashboard, screenshot: Screenshot) -> None:
    """Events show level, service, message and session; they can be filtered, and new ones appear."""
    await page.goto("/events")
    await expect(page.get_by_text("No events yet")).to_be_visible()
    [report] = await dashboard.operational.ingest(chunks(session(REPORT)))
    rows = page.locator("#events tbody tr")
    await expect(rows).to_have_count(2)
    critical = rows.filter(has_text="critical")
    await expect(critical).to_contain_text("postgres")
    await expect(critical).to_contain_text("Disk is at 97 %")
    await expect(critical.get_by_role("link")).to_have_attribute("href", f"/sessions/{report.session.id}")
    await check_accessibility(page)
    await screenshot("events")
    await page.get_by_label("Level").select_option("info")
    await expect(rows).to_have_count(1)
    await expect(rows).to_contain_text("Checked 12 services")
    await page.goto("/")
    await expect(page.get_by_text("Disk is at 97 %")).to_be_visible()


@pytest.mark.requirement("OPS-20.3")
async def test_cooldowns(page: Page, dashboard: Dashboard, screenshot: Screenshot) -> None:
    """Cooldowns show action, service, reason, tier and session."""
    await page.goto("/cooldowns")
    await expect(page.get_by_text("No cooldowns yet")).to_be_visible()
    [report] = await dashboard.operational.ingest(chunks(session(REPORT)), tiers=[3])
    row = page.locator("#cooldowns tbody tr")
    for text in ("restart", "jellyfin", "The database was locked", "3 remediate"):
        await expect(row).to_contain_text(text)
    await expect(row.get_by_role("link")).to_have_attribute("href", f"/sessions/{report.session.id}")
    await check_accessibility(page)
    await screenshot("cooldowns")
    await page.get_by_label("Service").fill("nobody")
    await expect(page.get_by_text("No cooldown matches this service")).to_be_visible()
