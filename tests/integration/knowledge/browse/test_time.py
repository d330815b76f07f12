"""What was known when, and what was true when."""

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from commonplace.core.clock import ManualClock, utc_now
from commonplace.core.errors import InvalidInputError
from commonplace.knowledge import FactCriteria, Narrowing
from commonplace.knowledge.consolidation.runs import RunState
from commonplace.knowledge.memory import KnowledgeMemory
from commonplace.knowledge.model.events import EventType
from commonplace.knowledge.model.kinds import Fact, Validity
from support.consolidation import Spawner, answer, fact

pytestmark = pytest.mark.usefixtures("tenant")

MODES = ("semantic", "keyword", "hybrid", "contextual")
STEPS = 100


class History:
    """Random changes of a memory.

    Args:
        memory: The memory; its clock is that of the server.
        choices: The source of the choices.
    """

    def __init__(self, memory: KnowledgeMemory, choices: random.Random) -> None:
        self.memory, self.choices = memory, choices
        self.entities: list[UUID] = []
        self.merges: list[UUID] = []

    async def begin(self) -> None:
        """Make the entities that facts are about."""
        for name in ("Anna", "Ben", "Carla"):
            made = await self.memory.entities.create(canonical_name=name, entity_type="person")
            self.entities.append(made.id)

    async def step(self) -> None:
        """Change something; a change that is not possible now is refused, and changes nothing."""
        change = self.choices.choice(
            [
                *(self.store, self.store, self.store, self.confirm, self.forget),
                *(self.merge, self.unmerge, self.consolidate, self.undo, self.undo),
                *(self.store_rule, self.forget_rule, self.rename),
            ]
        )
        try:
            await change()
        except (InvalidInputError, LookupError):
            return

    async def store(self) -> None:
        """Store a fact about a subject or an entity, on a key that may be taken."""
        about = self.choices.choice([None, *self.entities])
        await self.memory.store_fact(
            subject=self.choices.choice("xy"),
            predicate=self.choices.choice("pq"),
            content=str(self.choices.random()),
            entity_id=about,
        )

    async def store_rule(self) -> None:
        """Store a rule."""
        await self.memory.store_rule(content=str(self.choices.random()))

    async def forget_rule(self) -> None:
        """Forget a rule that may be forgotten."""
        rules = await self.memory.lists.rules()
        await self.memory.forget("rule", self.choices.choice(rules).id)

    async def rename(self) -> None:
        """Change the names of an entity."""
        name = f"Anna {self.choices.random()}"
        await self.memory.entities.update(
            self.choices.choice(self.entities), canonical_name=name, aliases=[name[:7]], metadata={"n": name}
        )

    async def any_fact(self) -> UUID:
        """Return the id of a fact in any state."""
        validity = self.choices.choice([None, Validity.ACTIVE])
        return self.choices.choice(await self.memory.lists.facts(validity=validity, limit=1_000)).id

    async def confirm(self) -> None:
        """Confirm a fact."""
        await self.memory.confirm("fact", await self.any_fact())

    async def forget(self) -> None:
        """Forget a fact."""
        await self.memory.forget("fact", await self.any_fact())

    async def merge(self) -> None:
        """Merge two entities."""
        source, target = self.choices.sample(self.entities, 2)
        await self.memory.entities.merge(source, target)
        self.merges.append(source)

    async def unmerge(self) -> None:
        """Undo the last merge."""
        if self.merges:
            await self.memory.entities.unmerge(self.merges.pop())

    async def consolidate(self) -> None:
        """Consolidate an episode into a fact whose key may be taken, and update or withdraw a known fact."""
        await self.memory.store_episode(content="something happened", butler="ops")
        said: dict[str, Any] = {
            "new_facts": [fact(self.choices.choice("xy"), "p", str(self.choices.random()))]
        }
        known = [each for each in await self.memory.lists.facts(validity="active") if each.scope == "ops"]
        if known:
            target = self.choices.choice(known)
            update = fact(target.subject, "r", str(self.choices.random()), target_id=str(target.id))
            said |= self.choices.choice([{"updated_facts": [update]}, {"retractions": [str(target.id)]}])
        await self.memory.runs.consolidate(Spawner(answer(**said)))

    async def undo(self) -> None:
        """Undo the last run."""
        runs = await self.memory.runs.list(state=RunState.APPLIED, limit=1)
        if runs:
            await self.memory.runs.undo(runs[0].id)


