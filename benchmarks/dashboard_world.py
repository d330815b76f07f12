"""Memories of two months for the questions of :mod:`dashboard_tasks`, made through the public API."""

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from commonplace.apps import Message
from commonplace.core.clock import ManualClock
from commonplace.knowledge import KnowledgeMemory, model_spawner
from commonplace.llm.scripted import Script
from commonplace.projects import Projects
from commonplace.services.opening import Memories

QUERY = "staging database"
PROMPT = "Which port does the staging database use?"
WRONG = "The staging database listens on port 5433"
RIGHT = "The staging database listens on port 5434"
CONNECTION = "Anna and Ben"
HARMFUL = "Restart the queue whenever a deploy is slow"
SESSION = 12
UNUSED = 25
"""Facts that nobody ever read."""

_LESSONS = (
    "timing:jellyfin] Takes 60 seconds to start after a restart",
    "dependency:caddy] Needs WireGuard before it can reach the backend",
    "behavior:registry] Fills its disk when the nightly cleanup fails",
)
_DOUBTFUL = ("Use the west gate for deliveries", "The west gate is closed for deliveries")
_LEARNED = {
    "new_facts": [
        {
            "subject": "checkout",
            "predicate": "slow deploys",
            "content": "Deploys of checkout take 40 minutes",
        },
        {"subject": "backup host", "predicate": "disk", "content": "The disk of the backup host was full"},
    ],
    "new_rules": [{"content": "Leave Anna out of checkout alerts"}],
}
_TOPICS = ("printer", "badge reader", "coffee machine", "meeting room", "parking gate")


async def fill(memories: Memories, home: Path, clock: ManualClock) -> None:
    """Store two months of memories and leave the clock at the present.

    Args:
        memories: Open and empty.
        home: Of the memories; gets a project.
        clock: Of the memories.
    """
    now = clock.now
    october = first_of_october(now)
    knowledge = memories.knowledge
    clock.now = october - timedelta(days=21)
    for number in range(UNUSED):
        topic = f"{_TOPICS[number % len(_TOPICS)]} {number}"
        await knowledge.store_fact(subject=topic, predicate="note", content=f"The {topic} was moved")
    clock.now = october - timedelta(days=20)
    anna, ben = [
        await knowledge.entities.create(canonical_name=name, entity_type="person") for name in ("Anna", "Ben")
    ]
    await knowledge.store_fact(
        subject="Anna", predicate="team", content="Anna is on the platform team", entity_id=anna.id
    )
    shared = await knowledge.store_episode(
        content="Anna and Ben moved the orders table together", butler="ops"
    )
    for who, text in ((anna, "Anna led the migration of orders"), (ben, "Ben wrote the migration of orders")):
        stored = await knowledge.store_fact(
            subject=who.canonical_name, predicate="migration", content=text, entity_id=who.id
        )
        await knowledge.links.create(
            source_type="fact",
            source_id=stored.id,
            target_type="episode",
            target_id=str(shared.id),
            relation="derived_from",
        )
    clock.now = october + timedelta(days=15)
    await knowledge.store_fact(
        subject="Anna", predicate="team", content="Anna is on the search team", entity_id=anna.id
    )
    clock.now = now - timedelta(days=3)
    await _harm(knowledge)
    await _wait(knowledge)
    (home / "checkout").mkdir()
    project = Projects(home, clock=clock).create(home / "checkout").id
    episode = await knowledge.store_episode(
        content="Ada read the port out of the staging config", butler="ops"
    )
    for scope in ("global", project):
        await knowledge.store_fact(
            subject="staging database",
            predicate="port" if scope == "global" else "dump",
            content=WRONG if scope == "global" else "The staging database of checkout is dumped at 02:00",
            scope=scope,
            source_butler="ada",
            source_episode_id=episode.id,
        )
    await _operate(memories, clock, until=SESSION - 1)
    await memories.workspace.store("The staging database is on host db-3")
    await memories.apps.registry.register("cal", name="Calendar")
    said = [Message(role="user", content="Please remember that the staging database is closed on Sundays.")]
    await memories.apps.ingest("cal", "first", said)
    answer = f"```json\n{json.dumps(_LEARNED)}\n```"
    await knowledge.runs.consolidate(model_spawner(Script(answer).model()))
    clock.now = datetime.now(UTC)
    await _operate(memories, clock, until=SESSION, first=SESSION)


def first_of_october(now: datetime) -> datetime:
    """Return the last first of October that is at least 20 days ago."""
    year = now.year if now > datetime(now.year, 10, 21, tzinfo=UTC) else now.year - 1
    return datetime(year, 10, 1, 12, tzinfo=UTC)


async def _harm(knowledge: KnowledgeMemory) -> None:
    """Store a rule that did harm, and another that was inverted."""
    rule = await knowledge.store_rule(content=HARMFUL)
    for reason in ("It lost jobs", "It hid the cause", "It took an hour"):
        await knowledge.mark_harmful(rule.id, reason=reason)


async def _wait(knowledge: KnowledgeMemory) -> None:
    """Store two pairs of facts whose keys differ in spelling alone."""
    for name in ("build server", "mail relay"):
        for key in (name, name.replace(" ", "-")):
            await knowledge.store_fact(subject=key, predicate="host", content=f"The {name} runs on host h-7")


async def _operate(memories: Memories, clock: ManualClock, *, until: int, first: int = 1) -> None:
    """Run sessions: the twelfth learns three lessons, and the two before it disagree."""
    for number in range(first, until + 1):
        clock.advance(minutes=1)
        texts = [f"Checked all services, round {number}"]
        if number in {10, 11}:
            texts.append(f"[MEMORY:behavior:gate] {_DOUBTFUL[number - 10]}")
        if number == SESSION:
            texts.extend(f"[MEMORY:{lesson}" for lesson in _LESSONS)
        await memories.operational.ingest(_session(f"session-{number}", texts))


async def _session(name: str, texts: list[str]) -> AsyncIterator[bytes]:
    """Yield the output of a session of the claude CLI."""
    lines: list[dict[str, object]] = [
        {"type": "system", "subtype": "init", "session_id": name, "model": "claude", "cwd": "/", "tools": []}
    ]
    for number, text in enumerate(texts):
        message = {
            "id": f"{name}-{number}",
            "role": "assistant",
            "model": "claude",
            "content": [{"type": "text", "text": text}],
        }
        lines.append(
            {"type": "assistant", "session_id": name, "parent_tool_use_id": None, "message": message}
        )
    lines.append(
        {
            "type": "result",
            "subtype": "success",
            "is_error": False,
            "session_id": name,
            "result": "done",
            "total_cost_usd": 0.02,
            "num_turns": 3,
            "duration_ms": 1500,
        }
    )
    yield "".join(f"{json.dumps(line)}\n" for line in lines).encode()
