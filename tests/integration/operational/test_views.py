"""What an operator looks at, on SQLite and on PostgreSQL: filters, counts, order, and how much there is in all."""

from datetime import timedelta

import pytest

from commonplace.core.clock import ManualClock
from commonplace.core.errors import NotFoundError
from commonplace.operational.memory import OperationalMemory
from commonplace.operational.model.markers import EventLevel, MemoryCategory
from commonplace.operational.model.memories import MemoryFilter, Sort
from commonplace.operational.model.sessions import SessionStatus
from support.streams import chunks, encode, init, result, session

TOLD = (
    "[EVENT:critical:postgres] Disk is at 97 %",
    "[EVENT:info] Checked 12 services",
    "[COOLDOWN:restart:Jellyfin] The database was locked",
    "[MEMORY:timing:jellyfin] Takes 60s to start after a restart",
)


async def fill(memory: OperationalMemory) -> list[int]:
    """Add memories of one service in two spellings, of another and of none; return their ids."""
    added = [
        await memory.add(category=category, service=service, observation=text, confidence=confidence)
        for category, service, text, confidence in (
            ("timing", "jellyfin", "Takes 60s to start", 0.9),
            ("behavior", "Jellyfin", "Fails once", 0.7),
            ("timing", "caddy", "Reloads in 2s", 0.2),
            ("timing", None, "DNS is slow at night", 0.5),
        )
    ]
    return [one.id for one in added]


async def test_a_page_of_memories_counts_what_its_filter_lets_through(operational: OperationalMemory) -> None:
    """Both counts follow service, category and search, and not whether active ones are wanted."""
    await fill(operational)
    page = await operational.page(MemoryFilter(limit=1))
    assert (len(page.memories), page.active, page.inactive) == (1, 3, 1)
    page = await operational.page(MemoryFilter(active=False))
    assert [one.service for one in page.memories] == ["caddy"]
    assert (page.active, page.inactive) == (3, 1)
    page = await operational.page(MemoryFilter(service="JELLYFIN", category=MemoryCategory.TIMING))
    assert (page.active, page.inactive) == (1, 0)
    page = await operational.page(MemoryFilter(search="DNS", general=True))
    assert (page.active, page.inactive) == (1, 0)


@pytest.mark.parametrize(
    ("sort", "expected"),
    [
        ("service", ["Reloads in 2s", "Takes 60s to start", "Fails once", "DNS is slow at night"]),
        ("confidence", ["Takes 60s to start", "Fails once", "DNS is slow at night", "Reloads in 2s"]),
        ("recency", ["DNS is slow at night", "Reloads in 2s", "Fails once", "Takes 60s to start"]),
    ],
)
async def test_pages_follow_the_order(
    operational: OperationalMemory, sort: Sort, expected: list[str]
) -> None:
    """Pages put together are the whole list, in its order."""
    await fill(operational)
    found: list[str] = []
    for offset in range(0, 4, 2):
        wanted = MemoryFilter(sort=sort, limit=2, offset=offset)
        found += [one.observation for one in (await operational.page(wanted)).memories]
    assert found == expected


async def test_services(operational: OperationalMemory) -> None:
    """Spellings that differ in case are one service; general comes last."""
    await fill(operational)
    counts = await operational.figures.services()
    assert [((count.service or "general").lower(), count.memories) for count in counts] == [
        ("caddy", 1),
        ("jellyfin", 2),
        ("general", 1),
    ]


async def test_recent_and_fading(operational: OperationalMemory, clock: ManualClock) -> None:
    """What was learned last comes first; what fades is active, stale, and the weakest first."""
    ids = await fill(operational)
    assert await operational.figures.fading(limit=5) == []
    clock.advance(days=31)
    fresh = await operational.add(category="timing", observation="Fresh")
    assert [one.id for one in await operational.figures.newest(limit=2)] == [fresh.id, ids[3]]
    fading = [one.id for one in await operational.figures.fading(limit=5)]
    assert fading == [ids[3], ids[1], ids[0]]


@pytest.mark.requirement("OPS-20.1", "OPS-20.2", "OPS-20.3")
async def test_sessions_events_and_cooldowns(operational: OperationalMemory, clock: ManualClock) -> None:
    """Each list takes its filters, newest first, with the total; a session has what it told and learned."""
    [done] = await operational.ingest(chunks(session(*TOLD)), tiers=[2])
    clock.advance(minutes=1)
    failed = encode(init("s-2"), result("no answer", session_id="s-2", is_error=True))
    await operational.ingest(chunks(failed))
    ours = done.session.id

    everything = await operational.sessions.page(limit=1)
    assert (everything.total, everything.items[0].status) == (2, SessionStatus.FAILED)
    assert [one.id for one in (await operational.sessions.page(status=SessionStatus.COMPLETED)).items] == [
        ours
    ]
    assert (await operational.sessions.page(tier=3)).total == 0
    assert (await operational.sessions.get(ours)).tier == 2
    with pytest.raises(NotFoundError, match="no session with id 99"):
        await operational.sessions.get(99)

    assert (await operational.events.page(limit=1)).total == 2
    critical = await operational.events.page(level=EventLevel.CRITICAL, session_id=ours)
    assert [event.message for event in critical.items] == ["Disk is at 97 %"]
    assert (await operational.events.page(service="POSTGRES")).total == 1
    assert (await operational.cooldowns.page(service="jellyfin")).total == 1
    assert (await operational.cooldowns.page(session_id=ours)).items[0].reason == "The database was locked"
    assert [one.service for one in await operational.sessions.memories(ours)] == ["jellyfin"]


async def test_what_a_session_changed_and_where_it_told_it(
    operational: OperationalMemory, clock: ManualClock
) -> None:
    """Also in other words; neither the memories that it created nor texts of other sessions count."""
    await operational.ingest(chunks(session("[MEMORY:timing:caddy] Reloads in 2s", session_id="s-1")))
    clock.advance(minutes=1)
    later = session(
        "All is well.",
        "[MEMORY:timing:caddy] Reloads in 2s!",
        "[MEMORY:timing:caddy] Reloads in 2s",
        "[MEMORY:behavior:nginx] Logs to stdout",
        session_id="s-2",
    )
    [report] = await operational.ingest(chunks(later))
    first, second = sorted(await operational.list_memories(), key=lambda one: one.id)

    changes = await operational.sessions.changes(report.session)
    assert {(one.memory_id, one.observation) for one in changes} == {(first.id, first.observation)}
    assert "reinforced" in {one.kind for one in changes}
    assert [await operational.sessions.place_of(one.id, report.session.id) for one in (first, second)] == [
        2,
        4,
    ]
    assert await operational.sessions.place_of(second.id, report.session.id - 1) is None


async def test_figures(operational: OperationalMemory, clock: ManualClock) -> None:
    """They count memories as they are now, and of the rest the last seven days."""
    await fill(operational)
    await operational.ingest(chunks(session(*TOLD)))
    figures = await operational.figures.total()
    assert (figures.active, figures.inactive, figures.learned_in_week, figures.fading) == (3, 1, 4, 0)
    assert (figures.sessions_in_week, figures.failed_in_week, figures.critical_in_week) == (1, 0, 1)
    assert figures.cost_in_week_usd == pytest.approx(0.02)
    clock.now += timedelta(days=31)
    later = await operational.figures.total()
    assert (later.learned_in_week, later.sessions_in_week, later.fading) == (0, 0, 3)
    assert operational.now() == clock()
