"""The pages of app memory in a browser: one journey, what waits for energy, and how soon a page comes."""

import json
import re
from datetime import timedelta
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from commonplace.apps import AppMemory
from commonplace.apps.model.exchange import FORMAT
from commonplace.core.clock import format_timestamp
from commonplace.core.errors import ModelRefusedError
from commonplace.core.settings import Settings
from commonplace.embedding import EmbeddingEngine
from commonplace.llm import Script
from support.apps import fill, said
from support.browser import Screenshot, check_accessibility
from support.dashboards import Dashboard


def document(*memories: dict[str, object]) -> str:
    """Return an exported file as another installation gives it."""
    return json.dumps({"format": FORMAT, "version": 1, "memories": list(memories)})


async def remember(dashboard: Dashboard) -> None:
    """Let the calendar have eleven digests: ten in its common space, for which one made room, and Ada's."""
    apps = dashboard.memories.apps
    await apps.registry.register("cal", name="Calendar")
    await fill(apps, "cal", 11)
    await apps.ingest("cal", "of-ada", said("Ada likes meetings after two.", "Noted."), user_id="ada")


async def test_registering_an_app(page: Page, dashboard: Dashboard, screenshot: Screenshot) -> None:
    """An id is refused at its field; the app appears, fills up before one's eyes, and has a page."""
    await page.goto("/apps")
    await expect(page.get_by_role("heading", name="No app is registered")).to_be_visible()
    await screenshot("apps-empty")
    await page.get_by_role("link", name="Register an app").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Id", exact=True).fill("no spaces")
    await dialog.get_by_role("button", name="Register").click()
    await expect(dialog.get_by_role("alert")).to_contain_text("letters, digits")
    await dialog.get_by_label("Id", exact=True).fill("cal")
    await dialog.get_by_label("Name").fill("Calendar")
    await dialog.get_by_role("button", name="Register").click()
    row = page.locator("#app-cal")
    await expect(row).to_contain_text("0 of 10")
    await expect(row).to_contain_text("never")

    await remember(dashboard)
    await dashboard.memories.apps.registry.register("mail", name="Mail")
    await expect(row).to_contain_text("10 of 10")
    await expect(row).to_contain_text(re.compile("just now|ago"))
    await check_accessibility(page)
    await screenshot("apps")

    await row.get_by_role("link", name="Calendar").click()
    digests = page.locator("#app tbody tr")
    await expect(digests).to_have_count(11)
    for label, value in (("Created in 24 h", "12"), ("Compactions", "1"), ("Conversations", "12")):
        await expect(page.locator(".figure").filter(has=page.get_by_text(label, exact=True))).to_contain_text(
            value
        )
    await expect(page.locator("#app .history")).to_contain_text("compacted")
    await check_accessibility(page)
    await screenshot("app")


@pytest.mark.requirement("APP-16.2", "APP-16.3")
async def test_finding_exporting_deleting_and_bringing_back(
    page: Page, dashboard: Dashboard, screenshot: Screenshot, tmp_path: Path
) -> None:
    """One is found and deleted, all are exported and purged, and an import brings all of them back."""
    await remember(dashboard)
    apps = dashboard.memories.apps
    await page.goto("/apps/cal")
    digests, dialog = page.locator("#app tbody tr"), page.get_by_role("dialog")
    for user, count in (("ada", 1), ("", 11)):
        await page.get_by_label("User").fill(user)
        await page.get_by_label("User").press("Enter")
        await expect(digests).to_have_count(count)
    await page.get_by_label("Search digests").fill("meetings after two")
    await expect(digests).to_have_count(1)
    await expect(digests).to_contain_text("ada")
    await expect(digests).to_contain_text("of-ada")

    async with page.expect_download() as download:
        await page.get_by_role("link", name="Export").click()
    file = tmp_path / "exported.json"
    await (await download.value).save_as(file)
    assert (await download.value).suggested_filename == "cal-memories.json"
    assert len(json.loads(file.read_text(encoding="utf-8"))["memories"]) == 11

    await page.get_by_role("button", name="Actions of a:").click()
    await page.locator(".verbs:popover-open").get_by_role("button", name="Forget").click()
    await expect(page.get_by_role("heading", name="No digest matches")).to_be_visible()
    await page.goto("/apps/cal")
    await page.get_by_role("link", name="Purge").click()
    await expect(dialog.get_by_role("heading", name="Delete all 10 digests of Calendar?")).to_be_visible()
    await screenshot("app-purge")
    await dialog.get_by_role("button", name="Delete 10 digests").click()
    await expect(page.get_by_role("heading", name="No digests yet")).to_be_visible()
    assert await apps.list_memories("cal") == []

    await page.get_by_role("link", name="Import").click()
    await dialog.get_by_label("File").set_input_files(file)
    await dialog.get_by_role("button", name="Import").click()
    await expect(digests).to_have_count(11)


