"""The page of devices in a browser: how to begin, a sync at a press of a button, and what came of it."""

from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from support.browser import NARROW, Screenshot, check_accessibility
from support.dashboards import Dashboard
from support.database_stock import DatabaseStock
from support.synced_homes import DESKTOP, LAPTOP, synced_pair

pytestmark = pytest.mark.requirement("SYN-13.1")


async def test_a_person_syncs_and_sees_what_came_of_it(
    page: Page,
    dashboard: Dashboard,
    knowledge_databases: DatabaseStock,
    tmp_path: Path,
    screenshot: Screenshot,
) -> None:
    """From a home that does not sync to two devices with a conflict, and a target that is gone."""
    await page.goto("/")
    await page.get_by_role("navigation", name="Pages").get_by_role("link", name="Devices").click()
    await expect(page.get_by_role("heading", name="This home does not sync")).to_be_visible()
    await expect(page.get_by_role("button", name="Copy: commonplace sync init")).to_be_visible()
    await expect(page.get_by_role("button", name="Sync now")).to_have_count(0)
    await check_accessibility(page)
    await screenshot("devices-empty")

    async with synced_pair(dashboard.memories, knowledge_databases, tmp_path) as pair:
        await pair.store_port(pair.own, 8096)
        await pair.store_port(pair.other, 8920)
        await pair.sync_other()
        await page.reload()
        await expect(page.get_by_role("region", name="Target").get_by_text("none yet")).to_be_visible()
        await page.get_by_role("button", name="Sync now").click()
        await expect(
            page.get_by_role("status").get_by_text("1 change of this device, 1 change of other devices")
        ).to_have_count(2)
        rows = page.get_by_role("region", name="Devices").get_by_role("row")
        await expect(rows.filter(has_text=LAPTOP)).to_contain_text("this device")
        await expect(rows.filter(has_text=DESKTOP)).to_contain_text("syncs")
        await expect(page.get_by_role("link", name="Conflicts to review")).to_have_attribute(
            "href", "/reviews?topic=held"
        )
        await check_accessibility(page)
        await screenshot("devices-synced")

        await pair.store_port(pair.own, 9000)
        pair.block()
        await page.get_by_role("button", name="Sync now").click()
        failed = page.get_by_role("alert")
        await expect(failed).to_contain_text("Every sync has failed since")
        await expect(failed).to_contain_text("cannot be used")
        await page.set_viewport_size(NARROW)
        await check_accessibility(page)
        await screenshot("devices-failed")
        await page.set_viewport_size(NARROW)
        fits = await page.evaluate("() => document.documentElement.scrollWidth <= window.innerWidth")
        assert fits
