"""How the dashboard writes times, numbers and money, and where a reader is in a list."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
from starlette.requests import Request

from commonplace.knowledge import EventType
from commonplace.web.pages.knowledge.audit import changes_of
from commonplace.web.pages.layout import wording
from commonplace.web.pages.layout.navigation import SidebarEntry
from commonplace.web.pages.layout.paging import ListFilters, counted_pager, cut_page, read_page

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-60, "just now"),
        (9, "just now"),
        (59, "59 s ago"),
        (60, "1 min ago"),
        (3599, "59 min ago"),
        (7200, "2 h ago"),
        (86_400, "1 day ago"),
        (13 * 86_400, "13 days ago"),
        (20 * 86_400, "9 Feb 2026"),
    ],
)
def test_ages(seconds: float, words: str) -> None:
    """In the largest unit that fits; a date behind two weeks."""
    assert wording.ago(NOW - timedelta(seconds=seconds), NOW) == words


@pytest.mark.parametrize(
    ("milliseconds", "words"),
    [(7, "7 ms"), (1500, "1.5 s"), (59_990, "1 min 0 s"), (61_000, "1 min 1 s"), (7_500_000, "2 h 5 min")],
)
def test_durations(milliseconds: float, words: str) -> None:
    """In the two largest units, rounded before they are chosen."""
    assert wording.duration(milliseconds) == words


@pytest.mark.parametrize(
    ("value", "words"), [(0.9, "0.9"), (0.95, "0.95"), (1.0, "1.0"), (0, "0.0"), (0.725, "0.72")]
)
def test_confidences(value: float, words: str) -> None:
    """One decimal at least, two at most (R-OPS-4)."""
    assert wording.decimal(value) == words


@pytest.mark.parametrize(
    ("value", "words"), [(0, "$0.00"), (0.0042, "$0.0042"), (0.02, "$0.02"), (1234.5, "$1,234.50")]
)
def test_money(value: float, words: str) -> None:
    """Less than a cent is still more than nothing."""
    assert wording.money(value) == words


def test_pager() -> None:
    """It knows its place, and keeps the filters."""
    pager = counted_pager("/memories", {"service": "a b", "category": ""}, offset=50, total=120)
    assert (pager.first, pager.last) == (51, 100)
    assert pager.previous_url == "/memories?service=a+b"
    assert pager.next_url == "/memories?service=a+b&offset=100"
    last = counted_pager("/memories", {}, offset=100, total=120)
    assert (last.first, last.last, last.next_url) == (101, 120, None)
    nothing = counted_pager("/memories", {}, offset=0, total=0)
    assert (nothing.first, nothing.last, nothing.previous_url, nothing.next_url) == (0, 0, None, None)


class Named(ListFilters):
    """A filter by name."""

    name: str = ""


def asked_for(path: str) -> Request:
    """Return a request for a path."""
    return Request({"type": "http", "path": path, "headers": [], "query_string": b""})


@pytest.mark.parametrize(("count", "next_url"), [(51, "/facts?name=a&offset=100"), (0, None)])
async def test_pager_of_a_list_that_nobody_counted(count: int, next_url: str | None) -> None:
    """The item behind the page shows that another page follows; only filters that are set are passed on."""

    async def read(*, name: str, limit: int, offset: int) -> list[int]:
        assert (name, limit, offset) == ("a", 51, 50)
        return list(range(count))

    rows, pager = await cut_page(asked_for("/facts"), Named(name=" a ", offset=50), read)
    assert list(rows) == list(range(min(count, 50)))
    assert (pager.last, pager.total, pager.next_url) == (50 + len(rows), None, next_url)


@pytest.mark.parametrize(("total", "offset"), [(0, 0), (1, 0), (50, 0), (51, 50), (120, 100)])
def test_last_page(total: int, offset: int) -> None:
    """A full last page is not followed by an empty one."""
    assert counted_pager("/memories", {}, offset=1000, total=total).offset == offset


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A page of a list that is read."""

    offset: int
    total: int


@pytest.mark.parametrize(
    ("total", "asked", "shown"), [(120, 50, 50), (120, 119, 119), (120, 120, 100), (0, 50, 0)]
)
async def test_behind_the_end_of_a_list_is_its_last_page(total: int, asked: int, shown: int) -> None:
    """A list that became shorter meanwhile shows no empty page."""

    async def read(*, limit: int, offset: int) -> Listed:
        return Listed(offset=offset, total=total if limit else 0)

    page, pager = await read_page(asked_for("/memories"), Named(offset=asked), read)
    assert (page.offset, pager.offset) == (shown, shown)


def test_the_sidebar_lights_up() -> None:
    """A page counts with those below it, the overview for itself alone."""
    memories = SidebarEntry(path="/memories", label="Memories", icon="memories")
    assert memories.holds("/memories")
    assert memories.holds("/memories/7")
    assert not memories.holds("/memories-of-others")
    overview = SidebarEntry(path="/", label="Overview", icon="overview")
    assert overview.holds("/")
    assert not overview.holds("/memories")
    graph = SidebarEntry(path="/knowledge/graph", label="Graph")
    assert SidebarEntry(path="/knowledge/entities", label="Entities", tabs=(graph,)).holds("/knowledge/graph")


def test_a_reason_is_shown_as_a_sentence() -> None:
    """Errors and reasons begin in lower case and have no full stop; a sentence stays as it is."""
    assert wording.sentence("the database does not answer") == "The database does not answer."
    assert wording.sentence("Next in the queue.") == "Next in the queue."
    assert wording.sentence("") == ""


def test_a_command_in_a_message_is_shown_as_code() -> None:
    """The words between backticks; nothing in the text becomes HTML."""
    shown = wording.commands("Run `commonplace add <b>`, then restart <i>.")
    assert shown == "Run <code>commonplace add &lt;b&gt;</code>, then restart &lt;i&gt;."


@pytest.mark.requirement("ONE-01.1")
def test_events_and_relations_have_the_words_of_the_pages() -> None:
    """No event is called superseded, retracted or a merge; a relation is a verb."""
    names = [wording.event(name) for name in EventType]
    assert len(set(names)) == len(names)
    assert not [name for name in names if re.search(r"_|supersed|retract|evict|requeue|merge$", name)]
    assert wording.relation("derived_from") == "learned from"
    assert wording.relation("works_with") == "works with"


def test_the_audit_log_shows_values_for_people() -> None:
    """Times in UTC; no null and no empty list."""
    after = {"flags": [], "session_id": None, "importance": 5, "expires_at": "2026-12-04T22:51:29+00:00"}
    assert changes_of({"before": {"importance": 4}, "after": after}) == [
        ("importance", "4", "5"),
        ("expires_at", None, "2026-12-04 22:51:29 UTC"),
    ]