async def known(memory: KnowledgeMemory, entities: list[UUID], **when: Any) -> tuple[object, ...]:  # noqa: ANN401
    """Return what the reads show: rules, facts in any state by their ids, and entities."""
    rules = {
        each.id
        for each in await memory.lists.rules(forgotten=False, limit=1_000, narrowing=Narrowing(**when))
    }
    facts = await memory.lists.facts(validity=None, limit=1_000)
    states: dict[UUID, object] = {}
    for each in facts:
        try:
            found = each if not when else await memory.get("fact", each.id, **when)
        except LookupError:
            continue
        assert isinstance(found, Fact)
        if found.validity is not Validity.RETRACTED:
            states[each.id] = (found.validity, found.scope, found.predicate, found.entity_id, found.valid_to)
    named = [replace(await memory.entities.get(each, **when), survivor_id=each) for each in entities]
    return rules, states, named


async def replayed(memory: KnowledgeMemory, until: datetime) -> set[UUID]:
    """Return the facts that are active after the events until a moment."""
    events = await memory.events.list(until=until, limit=10_000)
    validity: dict[UUID, str] = {}
    for event in sorted(events, key=lambda each: (each.created_at, not each.event_type.endswith("_created"))):
        changes = [(change["fact_id"], change["after"]) for change in event.payload.get("facts", [])]
        if event.payload.get("memory_type") == "fact" and event.payload.get("after"):
            changes.append((event.payload["memory_id"], event.payload["after"]))
        for fact_id, after in changes:
            if "validity" in after:
                validity[UUID(fact_id)] = after["validity"]
    return {fact_id for fact_id, state in validity.items() if state == Validity.ACTIVE}


CHANGES = {
    *(EventType.FACT_CREATED, EventType.FACT_SUPERSEDED, EventType.FACT_CONFIRMED, EventType.FACT_RETRACTED),
    *(EventType.ENTITY_MERGED, EventType.ENTITY_UNMERGED, EventType.CONSOLIDATION_APPLIED),
    EventType.CONSOLIDATION_UNDONE,
}


@pytest.mark.requirement("LIF-03.2")
@pytest.mark.parametrize("seed", range(3))
async def test_what_was_known_is_what_the_audit_trail_says(
    knowledge: KnowledgeMemory, knowledge_pool: asyncpg.Pool, seed: int
) -> None:
    """After each step of a random history, and when all of it is over."""
    knowledge.session.clock = utc_now
    history = History(knowledge, random.Random(seed))  # noqa: S311 - no secret
    await history.begin()
    moments: list[tuple[datetime, set[UUID]]] = []
    shown: list[tuple[datetime, tuple[object, ...]]] = []
    for _ in range(STEPS):
        await history.step()
        active = {each.id for each in await knowledge.lists.facts(validity="active", limit=1_000)}
        moments.append((await knowledge_pool.fetchval("SELECT clock_timestamp()"), active))
        if len(moments) % 20 == 0:
            shown.append((moments[-1][0], await known(knowledge, history.entities)))
    assert {event.event_type for event in await knowledge.events.list(limit=1_000)} >= CHANGES
    for moment, active in moments:
        listed = {
            each.id for each in await knowledge.lists.facts(limit=1_000, narrowing=Narrowing(as_of=moment))
        }
        assert listed == active == await replayed(knowledge, moment)
    for moment, expected in shown:
        assert await known(knowledge, history.entities, as_of=moment) == expected


@pytest.mark.requirement("LIF-03.1")
@pytest.mark.parametrize("mode", MODES)
async def test_every_read_takes_a_moment(
    knowledge: KnowledgeMemory, knowledge_pool: asyncpg.Pool, mode: str
) -> None:
    """Searches, recall, lists and the block find what was known then, and what was true then."""
    knowledge.session.clock = clock = ManualClock(utc_now())
    key: dict[str, Any] = {"subject": "Anna", "predicate": "lives_in"}
    may = datetime(2020, 5, 1, tzinfo=UTC)
    await knowledge.store_fact(**key, content="Anna lives in Lisbon", valid_from=may - timedelta(days=900))
    before = await knowledge_pool.fetchval("SELECT clock_timestamp()")
    await knowledge.store_fact(**key, content="Anna lives in Porto", valid_from=may)
    await knowledge.store_fact(
        subject="Anna",
        predicate="guest",
        content="Anna lives in a hotel",
        valid_to=clock.now + timedelta(days=2),
    )
    clock.advance(days=3)

    async def found(**when: Any) -> list[set[str]]:  # noqa: ANN401 - as_of and valid_at
        results = await knowledge.search(
            "where Anna lives", mode=mode, narrowing=Narrowing(scope="ops", **when)
        )
        recalled = await knowledge.recall("where Anna lives", min_relevance=0.0, narrowing=Narrowing(**when))
        block = await knowledge.context(
            "where Anna lives", "ops", min_relevance=0.0, narrowing=Narrowing(**when)
        )
        places = {place for place in ("Lisbon", "Porto", "hotel") if place in block}
        lists = ({each.memory.content.split()[-1] for each in listed} for listed in (results, recalled))
        return [*lists, places]

    assert await found() == [{"Porto"}] * 3
    assert await found(as_of=before) == [{"Lisbon"}] * 3
    assert await found(valid_at=may - timedelta(days=1)) == [{"Lisbon"}] * 3
    assert await found(valid_at=may) == [{"Porto"}] * 3
    assert await found(as_of=before, valid_at=may) == [{"Lisbon"}] * 3
    assert await found(valid_at=clock.now - timedelta(days=2)) == [{"Porto", "hotel"}] * 3
    listed = await knowledge.lists.facts(
        narrowing=Narrowing(valid_at=may - timedelta(days=1), scope="global")
    )
    assert [each.content for each in listed] == ["Anna lives in Lisbon"]


