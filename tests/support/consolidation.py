"""Consolidation for tests: episodes to consolidate, and models that answer as the test wants."""

import json
import re
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

import asyncpg

from commonplace.core.clock import ManualClock
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge.consolidation import executor, leases
from commonplace.knowledge.consolidation.known import known_to
from commonplace.knowledge.consolidation.leases import Lease
from commonplace.knowledge.consolidation.runs import Run
from commonplace.knowledge.memories.episodes import EpisodeDraft
from commonplace.knowledge.model.consolidation_results import ConsolidationResult
from commonplace.knowledge.rules.consolidation_policy import Policy
from commonplace.knowledge.storage_functions import get_memory, run_consolidation, store_episodes, store_fact
from commonplace.knowledge.store.unit_of_work import unit_of_work

_EPISODE_ID = re.compile(r"^Episode \d+ of \d+: id ([0-9a-f-]{36})", re.MULTILINE)


def answer(**actions: Any) -> str:  # noqa: ANN401 - what a model may say
    """Return a model's answer with these actions."""
    return f"Here it is.\n```json\n{json.dumps(actions, default=str)}\n```"


def fact(subject: str, predicate: str, content: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401
    """Return a new fact as a model writes it."""
    return {"subject": subject, "predicate": predicate, "content": content, **more}


def episodes_of(prompt: str) -> list[str]:
    """Return the ids of the episodes of a prompt, in its order."""
    return _EPISODE_ID.findall(prompt)


class Spawner:
    """A spawner that answers from a script, and keeps what it was asked.

    Args:
        steps: A text, an error to raise, or a function from the prompt to a text, also one that is awaited. The last
            one is used again and again.
    """

    name = "a scripted model"

    def __init__(self, *steps: str | Exception | Callable[[str], str | Awaitable[str]]) -> None:
        self._steps = list(steps)
        self.prompts: list[str] = []
        self.sources: list[str] = []

    async def __call__(self, prompt: str, *, trigger_source: str) -> str:
        """Take the next step."""
        self.prompts.append(prompt)
        self.sources.append(trigger_source)
        step = self._steps.pop(0) if len(self._steps) > 1 else self._steps[0]
        if isinstance(step, Exception):
            raise step
        if isinstance(step, str):
            return step
        said = step(prompt)
        return said if isinstance(said, str) else await said


NOTHING = answer(new_facts=[], updated_facts=[], new_rules=[], confirmations=[])


async def store_some(
    pool: asyncpg.Pool,
    engine: EmbeddingEngine,
    clock: ManualClock,
    butler: str,
    contents: Sequence[str],
) -> list[UUID]:
    """Store episodes a minute apart, the last one at the present."""
    drafts = [
        EpisodeDraft(
            content=content, butler=butler, created_at=clock() - timedelta(minutes=len(contents) - 1 - place)
        )
        for place, content in enumerate(contents)
    ]
    receipts = await store_episodes(pool, engine, drafts, clock=clock)
    return [receipt.id for receipt in receipts if receipt.id is not None]


async def fetch(pool: asyncpg.Pool, query: str, *arguments: object) -> list[Any]:
    """Run a query as the tenant of the test."""
    async with unit_of_work(pool) as sql:
        return await sql.connection.fetch(query, *arguments)


async def states(pool: asyncpg.Pool) -> list[tuple[str, str]]:
    """Return butler and status of each episode, in their order."""
    found = await fetch(
        pool,
        "SELECT butler, consolidation_status FROM episodes ORDER BY butler, created_at, insertion_order",
    )
    return [tuple(row) for row in found]


async def links_of(pool: asyncpg.Pool, memory_id: UUID, relation: str = "derived_from") -> set[UUID]:
    """Return what a fact or rule is linked to."""
    found = await fetch(
        pool, "SELECT target_id FROM memory_links WHERE source_id = $1 AND relation = $2", memory_id, relation
    )
    return {row["target_id"] for row in found}


class Bench:
    """A database with three episodes of one butler, and what consolidates them."""

    def __init__(self, pool: asyncpg.Pool, engine: EmbeddingEngine, clock: ManualClock) -> None:
        self.pool, self.engine, self.clock = pool, engine, clock
        self.episodes: list[UUID] = []

    async def say(self, **actions: Any) -> Run:  # noqa: ANN401 - what a model may say
        """Consolidate with a model that answers with these actions; return the run."""
        report = await run_consolidation(self.pool, self.engine, Spawner(answer(**actions)), clock=self.clock)
        assert len(report.runs) == 1, report
        return report.runs[0]

    async def known(self, subject: str, predicate: str, content: str, **more: Any) -> UUID:  # noqa: ANN401
        """Store a fact an hour ago, which the model is shown."""
        stored = await store_fact(
            self.pool,
            self.engine,
            subject=subject,
            predicate=predicate,
            content=content,
            clock=ManualClock(self.clock()),
            **more,
        )
        await fetch(
            self.pool,
            "UPDATE facts SET last_confirmed_at = last_confirmed_at - interval '1 hour' WHERE id = $1",
            stored,
        )
        return stored

    async def get(self, memory_type: str, memory_id: UUID) -> dict[str, Any]:
        """Return a memory."""
        found = await get_memory(self.pool, memory_type, memory_id, clock=self.clock)
        assert found is not None
        return found

    async def lease(self, **policy: Any) -> Lease:  # noqa: ANN401
        """Lease the episodes by hand."""
        taken = await leases.take(
            self.pool, "ops", worker="w", model=None, policy=Policy(**policy), clock=self.clock
        )
        assert isinstance(taken, Lease)
        return taken

    async def apply(self, lease: Lease, result: ConsolidationResult) -> Run:
        """Apply a result by hand."""
        known = await known_to(self.pool, lease)
        return await executor.apply(self.pool, self.engine, lease, result, known, clock=self.clock)
