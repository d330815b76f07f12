"""The pages of lessons over HTTP: groups, orders, filters, pages of a long list, stale lessons, forms."""

import html
import re
from collections.abc import AsyncIterator

import httpx2
import pytest

from commonplace.operational.model.memories import Lesson
from support.dashboards import Dashboard
from support.deadlines import DEADLINE_S

RESTART = "Takes 60s to start after a restart"
LOCK = "First restart always fails due to DB lock"
VACUUM = "Needs manual VACUUM FULL weekly"
DNS = "DNS checks fail transiently: retry once before escalating"


@pytest.fixture
async def client(dashboard: Dashboard) -> AsyncIterator[httpx2.AsyncClient]:
    """A browser without scripts."""
    async with httpx2.AsyncClient(
        base_url=dashboard.url, headers={"accept": "text/html"}, follow_redirects=True, timeout=DEADLINE_S
    ) as client:
        yield client


async def fill(dashboard: Dashboard) -> dict[str, Lesson]:
    """Store four lessons of two services and none, in this order."""
    lessons: dict[str, Lesson] = {}
    for category, service, observation, confidence in (
        ("timing", "jellyfin", RESTART, 0.9),
        ("behavior", "jellyfin", LOCK, 0.7),
        ("maintenance", "postgres", VACUUM, 0.95),
        ("remediation", None, DNS, 0.6),
    ):
        receipt = await dashboard.operational.add(
            category=category, service=service, observation=observation, confidence=confidence
        )
        lessons[observation] = receipt.memory
        dashboard.clock.advance(seconds=1)
    return lessons


def observations(page: str) -> list[str]:
    """Return the observations in the table of a page."""
    return [html.unescape(text) for text in re.findall(r'<a class="observation[^>]*>(.*?)</a>', page)]


def row(page: str, lesson: Lesson | int) -> str:
    """Return the text in the row of a lesson."""
    lesson_id = lesson if isinstance(lesson, int) else lesson.id
    match = re.search(rf'<tr id="memory-{lesson_id}".*?</tr>', page, re.DOTALL)
    assert match
    return html.unescape(re.sub(r"<[^>]*>", " ", match[0]))


def form(page: str, path: str) -> dict[str, str]:
    """Return the values of the form that is sent to a path, without those of its text fields."""
    match = re.search(rf'<form[^>]* action="{path}".*?</form>', page, re.DOTALL)
    assert match
    return dict(
        re.findall(r'<input type="(?:hidden|range)"[^>]* name="([^"]*)"[^>]* value="([^"]*)"', match[0])
    )


@pytest.mark.requirement("OPS-17.3")
async def test_grouping(client: httpx2.AsyncClient, dashboard: Dashboard) -> None:
    """Lessons stand under the names of their services, general last."""
    await fill(dashboard)
    page = (await client.get("/memories")).text
    groups = re.findall(r'<tr class="group"><th[^>]*>(\w+)<span class="count">(\d)</span>', page)
    assert groups == [("jellyfin", "2"), ("postgres", "1"), ("general", "1")]
    assert observations(page) == [RESTART, LOCK, VACUUM, DNS]


@pytest.mark.requirement("OPS-12.4")
async def test_filter_by_category(client: httpx2.AsyncClient, dashboard: Dashboard) -> None:
    """Only lessons of that category are shown, and the filter says which it is."""
    await fill(dashboard)
    assert "<option >maintenance</option>" in (await client.get("/memories")).text
    page = (await client.get("/memories?category=maintenance")).text
    assert observations(page) == [VACUUM]
    assert "<option selected>maintenance</option>" in page


@pytest.mark.requirement("OPS-17.2")
async def test_sorting(client: httpx2.AsyncClient, dashboard: Dashboard) -> None:
    """The heads of columns sort by confidence and by recency."""
    await fill(dashboard)
    page = (await client.get("/memories")).text
    for head, expected in (
        ("Confidence", [VACUUM, RESTART, LOCK, DNS]),
        ("Updated", [DNS, VACUUM, LOCK, RESTART]),
    ):
        link = re.search(rf'<th scope="col"[^>]*><a href="([^"]+)"[^>]*>{head}', page)
        assert link
        page = (await client.get(html.unescape(link[1]))).text
        assert observations(page) == expected
        assert re.search(rf'<th scope="col"[^>]* aria-sort="descending"[^>]*><a[^>]*>{head}', page)