async def test_forgotten_rules_and_later_ones_are_not_in_the_past(
    knowledge: KnowledgeMemory, knowledge_pool: asyncpg.Pool
) -> None:
    """A rule that was forgotten since is."""
    knowledge.session.clock = utc_now
    first = await knowledge.store_rule(content="Ask Anna first")
    before = await knowledge_pool.fetchval("SELECT clock_timestamp()")
    await knowledge.forget("rule", first.id)
    await knowledge.store_rule(content="Ask Ben first")
    found = await knowledge.search("ask first", narrowing=Narrowing(as_of=before))
    assert [each.memory.content for each in found] == ["Ask Anna first"]
    assert [each.memory.content for each in await knowledge.search("ask first")] == ["Ask Ben first"]


async def test_what_changed_between_two_moments(
    knowledge: KnowledgeMemory, knowledge_pool: asyncpg.Pool
) -> None:
    """Facts and rules that are known at one of the moments only; of one that came and went nothing is said."""
    knowledge.session.clock = utc_now

    async def now() -> datetime:
        return await knowledge_pool.fetchval("SELECT clock_timestamp()")

    key: dict[str, Any] = {"subject": "Anna", "predicate": "lives_in"}
    await knowledge.store_fact(**key, content="Lisbon")
    rule = await knowledge.store_rule(content="Ask Anna")
    since = await now()
    await knowledge.store_fact(**key, content="Porto")
    await knowledge.store_fact(**key, content="Rome", scope="travel")
    await knowledge.forget("rule", rule.id)
    gone = await knowledge.store_rule(content="Ask Ben")
    await knowledge.forget("rule", gone.id)
    until = await now()
    await knowledge.store_rule(content="Ask Carla")
    changed = await knowledge.history.diff(since.isoformat(), until)
    assert [each.content for each in changed.added] == ["Porto", "Rome"]
    assert [each.content for each in changed.removed] == ["Lisbon", "Ask Anna"]
    assert [each.content for each in (await knowledge.history.diff(until)).added] == ["Ask Carla"]
    assert len((await knowledge.history.diff(since, until, scope="ops")).added) == 1
    page = await knowledge.history.diff(since, until, limit=1, offset=1)
    assert [each.content for each in (*page.added, *page.removed)] == ["Porto"]
    whole_day = await knowledge.history.diff(since, f"{until:%Y-%m-%d}")
    assert [each.content for each in whole_day.added] == ["Porto", "Rome", "Ask Carla"]
    with pytest.raises(InvalidInputError, match="limit: expected a whole number from 1 to 1000"):
        await knowledge.history.diff(since, until, limit=0)
    with pytest.raises(InvalidInputError, match="since: expected a moment before"):
        await knowledge.history.diff(until, since)


async def test_the_timeline_of_a_subject(knowledge: KnowledgeMemory) -> None:
    """In the order in which its facts began to hold, whatever the spelling; without forgotten facts."""
    key: dict[str, Any] = {"subject": "Anna", "predicate": "lives_in"}
    await knowledge.store_fact(**key, content="Porto", valid_from="2020-05-01")
    await knowledge.store_fact(
        subject=" anna", predicate="born", content="In May 1990", valid_from="1990-05-01"
    )
    wrong = await knowledge.store_fact(subject="Anna", predicate="age", content="200")
    await knowledge.forget("fact", wrong.id)
    assert [each.content for each in await knowledge.history.timeline("ANNA")] == ["In May 1990", "Porto"]
    assert [each.content for each in await knowledge.history.timeline("Anna", limit=1, offset=1)] == ["Porto"]
    with pytest.raises(InvalidInputError, match="limit: expected a whole number from 1 to 1000"):
        await knowledge.history.timeline("Anna", limit=1_001)
    with pytest.raises(InvalidInputError, match="subject: expected a subject or the id"):
        await knowledge.history.timeline()
    with pytest.raises(InvalidInputError, match="valid_from: expected a date or a time, such as"):
        await knowledge.store_fact(**key, content="Rome", valid_from="some time ago")


