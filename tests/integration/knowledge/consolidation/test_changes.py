"""Values that change within one answer of a run: the later holds, the earlier is history with its period."""

from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import pytest

from commonplace.core.clock import ManualClock
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge import KnowledgeMemory
from commonplace.knowledge.consolidation.runs import Run
from commonplace.knowledge.memories.episodes import EpisodeDraft
from commonplace.knowledge.model.fact_drafts import FactDraft
from commonplace.knowledge.model.narrowing import Narrowing
from commonplace.knowledge.storage_functions import run_consolidation, store_episodes
from support.consolidation import Spawner, answer, episodes_of, fact, fetch
from support.on_pool import memory_on

pytestmark = pytest.mark.usefixtures("tenant")

FIRST = datetime(2026, 2, 2, 9, tzinfo=UTC)
FACTS = """
SELECT subject, predicate, content, validity, valid_from, valid_to FROM facts ORDER BY valid_from, content
"""
Row = tuple[str, str, str, datetime | None]


class Weeks:
    """Episodes of some weeks, and what consolidates them."""

    def __init__(self, pool: asyncpg.Pool, engine: EmbeddingEngine, clock: ManualClock) -> None:
        self.pool, self.engine, self.clock = pool, engine, clock

    async def say(self, *contents: str, **actions: Any) -> Run:  # noqa: ANN401 - what a model may say
        """Store an episode a week, and consolidate them; ``E1`` in the answer is the id of the first."""
        drafts = [
            EpisodeDraft(content=content, butler="ops", created_at=week(number))
            for number, content in enumerate(contents)
        ]
        await store_episodes(self.pool, self.engine, drafts, clock=self.clock)

        def said(prompt: str) -> str:
            text = answer(**actions)
            for number, each in enumerate(episodes_of(prompt), start=1):
                text = text.replace(f'"E{number}"', f'"{each}"')
            return text

        report = await run_consolidation(self.pool, self.engine, Spawner(said), clock=self.clock)
        (run,) = report.runs
        return run

    async def facts(self) -> list[Row]:
        """Return predicate, content, validity and end of each fact, by their beginnings."""
        rows = await fetch(self.pool, FACTS)
        return [(row["predicate"], row["content"], row["validity"], row["valid_to"]) for row in rows]

    async def true_at(self, moment: datetime) -> list[str]:
        """Return the contents of the facts that held at a moment."""
        lists = memory_on(self.pool, clock=self.clock).lists
        return [each.content for each in await lists.facts(narrowing=Narrowing(valid_at=moment))]


def week(number: int) -> datetime:
    """Return the time of the episode of a week."""
    return FIRST + timedelta(weeks=number)


@pytest.fixture
def weeks(knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, clock: ManualClock) -> Weeks:
    """Return consolidation on an empty database; now is 1 March."""
    return Weeks(knowledge_pool, engine, clock)


@pytest.mark.requirement("TRU-04.1")
@pytest.mark.parametrize("second", ["version", "version_2", "new_version"])
async def test_a_value_that_changes_leaves_one_current_fact(weeks: Weeks, second: str) -> None:
    """Whatever predicate the model invents, and in whatever order it answers."""
    run = await weeks.say(
        *("We build with Go 1.22.", "We build with Go 1.23 now."),
        new_facts=[
            fact("the API", second, "The API is built with Go 1.23.", evidence=["E2"]),
            fact("the API", "version", "The API is built with Go 1.22.", evidence=["E1"]),
        ],
    )
    assert (run.facts_created, run.errors) == (2, ())
    assert await weeks.facts() == [
        ("version", "The API is built with Go 1.22.", "superseded", week(1)),
        ("version", "The API is built with Go 1.23.", "active", None),
    ]
    assert any("superseded the earlier fact" in note for note in run.notes)
    assert await weeks.true_at(week(0) + timedelta(days=1)) == ["The API is built with Go 1.22."]


