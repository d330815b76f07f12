"""What an operator looks at, on SQLite and on PostgreSQL: apps, spaces, figures, what happened, what waits."""

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from commonplace.apps.memory import AppMemory
from commonplace.core.clock import ManualClock
from commonplace.core.errors import ModelRefusedError, NotFoundError
from commonplace.core.settings import Settings
from commonplace.embedding import EmbeddingEngine
from commonplace.llm import Script
from support.apps import fill, said


@pytest.fixture
async def apps(database: Settings, clock: ManualClock, engine: EmbeddingEngine) -> AsyncIterator[AppMemory]:
    """App memory with the extractive model."""
    async with AppMemory.open(database, engine=engine, clock=clock) as memory:
        yield memory


async def test_apps_with_how_they_use_their_memory(apps: AppMemory, clock: ManualClock) -> None:
    """Installed ones first, by id; the fullest space counts, whosever it is."""
    for app_id, name in (("b", "Mail"), ("a", "Calendar_1"), ("c", "Notes")):
        await apps.registry.register(app_id, name=name)
    await fill(apps, "b", 2)
    clock.now += timedelta(minutes=5)
    for number in range(3):
        await apps.ingest(
            "b", f"ada-{number}", said(f"Please note parcel{number} today.", "Yes."), user_id="ada"
        )
    await apps.registry.uninstall_app("a")
    page = await apps.figures.apps()
    assert [one.app.app_id for one in page.apps] == ["b", "c", "a"]
    mail, notes, _ = page.apps
    assert (mail.memories, mail.users, mail.fullest, mail.last_digest_at) == (5, 1, 3, clock.now)
    assert mail.energy_last_day == pytest.approx((await apps.energy.spent(timedelta(days=1)))["creation"])
    assert (notes.memories, notes.fullest, notes.last_digest_at, notes.energy_last_day) == (0, 0, None, 0.0)
    found = await apps.figures.apps(words="R_1")
    assert ([one.app.app_id for one in found.apps], found.total) == (["a"], 1)
    part = await apps.figures.apps(limit=1, offset=1)
    assert ([one.app.app_id for one in part.apps], part.total) == (["c"], 3)


async def test_memories_by_space(apps: AppMemory) -> None:
    """Of the common space, of one user, of all; found by words and by meaning in the space that is meant."""
    await apps.registry.register("cal")
    await apps.registry.register("mail")
    await fill(apps, "cal", 2)
    await apps.ingest("cal", "x", said("Ada likes late meetings.", "Noted."), user_id="ada")
    spaces = [(one.user_id, one.memories) for one in await apps.spaces.list("cal")]
    assert spaces == [(None, 2), ("ada", 1)]
    assert [one.user_id for one in await apps.spaces.memories("cal", common=True)] == [None, None]
    (hers,) = await apps.spaces.memories("cal", user_id="ada")
    assert len(await apps.spaces.memories("cal")) == 3
    assert len(await apps.spaces.memories("cal", limit=2, offset=2)) == 1
    assert await apps.spaces.search("cal", "late meetings") == [hers]
    assert await apps.spaces.search("cal", "late meetings", common=True) == []
    assert (await apps.spaces.search("cal", hers.content, by="meaning"))[0] == hers
    assert await apps.figures.newest(limit=1) == [hers]
    await apps.shares.add(hers.id, "mail")
    assert await apps.shares.of_app("cal") == {hers.id: ["mail"]}
    assert [change.kind for change in await apps.changes.list("cal", limit=2)] == ["shared", "created"]


@pytest.mark.requirement("APP-12.1", "APP-12.2", "APP-12.3", "APP-12.4", "APP-12.5")
async def test_figures_of_one_app(apps: AppMemory, clock: ManualClock) -> None:
    """Those of another app do not count, nor what is longer ago."""
    for app_id in ("cal", "mail"):
        await apps.registry.register(app_id)
    await fill(apps, "cal", 11)
    await fill(apps, "mail", 1)
    clock.now += timedelta(hours=2)
    await fill(apps, "cal", 1, first=12)
    for number in range(2):
        await apps.begin_conversation("cal", f"c-{number}")
    await apps.add_message("c-0", "user", "What is on the board?")
    await apps.focus.unanswered("c-0")
    figures = await apps.figures.of_app("cal")
    assert (figures.created_last_hour, figures.created_last_day, figures.compactions_last_day) == (1, 12, 2)
    assert (figures.utilisation, figures.conversations, figures.injection_rate) == (1.0, 14, 1.0)
    spent = await apps.figures.energy_by_hour("cal", within=timedelta(hours=4))
    assert figures.energy_last_day == pytest.approx(sum(spent.units))
    assert [units > 0 for units in spent.units] == [False, True, False, True]
    assert sum((await apps.figures.energy_by_hour()).units) > sum(spent.units)
    clock.now += timedelta(days=2)
    later = await apps.figures.of_app("cal")
    assert (later.created_last_day, later.compactions_last_day, later.energy_last_day) == (0, 0, 0.0)
    assert sum((await apps.figures.created_by_day(since=clock.now - timedelta(days=7))).values()) == 13
    with pytest.raises(NotFoundError):
        await apps.figures.of_app("none")


async def test_digests_that_wait_and_that_failed(
    database: Settings, clock: ManualClock, engine: EmbeddingEngine
) -> None:
    """Of one app or all; a failure is forgotten after a week."""
    model = Script(*[ModelRefusedError("the model is gone")] * 4).model()
    async with AppMemory.open(database, model=model, engine=engine, clock=clock) as apps:
        for app_id in ("cal", "mail"):
            await apps.registry.register(app_id)
        await apps.ingest("cal", "failed", said("Please note the parcel.", "Yes."))
        await apps.energy.spend(1000)
        await apps.ingest("mail", "late", said("Please note the parcel.", "Yes."))
        (failed,) = await apps.digests.failed()
        assert (failed.conversation_id, failed.updated_at) == ("failed", clock.now)
        assert failed.reason
        assert await apps.digests.failed("mail") == []
        waiting = await apps.digests.open()
        assert [one.conversation_id for one in waiting.digests] == ["late"]
        assert (waiting.total, waiting.digests[0].queued_at) == (1, clock.now)
        assert (await apps.digests.open("cal")).total == 0
        clock.now += timedelta(days=8)
        assert await apps.digests.failed() == []
