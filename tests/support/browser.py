"""The dashboard in a real browser: Chromium, the service on loopback, and all four memories, in one event loop.

The browser is started once; service, memories and page are new for each test, so that a test sees only what it stored.
"""

import os
import shutil
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from ctypes.util import find_library
from typing import Literal

import pytest
from playwright.async_api import Browser, ConsoleMessage, Error, Page, ViewportSize, async_playwright, expect

from support.dashboards import Dashboard
from support.deadlines import DEADLINE_S
from support.programs import CHECKOUT, package_file

WIDE: ViewportSize = {"width": 1440, "height": 900}
MEDIUM: ViewportSize = {"width": 1024, "height": 768}
NARROW: ViewportSize = {"width": 390, "height": 844}
DEADLINE_MS = 1000 * DEADLINE_S
SCREENSHOTS = CHECKOUT / ".artifacts" / "screenshots"
VENDORED = CHECKOUT / "src/commonplace/web/pages/static/vendor/htmx.js"
SERIOUS = {"serious", "critical"}
Scheme = Literal["light", "dark"]
SCHEMES: Mapping[Scheme, Mapping[str, list[str]]] = {
    "light": {},
    "dark": {"runOnly": ["color-contrast"]},
}
QUICK = {
    "resultTypes": ["violations"],
    "preload": False,
    "iframes": False,
    "selectors": False,
    "rules": {"target-size": {"enabled": True}},
}
"""What axe leaves out: rules without results, style sheets that it would load again, frames, and selectors."""
NEEDED = {"landmark-unique", "landmark-one-main", "heading-order"}
"""Rules of axe that count although axe calls them moderate."""

LOGGED = (
    "Failed to load resource",
    "Response Status Error Code",
    "htmx:afterRequest",
    "htmx:sendAbort",
    "htmx:sendError",
)
"""How the browser and HTMX log answers from 400 on and requests that did not get through: no faults of a page."""

Screenshot = Callable[[str], Awaitable[None]]


def _chromium() -> str:
    # The shell is the same engine without windows and takes half the processor time.
    for name in ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"):
        found = shutil.which(name)
        if found is not None:
            return found
    pytest.skip("needs Chromium: run `apt-get install chromium-headless-shell`")


def _needs_library() -> bool:
    """Tell whether the Node that drives the browser lacks what it is linked with."""
    return sys.platform == "linux" and find_library("atomic") is None


@pytest.fixture(scope="session")
async def browser() -> AsyncIterator[Browser]:
    """Chromium, without a window."""
    executable = _chromium()
    if _needs_library():
        pytest.skip("needs libatomic: run `apt-get install libatomic1`")
    if not VENDORED.exists():
        pytest.skip("needs the dashboard's scripts: run `python scripts/assets.py` in the checkout")
    expect.set_options(timeout=DEADLINE_MS)
    async with async_playwright() as playwright:
        running = await playwright.chromium.launch(
            executable_path=executable,
            args=["--no-sandbox", "--disable-background-networking", "--disable-gpu"],
        )
        yield running
        await running.close()


@pytest.fixture
async def page(browser: Browser, dashboard: Dashboard) -> AsyncIterator[Page]:
    """A tab at the dashboard; relative addresses work. The test fails if a page logs an error or breaks its policy."""
    context = await browser.new_context(base_url=dashboard.url, viewport=WIDE, reduced_motion="reduce")
    context.set_default_timeout(DEADLINE_MS)
    tab = await context.new_page()
    faults: list[str] = []

    def on_console(message: ConsoleMessage) -> None:
        if message.type == "error" and not message.text.startswith(LOGGED):
            faults.append(message.text)

    def on_error(error: Error) -> None:
        faults.append(str(error))

    tab.on("console", on_console)
    tab.on("pageerror", on_error)
    yield tab
    await context.close()
    assert not faults, faults


@pytest.fixture
def screenshot(page: Page) -> Screenshot:
    """Store what the tab shows, light and dark, at three widths, in ``.artifacts/screenshots``.

    Only where the variable ``SCREENSHOTS`` is set, as in CI: they take longer than the tests.
    """

    async def take(name: str) -> None:
        if not os.environ.get("SCREENSHOTS"):
            return
        for width, size in (("wide", WIDE), ("medium", MEDIUM), ("narrow", NARROW)):
            await page.set_viewport_size(size)
            for scheme in ("light", "dark"):
                await page.emulate_media(color_scheme=scheme)
                await page.screenshot(
                    path=SCREENSHOTS / f"{name}-{width}-{scheme}.png", full_page=width != "narrow"
                )
        await page.set_viewport_size(WIDE)
        await page.emulate_media(color_scheme="light")

    return take


async def be_drawn(page: Page) -> None:
    """Wait until a tab has drawn its page: a key that comes before that is lost."""
    await page.evaluate("() => new Promise(seen => requestAnimationFrame(() => requestAnimationFrame(seen)))")


async def look_away(page: Page, *, unanswered: str) -> None:
    """Make a tab believe that it is in the background, until a part of it did not ask for an address that it would."""
    await page.evaluate(
        """address => new Promise(resolve => {
            Object.defineProperty(document, "hidden", { value: true, configurable: true });
            const listen = event => {
                if (!event.defaultPrevented || !event.detail.pathInfo.requestPath.includes(address)) return;
                document.removeEventListener("htmx:beforeRequest", listen);
                resolve();
            };
            document.addEventListener("htmx:beforeRequest", listen);
        })""",
        unanswered,
    )


async def look_back(page: Page) -> None:
    """Bring a tab to the front again."""
    await page.evaluate(
        """() => {
            delete document.hidden;
            document.dispatchEvent(new Event("visibilitychange"));
        }"""
    )


async def check_accessibility(page: Page, *schemes: Scheme) -> None:
    """Fail on anything that axe calls serious or critical, and on :data:`NEEDED`, in light; on contrast alone in dark.

    Fails too if a table scrolls sideways, so that its last column is cut. A page whose colours are checked elsewhere
    needs one scheme; by default, both are checked.

    Skips where axe-core is not installed.
    """
    wide = await page.evaluate(
        "() => [...document.querySelectorAll('.table-scroll:not([tabindex])')]"
        ".filter(each => each.scrollWidth > each.clientWidth).map(each => each.textContent.slice(0, 200))"
    )
    assert not wide, wide
    if not await page.evaluate("'axe' in window"):
        await page.evaluate(package_file("axe-core/axe.min.js").read_text(encoding="utf-8"))
    for scheme in schemes or SCHEMES:
        await page.emulate_media(color_scheme=scheme)
        report = await page.evaluate("options => axe.run(options)", {**QUICK, **SCHEMES[scheme]})
        bad = [
            f"{fault['id']} ({scheme}): {node['html'][:200]} {node['failureSummary'][:300]}"
            for fault in report["violations"]
            if fault["impact"] in SERIOUS or fault["id"] in NEEDED
            for node in fault["nodes"][:3]
        ]
        assert not bad, "\n".join(bad)
    await page.emulate_media(color_scheme="light")