@pytest.mark.requirement("TRU-04.1")
async def test_a_known_fact_changes_twice_within_one_answer(weeks: Weeks) -> None:
    """It ends where the first of its successors begins, by an update or a new fact."""
    await weeks.say("staging is on db-1", new_facts=[fact("staging", "runs_on", "db-1", evidence=["E1"])])
    ((known, _, _, _),) = await fetch(weeks.pool, "SELECT id, subject, predicate, content FROM facts")
    weeks.clock.advance(hours=1)
    run = await weeks.say(
        *("…", "db-2", "db-4"),
        new_facts=[fact("Staging", "runs on", "db-2", evidence=["E2"])],
        updated_facts=[fact("staging", "host", "db-4", target_id=str(known), evidence=["E3"])],
    )
    assert run.errors == ()
    assert await weeks.facts() == [
        ("runs_on", "db-1", "superseded", week(1)),
        ("runs_on", "db-2", "superseded", week(2)),
        ("runs_on", "db-4", "active", None),
    ]


@pytest.mark.requirement("TRU-04.1")
async def test_values_that_hold_at_once_stay(weeks: Weeks) -> None:
    """Two contacts that one episode names, and two ports for two uses in two episodes."""
    await weeks.say(
        *("Anna and Ben", "metrics", "HTTP"),
        new_facts=[
            fact("ops", "contact", "Anna is a contact.", evidence=["E1"]),
            fact("ops", "contact", "Ben is a contact.", evidence=["E1"]),
            fact("api", "port", "The port for metrics is 9090.", evidence=["E2"]),
            fact("api", "port", "The port for HTTP is 8080.", evidence=["E3"]),
        ],
    )
    assert {(validity, end) for _, _, validity, end in await weeks.facts()} == {("active", None)}


@pytest.mark.requirement("TRU-04.2")
async def test_what_a_fact_was_is_history(weeks: Weeks) -> None:
    """With the days of the answer; a value that the known fact has is not stored twice."""
    was = [
        {"content": "Staging ran on db-1.", "valid_to": "2026-02-05"},
        {"content": "Staging ran on db-2.", "valid_from": "2026-02-06"},
    ]
    new = fact("staging", "runs_on", "Staging runs on db-4.", valid_from="2026-02-10", was=was)
    run = await weeks.say("db-1, then db-2, then db-4", new_facts=[new])
    assert (run.facts_created, run.errors) == (3, ())
    rows = {content: (validity, end) for _, content, validity, end in await weeks.facts()}
    assert rows == {
        "Staging ran on db-1.": ("superseded", datetime(2026, 2, 6, tzinfo=UTC) - timedelta(microseconds=1)),
        "Staging ran on db-2.": ("superseded", datetime(2026, 2, 10, tzinfo=UTC)),
        "Staging runs on db-4.": ("active", None),
    }
    weeks.clock.advance(hours=1)
    again = fact("staging", "runs_on", "Staging runs on db-5.", was=["It ran on db-4."], evidence=["E1"])
    assert (await weeks.say("db-5", new_facts=[again])).facts_created == 1


@pytest.mark.requirement("TRU-04.2")
async def test_the_form_goes_before_the_sentence(weeks: Weeks) -> None:
    """The sentence is read where the form says nothing; an end of a known fact is kept."""
    text = "Ben is away until 2026-03-20."
    await weeks.say(
        "…",
        new_facts=[
            fact("Ben", "away", text, valid_to="2026-03-10", evidence=["E1"]),
            fact("Ida", "away", text.replace("Ben", "Ida"), evidence=["E1"]),
        ],
    )
    ends = {content[:3]: end for _, content, _, end in await weeks.facts()}
    assert ends == {
        "Ben": datetime(2026, 3, 11, tzinfo=UTC) - timedelta(microseconds=1),
        "Ida": datetime(2026, 3, 21, tzinfo=UTC),
    }


@pytest.mark.requirement("TRU-04.2")
async def test_a_known_fact_that_ended_keeps_its_words_and_gets_its_end(weeks: Weeks) -> None:
    """An update with the same content and an end is no confirmation."""
    await weeks.say("…", new_facts=[fact("promo", "code", "SUNNY15", evidence=["E1"])])
    (known,) = await fetch(weeks.pool, "SELECT id FROM facts")
    weeks.clock.advance(hours=1)
    run = await weeks.say(
        "…",
        updated_facts=[fact("promo", "code", "SUNNY15", target_id=str(known["id"]), valid_to="2026-02-20")],
    )
    assert (run.facts_updated, run.facts_confirmed) == (1, 0)
    assert await weeks.true_at(weeks.clock()) == []
    assert await weeks.true_at(week(1)) == ["SUNNY15"]
    assert await weeks.true_at(datetime(2026, 2, 22, tzinfo=UTC)) == []


