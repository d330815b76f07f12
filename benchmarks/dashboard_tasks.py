"""Count the interactions that an operator's questions take on the dashboard.

A script answers each question in Chromium, from the overview, on a home with two months of memories. A click, a key
chord and a typed query count as one interaction each. The answer must be visible at 1440 by 900 pixels without
scrolling. The table names the aim and the count before the dashboard was drawn again; "none" means that no page had the
answer. The world is made through the public API; only the history of facts is moved into the past.

    python benchmarks/dashboard_tasks.py [--screenshots DIRECTORY] [--json]
"""

import argparse
import asyncio
import json
import re
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import asyncpg
from playwright.async_api import Browser, Error, Locator, Page, async_playwright
from rich.console import Console
from rich.table import Table

from commonplace.access import Tokens
from commonplace.core.clock import ManualClock
from commonplace.core.settings import Settings
from commonplace.services.opening import Memories
from commonplace.storage.cluster import SUPERUSER
from commonplace.storage.migrations.runner import migrate_postgres
from commonplace.web.http.loopback import listen, url_of
from commonplace.web.service import create_app
from commonplace.web.serving import HttpServer
from dashboard_world import (
    CONNECTION,
    HARMFUL,
    PROMPT,
    QUERY,
    RIGHT,
    SESSION,
    WRONG,
    fill,
    first_of_october,
)
from scratch_server import scratch_server

WIDTH, HEIGHT = 1440, 900
TIMEOUT_MS = 10_000
BACKDATE = """
UPDATE fact_states SET known_at = CASE WHEN fact_states.validity = 'active' THEN facts.created_at ELSE (
  SELECT newer.created_at FROM facts AS newer WHERE newer.supersedes_id = facts.id
) END
FROM facts WHERE facts.id = fact_states.fact_id
"""


Role = Literal["link", "button"]


class NotSeenError(Exception):
    """A text that the window does not show."""


class Visitor:
    """A person at the dashboard, who counts what they do.

    Args:
        page: A tab that shows the overview.
    """

    def __init__(self, page: Page) -> None:
        self.page = page
        self.count = 0

    async def click(self, name: str, role: Role = "link", *, within: Locator | None = None) -> None:
        """Click the first link, or other element, of a name."""
        self.count += 1
        await (within or self.page).get_by_role(role, name=re.compile(name)).first.click()

    async def press(self, keys: str) -> None:
        """Press a key chord."""
        self.count += 1
        await self.page.keyboard.press(keys)

    async def type(self, text: str, place: str = "[data-everywhere]") -> None:
        """Type a query into the field that has the focus, and send it.

        A script has to wait for the focus, which a person sees.
        """
        self.count += 1
        await self.page.locator(f"{place}:focus").wait_for()
        await self.page.keyboard.type(text)
        await self.page.keyboard.press("Enter")
        await self.page.wait_for_load_state()

    async def enter(self, label: str, value: str) -> None:
        """Click a field and type its value: two interactions."""
        self.count += 2
        await self.page.get_by_label(label).fill(value)

    async def sees(self, *texts: str) -> None:
        """Require that texts are on the screen without scrolling.

        Raises:
            NotSeenError: A text is outside of the window.
        """
        for text in texts:
            found = self.page.locator("main, dialog, #toasts").get_by_text(text).filter(visible=True).first
            await found.wait_for()
            box = await found.bounding_box()
            if box is None or box["y"] < 0 or box["y"] + box["height"] > HEIGHT:
                raise NotSeenError(f"{text!r} is outside of the window: {box}")