@pytest.mark.requirement("OPS-08.3")
async def test_confidence_is_clamped(client: httpx2.AsyncClient, dashboard: Dashboard) -> None:
    """A form that sends 1.5 sets 1.0; one that sends no number says so."""
    lesson = (await fill(dashboard))[LOCK]
    path = f"/memories/{lesson.id}"
    fields = form((await client.get(path)).text, path) | {"observation": LOCK, "observation_was": LOCK}
    answer = await client.post(path, data=fields | {"confidence": "much"})
    assert answer.status_code == 422
    assert "a number from 0.0 to 1.0" in answer.text
    await client.post(path, data=fields | {"confidence": "1.5"})
    assert "1.0" in row((await client.get("/memories")).text, lesson)
    assert (await dashboard.operational.get(lesson.id)).confidence == 1.0


@pytest.mark.requirement("OPS-16.3")
async def test_reactivation(client: httpx2.AsyncClient, dashboard: Dashboard) -> None:
    """A confidence above 0.3 makes an inactive lesson active again, and the next prompt has it."""
    weak = (await fill(dashboard))[LOCK]
    await dashboard.operational.edit([weak.id], confidence=0.2)
    assert " inactive " in row((await client.get("/memories")).text, weak)
    path = f"/memories/{weak.id}"
    fields = form((await client.get(path)).text, path) | {"observation": LOCK, "observation_was": LOCK}
    await client.post(path, data=fields | {"confidence": "0.5"})
    assert " active " in row((await client.get("/memories")).text, weak)
    assert (await dashboard.operational.get(weak.id)).active
    assert LOCK in (await dashboard.operational.context()).text


@pytest.mark.requirement("OPS-11.1", "OPS-11.2", "OPS-11.3")
async def test_staleness_is_shown(client: httpx2.AsyncClient, dashboard: Dashboard) -> None:
    """A lesson shows that it fades, its confidence after decay, and that it is inactive; a fresh one does not."""
    lessons = await fill(dashboard)
    add = dashboard.operational.add
    weak = (await add(category="timing", observation="Slow at night", confidence=0.4)).id
    dashboard.clock.advance(days=44)
    fresh = (await add(category="timing", observation="Fast at noon")).id
    await dashboard.operational.upkeep.decay()
    page = (await client.get("/memories")).text
    stale_row = row(page, lessons[RESTART])
    assert "fading" in stale_row
    assert "0.7" in stale_row
    assert " inactive " in row(page, weak)
    assert " active " in row(page, fresh)
    assert "0.7" in row(page, fresh)
    assert "fading" not in row(page, fresh)
    history = (await client.get(f"/memories/{weak}")).text
    assert "<strong>decayed</strong>" in history
    assert "not reinforced since" in history


async def test_pages_of_a_long_list(client: httpx2.AsyncClient, dashboard: Dashboard) -> None:
    """Fifty are on a page, and the last page is shown where an address lies behind the end."""
    for number in range(53):
        await dashboard.operational.add(category="timing", observation=f"Number {number}")
    page = (await client.get("/memories")).text
    assert "50 of 53" in page
    assert len(observations(page)) == 50
    link = re.search(r'<a[^>]* href="([^"]+)"[^>]*>(?:(?!</a>).)*Next', page, re.DOTALL)
    assert link
    last = observations((await client.get(html.unescape(link[1]))).text)
    assert len(last) == 3
    assert observations((await client.get("/memories?offset=5000")).text) == last


async def test_markup_in_a_lesson_is_text(client: httpx2.AsyncClient, dashboard: Dashboard) -> None:
    """The text of an agent is shown, never run."""
    evil = "<img src=x onerror=alert(1)> <script>alert(2)</script> {{ 7 * 7 }}"
    lesson = await dashboard.operational.add(category="timing", observation=evil)
    list_page, own_page = [(await client.get(path)).text for path in ("/memories", f"/memories/{lesson.id}")]
    assert observations(list_page) == [evil]
    assert f">\n{html.escape(evil)}</textarea>" in own_page
    for page in (list_page, own_page):
        assert "<img" not in page
        assert "<script>" not in page


async def test_a_damaged_line_of_notes_is_reported_and_stays(
    client: httpx2.AsyncClient, dashboard: Dashboard
) -> None:
    """The page says which line and why; the file is as it was."""
    await dashboard.memories.workspace.store("Something that is fine")
    file = dashboard.memories.workspace.path
    with file.open("a", encoding="utf-8") as lines:
        lines.write("{damaged\n")
    page = (await client.get("/workspace")).text
    alert = re.search(r'role="alert".*?</', page, re.DOTALL)
    assert alert
    assert "line 2" in alert[0]
    assert file.read_text(encoding="utf-8").endswith("{damaged\n")
