"""A knowledge memory that has lived for half a year: what its pages have to show."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from commonplace.core.clock import ManualClock
from commonplace.core.errors import ModelUnavailableError
from commonplace.knowledge.consolidation.runs import Run
from commonplace.knowledge.memory import KnowledgeMemory
from support.consolidation import Spawner, answer, fact


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is there, by name."""

    robert: UUID
    bob: UUID
    postgres: UUID
    port: UUID
    """A fact with a history of three."""
    fading: UUID
    rule: UUID
    run: Run
    consolidated: UUID
    dead: UUID


def earlier(memory: KnowledgeMemory, days: float) -> KnowledgeMemory:
    """Return the same memory as it was used some days ago."""
    return KnowledgeMemory(
        memory.database,
        memory.engine,
        actor="butler",
        clock=ManualClock(memory.clock() - timedelta(days=days)),
    )


async def fill(memory: KnowledgeMemory) -> Known:
    """Store half a year."""
    old = earlier(memory, 180)
    robert, bob, postgres = [
        (await old.entities.create(canonical_name=name, entity_type=kind, aliases=aliases)).id
        for name, kind, aliases in (
            ("Robert Miller", "person", ["R. Miller"]),
            ("Bob", "person", ["Bobby"]),
            ("PostgreSQL cluster", "other", ["pg-main"]),
        )
    ]
    for days, port in ((180, "5432"), (90, "5433, since the old one clashed with staging")):
        await _know(earlier(memory, days), "database", "listens on", port, entity_id=postgres)
    port = await _know(
        earlier(memory, 30), "database", "listens on", "6432, through pgbouncer", entity_id=postgres
    )
    await _know(earlier(memory, 60), "Robert", "works at", "the observatory in Bern", entity_id=robert)
    await _know(earlier(memory, 40), "Bob", "works at", "a bakery", entity_id=bob)
    await _know(earlier(memory, 40), "Bob", "likes", "black coffee before nine", entity_id=bob)
    fading = await _know(earlier(memory, 70), "sprint", "ends on", "Friday", permanence="volatile")
    await memory.upkeep.sweep()
    rule = await _teach(memory)
    run, consolidated = await _consolidate(memory)
    dead = await _fail(memory)
    return Known(
        robert=robert,
        bob=bob,
        postgres=postgres,
        port=port,
        fading=fading,
        rule=rule,
        run=run,
        consolidated=consolidated,
        dead=dead,
    )


async def _know(memory: KnowledgeMemory, subject: str, predicate: str, content: str, **more: Any) -> UUID:  # noqa: ANN401
    receipt = await memory.store_fact(subject=subject, predicate=predicate, content=content, **more)
    return receipt.id


async def _teach(memory: KnowledgeMemory) -> UUID:
    past = earlier(memory, 45)
    rule = await past.store_rule(content="Ask before restarting a database in working hours", tags=["ops"])
    for _ in range(6):
        await past.mark_helpful(rule.id)
    await past.mark_harmful(rule.id, reason="Nobody was there to ask, and the disk ran full")
    await past.store_rule(content="Write dates with the month as a word")
    return rule.id


async def _consolidate(memory: KnowledgeMemory) -> tuple[Run, UUID]:
    stored = await memory.store_episode(
        content="Robert said that the telescope dome is serviced every second Tuesday.", butler="home"
    )
    await memory.store_episode(content="The sprint now ends on Thursday, not on Friday.", butler="home")
    said = answer(
        new_facts=[
            fact("telescope dome", "is serviced", "every second Tuesday"),
            fact("sprint", "ends on", "Thursday"),
        ],
        new_rules=[{"content": "Do not plan observations on service days"}],
    )
    report = await memory.runs.consolidate(Spawner(said), butler="home")
    assert stored.id is not None
    return report.runs[0], stored.id


async def _fail(memory: KnowledgeMemory) -> UUID:
    """Store an episode that ends as a dead letter, one that failed once, and one that waits."""
    past = earlier(memory, 3)
    dead = await past.store_episode(content="A transcript that no model could read.", butler="archive")
    for days in range(6):
        at = earlier(memory, 2.5 - days * 0.3)
        await at.runs.consolidate(Spawner("no JSON at all"), butler="archive")
    await memory.store_episode(content="The deploy took forty minutes.", butler="ops")
    await memory.runs.consolidate(Spawner(ModelUnavailableError("the model is busy")), butler="ops")
    await memory.store_episode(content="Lunch moved to half past twelve.", butler="home")
    assert dead.id is not None
    return dead.id
