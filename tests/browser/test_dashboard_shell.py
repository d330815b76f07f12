"""The dashboard as a whole: sidebar, theme, errors, a policy that nothing breaks."""

from playwright.async_api import Page, expect

from support.browser import check_accessibility
from support.dashboards import Dashboard

WIDTHS = (1440, 1024, 390)


async def test_the_theme_is_chosen_and_kept(page: Page, dashboard: Dashboard) -> None:
    """The system's theme counts until another is chosen; the choice outlasts the page."""
    await page.emulate_media(color_scheme="dark")
    await page.goto("/")
    dark = await page.locator("body").evaluate("body => getComputedStyle(body).backgroundColor")
    button = page.get_by_role("button", name="Theme: system")
    await button.click()
    await page.goto("/memories")
    await expect(page.get_by_role("button", name="Theme: light")).to_be_visible()
    light = await page.locator("body").evaluate("body => getComputedStyle(body).backgroundColor")
    assert light != dark
    assert page.url.startswith(dashboard.url)


async def test_keys_reach_the_content(page: Page, dashboard: Dashboard) -> None:
    """The first key press offers to skip the sidebar, and the focus can be seen."""
    await dashboard.operational.add(category="timing", observation="Takes 60s to start")
    await page.goto("/memories")
    await page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to the content")
    await expect(skip).to_be_focused()
    await expect(skip).to_have_css("outline-style", "solid")
    await page.keyboard.press("Enter")
    await expect(page.locator("main")).to_be_focused()


async def fits(page: Page, path: str) -> bool:
    """Tell whether a page is no wider than a wide window, a tablet and a phone, opened in each."""
    for width in WIDTHS:
        await page.set_viewport_size({"width": width, "height": 900})
        await page.goto(path)
        if await page.evaluate("document.documentElement.scrollWidth") > width:
            return False
    return True


async def test_a_long_word_makes_no_page_wide(page: Page, dashboard: Dashboard) -> None:
    """A memory of one word of 400 characters fits into its page and its list."""
    memory = await dashboard.operational.add(category="timing", observation="x" * 400, service="y" * 90)
    for path in (f"/memories/{memory.id}", "/memories"):
        assert await fits(page, path), path


async def test_hostile_text_stays_text_and_fits(page: Page, dashboard: Dashboard) -> None:
    """Markup, a bidirectional override and words of 10,000 characters, in each field of a fact and a rule."""
    knowledge = dashboard.memories.knowledge
    evil = "<img src=x onerror=alert(1)>\u202e"
    marks = {"scope": "s" * 100, "tags": ["t" * 100], "source_butler": f"{evil}{'b' * 60}"}
    fact = await knowledge.store_fact(
        subject=evil + "s" * 200, predicate=evil + "p" * 200, content=evil + "c" * 10_000, **marks
    )
    rule = await knowledge.store_rule(content=evil + "r" * 10_000, **marks)
    await knowledge.mark_harmful(rule.id, reason=evil + "h" * 500)
    paths = (
        "/knowledge/facts",
        f"/knowledge/facts/{fact.id}",
        "/knowledge/rules",
        f"/knowledge/rules/{rule.id}",
    )
    for path in paths:
        assert await fits(page, path), path
        await expect(page.locator("main img")).to_have_count(0)
        assert "\u202e" not in await page.locator("main").inner_text()
        await check_accessibility(page, "light")


async def test_nothing_sticks_out_of_a_phone(page: Page, dashboard: Dashboard) -> None:
    """No page is wider than a narrow screen, and a menu shows all pages and where one is."""
    long = "a-very-long-name-without-any-break-" * 2
    await dashboard.operational.add(category="timing", service=long, observation="x" * 300)
    for path in ("/", "/memories", "/sessions", "/events", "/cooldowns"):
        await page.set_viewport_size({"width": 360, "height": 740})
        await page.goto(path)
        assert await page.evaluate("document.documentElement.scrollWidth") <= 360, path
        await page.set_viewport_size({"width": 320, "height": 740})
        current = page.locator(".nav-link[aria-current]")
        await expect(current).to_be_hidden()
        await page.get_by_role("button", name="Menu").click()
        await expect(current).to_be_in_viewport(ratio=1)
        await page.keyboard.press("Escape")
        await expect(current).to_be_hidden()