Task = Callable[[Visitor], Awaitable[None]]
Filling = Callable[[Memories, Path, ManualClock], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question of an operator.

    Attributes:
        text: The question.
        most: The aim: the most interactions.
        before: The count before the dashboard was drawn again; ``None`` if no page had the answer.
        answer: Finds the answer.
    """

    text: str
    most: int
    before: int | None
    answer: Task


async def _week(visitor: Visitor) -> None:
    await visitor.click("^This week")
    await visitor.sees(f"Session {SESSION}", "Takes 60 seconds to start after a restart")


async def _query(visitor: Visitor) -> None:
    await visitor.type(QUERY)
    await visitor.sees(WRONG, "The staging database is on host db-3")


async def _why(visitor: Visitor) -> None:
    await visitor.click("^Try a prompt")
    await visitor.type(PROMPT, "[name=prompt]")
    await visitor.sees(WRONG, "Its score is", "Stored by ada")


async def _told(visitor: Visitor) -> None:
    await visitor.click("^Try a prompt")
    await visitor.type(PROMPT, "[name=prompt]")
    await visitor.sees("The staging database of checkout is dumped at 02:00")


async def _past(visitor: Visitor) -> None:
    await visitor.type("Anna")
    await visitor.enter("Known on", first_of_october(datetime.now(UTC)).strftime("%Y-%m-%d"))
    await visitor.sees("Anna is on the platform team")
    await visitor.page.get_by_text("Anna is on the search team").wait_for(state="detached")


async def _review(visitor: Visitor) -> None:
    await visitor.click("^Review")
    await visitor.page.locator("[data-pair]").first.wait_for()
    for number in range(1, 4):
        await visitor.press("d")
        await visitor.page.locator("[data-decided]").nth(number - 1).wait_for()
    await visitor.sees("Undo")


async def _correct(visitor: Visitor) -> None:
    await visitor.type(QUERY)
    await visitor.click("^Edit f:")
    await visitor.page.get_by_label("Text").fill(RIGHT)
    await visitor.press("Control+Enter")
    await visitor.sees(f"Before: {WRONG}")


async def _forget_session(visitor: Visitor) -> None:
    await visitor.click("^Sessions")
    await visitor.click(f"^Forget what session {SESSION} learned")
    await visitor.click("^Forget", "button", within=visitor.page.get_by_role("dialog"))
    await visitor.sees("3 memories forgotten")


async def _harm(visitor: Visitor) -> None:
    await visitor.click("^Review")
    await visitor.click("^Rules that did harm")
    await visitor.sees(HARMFUL, "It took an hour")


async def _unused(visitor: Visitor) -> None:
    await visitor.click("^Review")
    await visitor.click("^Unused facts")
    await visitor.sees("20 unused facts")
    await visitor.click("^Forget selected facts", "button")
    await visitor.sees("20 facts forgotten")


async def _take_back(visitor: Visitor) -> None:
    await visitor.click("^Upkeep")
    await visitor.sees("Deploys of checkout take 40 minutes")
    await visitor.click("^Undo")
    await visitor.click("^Undo run", "button", within=visitor.page.get_by_role("dialog"))
    await visitor.sees("The run was undone")


async def _health(visitor: Visitor) -> None:
    await visitor.sees("parts of the service work", "Cost", "$0.24")


async def _connection(visitor: Visitor) -> None:
    await visitor.type(CONNECTION)
    await visitor.click("^Show how Anna and Ben are connected")
    await visitor.sees("Anna and Ben are connected", "Ben wrote the migration of orders")


QUESTIONS = (
    Question(
        text="What did my agents learn this week, and from which sessions?", most=1, before=1, answer=_week
    ),
    Question(text="What do we know about the staging database?", most=1, before=2, answer=_query),
    Question(text="Why is this line in my agent's prompt, and who said it?", most=2, before=4, answer=_why),
    Question(text="What would the agent be told for this prompt here?", most=2, before=4, answer=_told),
    Question(text="What was known about Anna on 1 October?", most=3, before=None, answer=_past),
    Question(text="Is anything waiting for me? Decide three.", most=4, before=None, answer=_review),
    Question(text="This is wrong: correct it, see what it replaced.", most=3, before=6, answer=_correct),
    Question(
        text="Forget everything that came from session 12.", most=3, before=None, answer=_forget_session
    ),
    Question(text="Which rules did harm, and what became of them?", most=2, before=None, answer=_harm),
    Question(text="What was never used and is old? Forget twenty.", most=3, before=None, answer=_unused),
    Question(text="Did the last consolidation do well? Take it back.", most=3, before=4, answer=_take_back),
    Question(text="Is the service healthy, what does it cost?", most=0, before=0, answer=_health),
    Question(text="How are these two people connected?", most=2, before=None, answer=_connection),
)


async def backdate(url: str) -> None:
    """Let knowledge memory have known its facts since they were stored: its history has the server's clock."""
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(BACKDATE)
    finally:
        await connection.close()


@asynccontextmanager
async def served(home: Path, filled_by: Filling = fill) -> AsyncIterator[str]:
    """Fill a home and serve it; yield the URL."""
    with scratch_server(home) as server:
        await migrate_postgres(server.url(), "memory")
        settings = Settings(home=home, workspace=home, postgres_url=server.url())
        clock = ManualClock(datetime.now(UTC))
        async with Memories.open(settings, clock=clock) as memories, Tokens.open(settings) as tokens:
            await filled_by(memories, home, clock)
            await backdate(server.url(role=SUPERUSER))
            with listen("127.0.0.1", 0) as listener:
                ready = asyncio.Event()
                service = HttpServer(
                    create_app(memories, tokens=tokens, settings=settings), on_ready=ready.set
                )
                running = asyncio.create_task(service.serve(sockets=[listener]))
                await ready.wait()
                try:
                    yield url_of(listener)
                finally:
                    service.stop()
                    await running


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """Start Chromium without a window; its shell alone is enough."""
    names = ("chromium", "google-chrome", "chromium-headless-shell")
    executable = next(filter(None, map(shutil.which, names)), None)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            await browser.close()


async def ask(browser: Browser, url: str, question: Question, screenshots: Path | None) -> dict[str, Any]:
    """Answer a question from the overview, and return its row of the table."""
    context = await browser.new_context(viewport={"width": WIDTH, "height": HEIGHT}, base_url=url)
    context.set_default_timeout(TIMEOUT_MS)
    page = await context.new_page()
    await page.goto("/")
    visitor = Visitor(page)
    problem = ""
    try:
        await question.answer(visitor)
    except (NotSeenError, Error) as error:
        problem = str(error).strip().splitlines()[0]
    if screenshots is not None:
        await page.screenshot(path=screenshots / f"task-{QUESTIONS.index(question) + 1}.png")
    await context.close()
    return {
        "question": question.text,
        "most": question.most,
        "before": question.before,
        "count": None if problem else visitor.count,
        "problem": problem,
    }


async def run(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Answer all questions, in the order in which they change the least."""
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        async with served(home) as url, chromium() as browser:
            chosen = [each for number, each in enumerate(QUESTIONS, 1) if options.only in (0, number)]
            return [await ask(browser, url, question, options.screenshots) for question in chosen]


def main() -> int:
    """Print the table, or one JSON document; the exit status is 1 if a question misses its aim."""
    parser = argparse.ArgumentParser(description="Interactions that an operator's questions take.")
    parser.add_argument("--only", type=int, default=0, help="the number of one question")
    parser.add_argument("--screenshots", type=Path, default=None, help="where pictures of the answers go")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    options = parser.parse_args()
    rows = asyncio.run(run(options))
    if options.json:
        json.dump(rows, sys.stdout, indent=2)
        print()
    else:
        table = Table("question", "at most", "before", "now", "problem")
        for row in rows:
            before, count = ("none" if row[key] is None else str(row[key]) for key in ("before", "count"))
            table.add_row(row["question"], str(row["most"]), before, count, row["problem"])
        Console(width=150).print(table)
    missed = [row for row in rows if row["count"] is None or row["count"] > row["most"]]
    return int(bool(missed))


if __name__ == "__main__":
    raise SystemExit(main())