@pytest.mark.requirement("TRU-04.5")
async def test_a_subject_that_may_be_a_known_one_waits_for_a_person(weeks: Weeks) -> None:
    """Spellings are joined in a run; "staging" and "Staging DB" are proposed in the review."""
    run = await weeks.say(
        "…",
        new_facts=[
            fact("The Staging DB", "runs_on", "db-1", evidence=["E1"]),
            fact("staging database", "owner", "Ann", evidence=["E1"]),
            fact("staging", "runs_on", "node-7", evidence=["E1"]),
        ],
    )
    note = "staging database owner is another name of The Staging DB owner; stored there"
    assert run.notes == (f"new fact 2: {note}",)
    subjects = await fetch(weeks.pool, "SELECT subject FROM facts ORDER BY created_at, subject")
    assert [row["subject"] for row in subjects] == ["The Staging DB", "The Staging DB", "staging"]
    (pair,) = await memory_on(weeks.pool).reviews.duplicates.list()
    assert {pair.older_text, pair.newer_text} == {"The Staging DB runs_on: db-1", "staging runs_on: node-7"}


@pytest.mark.requirement("TRU-04.1")
async def test_in_a_batch_the_later_of_a_key_holds(knowledge: KnowledgeMemory) -> None:
    """Bulk stores and imports as well: the one that began later, whatever the order of the list."""
    drafts = [
        FactDraft(subject="staging", predicate="runs_on", content=content, valid_from=moment)
        for content, moment in (("db-4", week(2)), ("db-2", week(0)))
    ]
    later, earlier = await knowledge.store_facts(drafts)
    assert (later.superseded_id, earlier.superseded_id) == (earlier.id, None)
    assert (await knowledge.read("fact", earlier.id)).valid_to == week(2)


@pytest.mark.requirement("TRU-04.3")
async def test_the_label_of_a_speaker_is_no_subject(weeks: Weeks) -> None:
    """Whatever a model makes of "User:", the facts have one subject."""
    labels = ("User:", "user", "The User", "Asked")
    await weeks.say(
        "…", new_facts=[fact(label, f"p{place}", "x", evidence=["E1"]) for place, label in enumerate(labels)]
    )
    assert {row["subject"] for row in await fetch(weeks.pool, FACTS)} == {"the user"}


@pytest.mark.requirement("TRU-04.2")
async def test_a_known_fact_may_end_before_its_successor_begins(weeks: Weeks) -> None:
    """The answer names the known fact among the earlier values, with its end."""
    await weeks.say("…", new_facts=[fact("choir", "pianist", "Piotr plays the piano.", evidence=["E1"])])
    (known,) = await fetch(weeks.pool, "SELECT id FROM facts")
    weeks.clock.advance(hours=1)
    run = await weeks.say(
        *("…", "Maeve will play from the 20th on; Piotr left on the 12th."),
        updated_facts=[
            fact(
                *("choir", "pianist", "Maeve plays the piano."),
                target_id=str(known["id"]),
                valid_from="2026-02-20",
                was=[{"content": "Piotr played the piano.", "valid_to": "2026-02-12"}],
                evidence=["E2"],
            )
        ],
    )
    assert run.errors == ()
    assert await weeks.true_at(week(1)) == ["Piotr plays the piano."]
    assert await weeks.true_at(datetime(2026, 2, 16, tzinfo=UTC)) == []
    assert await weeks.true_at(weeks.clock()) == ["Maeve plays the piano."]


@pytest.mark.requirement("TRU-04.2")
async def test_an_earlier_value_that_the_new_one_mentions_is_history(weeks: Weeks) -> None:
    """It is not taken for the new one."""
    await weeks.say(
        "…",
        new_facts=[
            fact(
                *("shop", "dump_target", "Dumps go to /mnt/vault. The old path /srv/dumps was deleted."),
                valid_from="2026-02-10",
                was=[{"content": "Dumps went to /srv/dumps.", "valid_to": "2026-02-09"}],
                evidence=["E1"],
            )
        ],
    )
    assert [row[2] for row in await weeks.facts()] == ["superseded", "active"]