@pytest.mark.requirement("APP-16.3")
async def test_an_import_says_what_it_did_not_take(page: Page, dashboard: Dashboard, tmp_path: Path) -> None:
    """What is no export stays in the dialog with its fault; a secret is refused, the rest is taken."""
    await dashboard.memories.apps.registry.register("cal")
    moment = format_timestamp(dashboard.clock())
    file = tmp_path / "memories.json"
    await page.goto("/apps/cal")
    await page.get_by_role("link", name="Import").click()
    dialog = page.get_by_role("dialog")
    for text, fault in (("{", "JSON file"), ('{"memories": [{}]}', "memories.0.content")):
        file.write_text(text, encoding="utf-8")
        await dialog.get_by_label("File").set_input_files(file)
        await dialog.get_by_role("button", name="Import").click()
        await expect(dialog.get_by_role("alert")).to_contain_text(fault)
    times: dict[str, object] = {"createdAt": moment, "updatedAt": moment}
    secret = "The token is ghp_R4nd0mL00kingT0kenR4nd0mL00kingT0ken"
    file.write_text(
        document({"content": "It rains.", **times}, {"content": secret, **times}), encoding="utf-8"
    )
    await dialog.get_by_label("File").set_input_files(file)
    await dialog.get_by_role("button", name="Import").click()
    await expect(dialog.get_by_text("Digest 2 of the file: looks like a secret")).to_be_visible()
    await dialog.locator(".actions").get_by_role("link", name="Close").click()
    await expect(page.locator("#app tbody tr")).to_have_count(1)


@pytest.mark.requirement("APP-12.1", "APP-12.2", "APP-12.3", "APP-12.4", "APP-12.5", "APP-16.4")
async def test_statistics_and_what_waits_for_energy(
    page: Page, dashboard: Dashboard, screenshot: Screenshot
) -> None:
    """The page counts, says that energy is low, and lists the digest that waits; the app's page lists its own."""
    apps = dashboard.memories.apps
    for app_id in ("cal", "mail"):
        await apps.registry.register(app_id)
    await fill(apps, "cal", 11)
    dashboard.clock.now += timedelta(hours=2)
    await fill(apps, "cal", 1, first=12)
    await apps.begin_conversation("cal", "in-focus")
    await apps.add_message("in-focus", "user", "What is on the board?")
    await apps.focus.unanswered("in-focus")
    await apps.energy.spend(1000)
    await apps.ingest("mail", "late", said("Please remember the parcel for board nine.", "Yes."))

    await page.goto("/apps")
    for label, value, hint in (
        ("Digests", "10", "characters"),
        ("Created in 24 h", "12", "1 in the last hour"),
        ("Compactions", "2", "in 1 app"),
        ("Utilisation", "50 %", "1 of 2 apps"),
        ("Injection rate", "100 %", "of 1 conversation in focus"),
        ("Energy", "0 %", "of 1,000 units"),
    ):
        figure = page.locator(".figure").filter(has=page.get_by_text(label, exact=True))
        await expect(figure).to_contain_text(value)
        await expect(figure).to_contain_text(hint)
    await expect(page.get_by_text("Energy is at or below 20 %")).to_be_visible()
    await expect(page.locator(".chart canvas")).to_be_visible()
    queue = page.get_by_role("region", name="Waiting and failed digests")
    for words in ("deferred", "late", "mail"):
        await expect(queue).to_contain_text(words)
    await screenshot("apps-energy")
    await page.goto("/apps/mail")
    await expect(queue).to_contain_text("late")
    await page.goto("/apps/cal/context")
    await expect(page.locator("#context pre")).to_contain_text("(memories for app: cal)")
    await check_accessibility(page)
    await screenshot("app-context")


async def test_a_failed_digest_is_retried(
    page: Page,
    dashboard: Dashboard,
    settings: Settings,
    engine: EmbeddingEngine,
    screenshot: Screenshot,
) -> None:
    """The queue says why it failed; the button makes the digest, and says so."""
    model = Script(ModelRefusedError("a policy")).model()
    async with AppMemory.open(settings, model=model, engine=engine, clock=dashboard.clock) as failing:
        await failing.registry.register("cal")
        await failing.ingest("cal", "c-1", said("Please remember the parcel for board nine.", "Yes."))
    await page.goto("/apps/cal")
    queue = page.get_by_role("region", name="Waiting and failed digests")
    await expect(queue).to_contain_text("A policy.")
    await queue.get_by_role("button", name="Retry the digest of c-1").click()
    await expect(page.get_by_text("The conversation has a digest now.")).to_be_visible()
    await expect(queue).to_contain_text("No waiting or failed digests")
    (memory,) = await dashboard.memories.apps.list_memories("cal")
    assert "parcel for board nine" in memory.content
    await page.goto("/week")
    await page.get_by_role("link", name="Conversation c-1").click()
    await expect(page.get_by_role("region", name="Messages")).to_contain_text("Please remember the parcel")
    await expect(page.get_by_role("region", name="Digest").get_by_role("link")).to_have_text(memory.content)
    await screenshot("app-conversation")
    await check_accessibility(page)


async def test_an_uninstalled_app_keeps_its_memories_and_comes_back(page: Page, dashboard: Dashboard) -> None:
    """Uninstalled by one button, installed again by another; with the tick it is gone for good."""
    apps = dashboard.memories.apps
    await apps.registry.register("cal", name="Calendar")
    await fill(apps, "cal", 2)
    await page.goto("/apps/cal")
    await page.get_by_role("link", name="Uninstall").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("button", name="Uninstall").click()
    row = page.locator("#app-cal")
    await expect(row).to_contain_text("uninstalled")
    await expect(row).to_contain_text("2 of 10")
    await row.get_by_role("link", name="Calendar").click()
    await expect(page.get_by_text("The digests stay until they are purged")).to_be_visible()
    await page.get_by_role("button", name="Install again").click()
    await page.wait_for_url("/apps")
    await expect(row.get_by_text("installed", exact=True)).to_be_visible()
    await page.goto("/apps/cal/uninstall")
    await page.get_by_label("Also delete 2 digests and all conversations permanently").check()
    await page.get_by_role("button", name="Uninstall").click()
    await expect(page.get_by_role("heading", name="No app is registered")).to_be_visible()