async def test_a_period_that_a_sentence_names_is_read(knowledge: KnowledgeMemory) -> None:
    """It is in the receipt and in the fact with its words; a given period goes first, and corrects it."""
    knowledge.session.clock = ManualClock(datetime(2026, 11, 22, 12, tzinfo=UTC))
    may, march = datetime(2026, 5, 1, tzinfo=UTC), datetime(2026, 3, 1, tzinfo=UTC)
    key: dict[str, Any] = {
        "subject": "Anna",
        "predicate": "works_at",
        "content": "Anna has worked at Acme since May.",
    }
    receipt = await knowledge.store_fact(**key)
    assert receipt.period is not None
    assert (receipt.period.words, receipt.period.valid_from) == ("since May", may)
    stored = await knowledge.read("fact", receipt.id)
    assert (stored.valid_from, stored.valid_to) == (may, None)
    assert stored.metadata == {"period_words": "since May"}

    corrected = await knowledge.store_fact(**key, valid_from=march)
    assert corrected.period is None
    stored = await knowledge.read("fact", corrected.id)
    assert (stored.valid_from, stored.metadata) == (march, {})


async def test_a_date_alone_asks_about_the_whole_day(knowledge: KnowledgeMemory) -> None:
    """A fact that was stored during the day was known on that day, and true."""
    knowledge.session.clock = utc_now
    receipt = await knowledge.store_fact(subject="Uma", predicate="status", content="Uma is on holiday")
    stored_at = (await knowledge.read("fact", receipt.id)).created_at
    today, yesterday = (f"{stored_at - timedelta(days=days):%Y-%m-%d}" for days in (0, 1))
    for name in ("as_of", "valid_at"):
        for day, expected in ((today, [receipt.id]), (yesterday, [])):
            asked = Narrowing(as_of=day) if name == "as_of" else Narrowing(valid_at=day)
            found = await knowledge.search("Uma", narrowing=asked)
            assert [each.memory.id for each in found] == expected
            assert [
                each.id for each in await knowledge.lists.facts(validity=None, narrowing=asked)
            ] == expected


async def test_a_date_is_the_last_day_on_which_a_fact_is_true(knowledge: KnowledgeMemory) -> None:
    """As in words; also of a fact that is true for one day, and a time is the time that it says."""
    for content, first, last in (
        ("Ben is on holiday", "2027-05-01", "2027-05-31"),
        ("Ben is in Rome", "2027-05-31", "2027-05-31"),
        ("Ben flies", "2027-05-31", "2027-05-31T00:30:00Z"),
    ):
        await knowledge.store_fact(
            subject="Ben", predicate=content, content=content, valid_from=first, valid_to=last
        )
    for moment, count in (
        ("2027-05-31T00:15:00Z", 3),
        ("2027-05-31T23:59:00Z", 2),
        ("2027-06-01T00:00:00Z", 0),
    ):
        assert len(await knowledge.lists.facts(narrowing=Narrowing(valid_at=moment))) == count


async def test_an_episode_about_the_past_leaves_the_current_fact(knowledge: KnowledgeMemory) -> None:
    """A fact about a past period is kept as history."""
    knowledge.session.clock = utc_now
    now = await knowledge.store_fact(
        subject="Uma", predicate="lives_in", content="Uma lives in Porto", scope="ops"
    )
    told = "Uma lived in Madrid from 2010 to 2015."
    await knowledge.store_episode(content=told, butler="ops")
    await knowledge.runs.consolidate(Spawner(answer(new_facts=[fact("Uma", "lives_in", told)])))
    past, current = await knowledge.history.timeline("Uma")
    assert (past.content, past.validity, current.id) == (told, Validity.SUPERSEDED, now.id)
    assert current.validity is Validity.ACTIVE


async def test_a_period_is_read_against_the_date_of_the_episode(knowledge: KnowledgeMemory) -> None:
    """Not against the date of the consolidation, when the next such weekday is a week later."""
    knowledge.session.clock = clock = ManualClock(utc_now())
    last = clock().date() + timedelta(days=2)
    away = f"Ben is away until {last:%A}."
    await knowledge.store_episode(content=away, butler="ops")
    clock.advance(days=3)
    await knowledge.runs.consolidate(Spawner(answer(new_facts=[fact("Ben", "availability", away)])))
    (stored,) = await knowledge.lists.facts(criteria=FactCriteria(subject="Ben"))
    assert stored.valid_to is not None
    assert (stored.valid_to.date(), stored.metadata["period_words"]) == (
        last + timedelta(days=1),
        f"until {last:%A}",
    )
