"""Worlds of ``recall.py`` in a database: each memory is stored and confirmed as many days ago as the world says."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import asyncpg

from commonplace.core.clock import Clock
from commonplace.core.request_context import request_context
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge.memories.episodes import EpisodeDraft
from commonplace.knowledge.memories.rules import RuleDraft
from commonplace.knowledge.model.fact_drafts import FactDraft
from commonplace.knowledge.rules.occasions import without_occasions
from commonplace.knowledge.storage_functions import (
    confirm_memory,
    memory_context,
    memory_search,
    recall,
    store_episodes,
    store_facts,
    store_rules,
)

OCCASIONS = Path(__file__).parent / "data" / "occasions.jsonl"
LIMIT = 10
MONTHS = 12
NOW = datetime.now(UTC).replace(microsecond=0)

Record = Mapping[str, Any]


def moment_of(days: float) -> Clock:
    """Return a clock that stands still, some days ago."""
    moment = NOW - timedelta(days=days)
    return lambda: moment


def current(world: Record) -> Record:
    """Return a world whose memories are all current and global.

    Its author wrote no confirmations, so most memories of a year would have decayed. Some prompts of one area want
    memories of another. So each year is shortened to a month, and every memory is global.
    """
    memories = [
        {**each, "scope": "global", "age_days": each["age_days"] / MONTHS} for each in world["memories"]
    ]
    return {**world, "memories": memories}


def with_occasions(worlds: Sequence[Record]) -> list[Record]:
    """Return worlds whose rules end with their occasions.

    Raises:
        KeyError: Nobody has written the occasions of a rule.
    """
    rows = map(json.loads, OCCASIONS.read_text(encoding="utf-8").splitlines())
    occasions = {(row["world"], row["id"]): row["when"] for row in rows}
    return [
        {
            **world,
            "memories": [
                {**each, "content": f"{each['content']} (When: {occasions[world['id'], each['id']]})"}
                if each["type"] == "rule"
                else each
                for each in world["memories"]
            ],
        }
        for world in worlds
    ]


def line_of(memory: Record) -> str:
    """Return the line of a fact or rule in a block, without the parentheses at its end."""
    content = " ".join(memory["content"].split())
    if memory["type"] == "rule":
        return f"- {without_occasions(content)}"
    return f"- [{memory['subject']}] [{memory['predicate']}]: {content}"


class StoredWorld:
    """One world, stored by the package under test for a tenant of its own.

    Args:
        pool: The database.
        engine: Embeds memories and prompts.
        world: The world, in the form of ``recall.py``.
    """

    def __init__(self, pool: asyncpg.Pool, engine: EmbeddingEngine, world: Record) -> None:
        self.world = world
        self._pool = pool
        self._engine = engine
        self._names: dict[Any, str] = {}

    async def store(self) -> None:
        """Store the memories, the oldest first."""
        ages: defaultdict[float, list[Record]] = defaultdict(list)
        for memory in self.world["memories"]:
            ages[memory["age_days"]].append(memory)
        with self._acting():
            for age in sorted(ages, reverse=True):
                await self._store_facts(
                    [each for each in ages[age] if each["type"] == "fact"], moment_of(age)
                )
                await self._store_rules(
                    [each for each in ages[age] if each["type"] == "rule"], moment_of(age)
                )
                await self._store_episodes(
                    [each for each in ages[age] if each["type"] == "episode"], moment_of(age)
                )
            ids = {name: memory_id for memory_id, name in self._names.items()}
            for memory in self.world["memories"]:
                days = memory.get("confirmed_days", memory["age_days"])
                if memory["type"] != "episode" and not memory.get("superseded") and days < memory["age_days"]:
                    await confirm_memory(self._pool, memory["type"], ids[memory["id"]], clock=moment_of(days))

    async def _store_facts(self, memories: Sequence[Record], clock: Clock) -> None:
        names = ("subject", "predicate", "content", "importance", "permanence", "scope")
        drafts = [
            FactDraft(**{name: each[name] for name in names}, tags=each.get("tags")) for each in memories
        ]
        self._note(memories, await store_facts(self._pool, self._engine, drafts, clock=clock))

    async def _store_rules(self, memories: Sequence[Record], clock: Clock) -> None:
        drafts = [
            RuleDraft(content=each["content"], scope=each["scope"], tags=each.get("tags"))
            for each in memories
        ]
        self._note(memories, await store_rules(self._pool, self._engine, drafts, clock=clock))

    async def _store_episodes(self, memories: Sequence[Record], clock: Clock) -> None:
        drafts = [
            EpisodeDraft(content=each["content"], butler=each["butler"], importance=each["importance"])
            for each in memories
        ]
        self._note(memories, await store_episodes(self._pool, self._engine, drafts, clock=clock))

    def _note(self, memories: Sequence[Record], receipts: Sequence[Any]) -> None:
        self._names |= {receipt.id: memory["id"] for memory, receipt in zip(memories, receipts, strict=True)}

    async def recall(self, prompt: Record, *, limit: int = LIMIT, count: bool = False) -> list[str]:
        """Return the ids of the memories that a recall of a prompt returns, the best first."""
        with self._acting():
            results = await recall(
                self._pool,
                self._engine,
                prompt["text"],
                scope=prompt["butler"],
                limit=limit,
                count=count,
                clock=moment_of(0),
            )
        return [self._names[each.memory.id] for each in results]

    async def search(self, prompt: Record, mode: str, *, limit: int = LIMIT) -> list[str]:
        """Return the ids of the memories that a search for a prompt returns, the best first."""
        with self._acting():
            results = await memory_search(
                self._pool,
                self._engine,
                prompt["text"],
                scope=prompt["butler"],
                mode=mode,
                limit=limit,
                clock=moment_of(0),
            )
        return [self._names[each.memory.id] for each in results]

    async def block(self, prompt: Record, budget_tokens: int | None = None) -> str:
        """Return the context block for a prompt, within the default budget unless another one is given."""
        with self._acting():
            return await memory_context(
                self._pool,
                self._engine,
                prompt["text"],
                prompt["butler"],
                token_budget=budget_tokens,
                clock=moment_of(0),
            )

    def _acting(self) -> AbstractContextManager[Any]:
        return request_context(tenant_id=self.world["id"], actor="benchmark")
