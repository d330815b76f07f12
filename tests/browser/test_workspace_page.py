"""The workspace page in a browser: one journey of workspace memory."""

from playwright.async_api import Page, expect

from support.browser import Screenshot, check_accessibility
from support.dashboards import Dashboard


async def test_a_fact_from_the_form_to_the_block_and_away(
    page: Page, dashboard: Dashboard, screenshot: Screenshot
) -> None:
    """Stored with a tag, found, seen in the block of a message with its score, refused as a secret, deleted."""
    await page.goto("/workspace")
    await expect(page.get_by_role("heading", name="No notes yet")).to_be_visible()
    await screenshot("workspace-empty")
    await page.get_by_role("link", name="Add a note").first.click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Note").fill("The deploy token is ghp_R4nd0mL00kingT0kenR4nd0mL00kingT0ken")
    await dialog.get_by_role("button", name="Add note").click()
    await expect(dialog.get_by_role("alert")).to_contain_text("secret")
    await dialog.get_by_label("Note").fill("PostgreSQL listens on port 5433 here")
    await dialog.get_by_label("Tags").fill("infra, db")
    await screenshot("workspace-new")
    await dialog.get_by_role("button", name="Add note").click()
    row = page.locator("#m-1")
    await expect(row).to_contain_text("PostgreSQL listens on port 5433 here")
    await dashboard.memories.workspace.store("User prefers tabs", tags=["style"])
    await expect(page.locator("#m-2")).to_be_visible()
    await screenshot("workspace")
    await check_accessibility(page)
    await page.reload()
    await page.get_by_role("combobox", name="Tag").select_option("style")
    await expect(row).to_be_hidden()
    await page.goto("/workspace/block?message=which+port+does+postgresql+use")
    await expect(page.locator("#block pre")).to_contain_text("(m-1, infra)")
    await expect(page.get_by_role("cell", name="port, postgresql")).to_be_visible()
    await screenshot("workspace-block")
    await check_accessibility(page)
    await page.goto("/workspace")
    await page.get_by_role("button", name="Actions of w:1").click()
    await page.locator(".verbs:popover-open").get_by_role("button", name="Forget").click()
    await expect(row).to_be_hidden()
    assert [memory.id for memory in (await dashboard.memories.workspace.search()).memories] == ["m-2"]
