"""Find the evidence for questions again in conversations of one format, with no language model.

A file holds conversations; each has items (messages, with session and time) and questions, which name the items that
answer them. Every item is stored as an episode, each conversation as a tenant of its own. Beside ``commonplace`` in
every mode, on the same items and the same vectors: ``dense`` (exact cosine) and ``bm25`` (stemmed words). If some
questions have no evidence, ``f1`` and ``empty`` measure what the mode ``contextual`` returns above the product's floor.

    python benchmarks/retrieval.py --data FILE.json[.gz] [--held-out | --tuned-on]
        [--query-weights float32|int8] [--json]
"""

import argparse
import asyncio
import gzip
import hashlib
import json
import math
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

import asyncpg
import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from commonplace.core.request_context import request_context
from commonplace.embedding import EmbeddingEngine, EmbeddingOptions, Weights
from commonplace.knowledge.memories.episodes import EpisodeDraft
from commonplace.knowledge.model.config import DEFAULT_MIN_RELEVANCE
from commonplace.knowledge.storage_functions import memory_search, store_episodes
from commonplace.storage.migrations.runner import migrate_postgres
from commonplace.storage.postgres import open_pool
from locomo import Bm25
from query_weights import add_query_weights
from scratch_server import scratch_server

DEPTHS = (3, 10)
DEPTH = max(DEPTHS)
FLOOR_LIMIT = 100
MODES = ("semantic", "keyword", "hybrid", "contextual")
METRICS = tuple(f"{name}@{depth}" for name in ("recall", "ndcg") for depth in DEPTHS)
SESSIONS = UUID("7a3f8f0c-6f1e-5c52-8a1c-0a52c1d7e002")
TIMES = (
    (re.compile(r"(\d{4})年(\d+)月(\d+)日.*?(\d+):(\d+)"), "{0}-{1}-{2} {3}:{4}", "%Y-%m-%d %H:%M"),
    (re.compile(r"([A-Z][a-z]+)-(\d+)-(\d{4})"), "{0} {1} {2}", "%B %d %Y"),
)

Ranking = Sequence[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A message of a conversation."""

    session: str | None
    said_at: datetime | None
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question and the places of the items that answer it; items from ``before`` on came after the question."""

    text: str
    evidence: frozenset[int]
    before: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """Items in their order, and the questions about them."""

    name: str
    group: str
    items: list[Item]
    questions: list[Question]


def read_conversations(path: Path) -> list[Conversation]:
    """Read a file of the format, compressed or not."""
    raw = path.read_bytes()
    data = json.loads(gzip.decompress(raw) if path.suffix == ".gz" else raw)
    return [_conversation(one) for one in data["conversations"]]


def held_out(conversations: Iterable[Conversation]) -> set[str]:
    """Return the groups that no constant was chosen on: a third, by a hash of the name."""
    groups = sorted(
        {one.group for one in conversations}, key=lambda name: hashlib.sha256(name.encode()).hexdigest()
    )
    return set(groups[: math.ceil(len(groups) / 3)])


def _conversation(one: dict[str, Any]) -> Conversation:
    place = {item["id"]: at for at, item in enumerate(one["items"])}
    return Conversation(
        name=one["id"],
        group=str(one.get("person", one["id"])),
        items=[
            Item(session=item["session"], said_at=_time(item["time"]), text=item["text"])
            for item in one["items"]
        ],
        questions=[
            Question(
                text=asked["text"],
                evidence=frozenset(place[name] for name in asked["evidence"] if name in place),
                before=asked.get("before", len(place)),
            )
            for asked in one["questions"]
        ],
    )


def _time(text: str | None) -> datetime | None:
    if text is None:
        return None
    for pattern, form, reading in TIMES:
        if found := pattern.match(text):
            return datetime.strptime(form.format(*found.groups()), reading).replace(tzinfo=UTC)
    return datetime.fromisoformat(text)


def measure(ranking: Ranking, evidence: frozenset[int]) -> dict[str, float]:
    """Return recall and nDCG at each depth."""
    figures: dict[str, float] = {}
    for depth in DEPTHS:
        hits = [at for at, item in enumerate(ranking[:depth]) if item in evidence]
        best = sum(1 / math.log2(at + 2) for at in range(min(depth, len(evidence))))
        figures[f"recall@{depth}"] = len(hits) / len(evidence)
        figures[f"ndcg@{depth}"] = sum(1 / math.log2(at + 2) for at in hits) / best
    return figures


def f1(returned: Ranking, evidence: frozenset[int]) -> float:
    """Return F1 of a set of results; for a question without evidence, whether nothing was returned."""
    if not evidence or not returned:
        return float(not evidence and not returned)
    hits = len(evidence.intersection(returned))
    return 2 * hits / (len(returned) + len(evidence))


class Memory:
    """The package under test, with one conversation a tenant."""

    def __init__(self, pool: asyncpg.Pool, engine: EmbeddingEngine, conversation: Conversation) -> None:
        self._pool = pool
        self._engine = engine
        self._conversation = conversation
        self._places: dict[UUID | None, int] = {}

    async def store(self) -> None:
        """Store every item."""
        name = self._conversation.name
        drafts = [
            EpisodeDraft(
                content=item.text,
                butler="retrieval",
                session_id=None if item.session is None else uuid5(SESSIONS, f"{name} {item.session}"),
                created_at=item.said_at,
            )
            for item in self._conversation.items
        ]
        with self._acting():
            receipts = await store_episodes(self._pool, self._engine, drafts, allow_secrets=True)
        self._places = {receipt.id: at for at, receipt in enumerate(receipts)}

    async def rank(self, question: Question, mode: str) -> Ranking:
        """Ask in one of the modes."""
        masked = len(self._conversation.items) - question.before
        return (await self._search(question, mode, limit=min(1000, DEPTH + masked)))[:DEPTH]

    async def return_above_floor(self, question: Question) -> Ranking:
        """Ask for what passes the floor."""
        return await self._search(
            question, "contextual", limit=FLOOR_LIMIT, min_relevance=DEFAULT_MIN_RELEVANCE
        )

    async def _search(self, question: Question, mode: str, **options: Any) -> Ranking:  # noqa: ANN401 - as passed on
        with self._acting():
            found = await memory_search(
                self._pool, self._engine, question.text, types=["episode"], mode=mode, **options
            )
        places = [self._places[each.memory.id] for each in found]
        return [place for place in places if place < question.before]

    def _acting(self) -> Any:  # noqa: ANN401 - a context manager
        tenant = re.sub(r"[^A-Za-z0-9_.-]", "-", self._conversation.name)[:64]
        return request_context(tenant_id=tenant, actor="benchmark")


async def run(
    conversations: Sequence[Conversation], queries: Weights, progress: Progress
) -> list[dict[str, Any]]:
    """Ask every question of every system and return their figures."""
    scores: dict[tuple[str, str], list[dict[str, float]]] = {}
    floors: list[tuple[bool, float]] = []
    engine = EmbeddingEngine(EmbeddingOptions(queries=queries))
    with scratch_server() as server:
        await migrate_postgres(server.url(), "memory")
        async with await open_pool(server.url()) as pool:
            for conversation in progress.track(conversations):
                memory = Memory(pool, engine, conversation)
                await memory.store()
                baselines = _baselines(conversation, engine)
                for question in conversation.questions:
                    floors.append(
                        (
                            not question.evidence,
                            f1(await memory.return_above_floor(question), question.evidence),
                        )
                    )
                    if question.evidence:
                        answers = {(name, "exact"): rank(question) for name, rank in baselines.items()}
                        for mode in MODES:
                            answers["commonplace", mode] = await memory.rank(question, mode)
                        for system, ranking in answers.items():
                            scores.setdefault(system, []).append(measure(ranking, question.evidence))
    engine.close()
    figures = [
        {"system": system, "mode": mode, "questions": len(rows), **_means(rows)}
        for (system, mode), rows in scores.items()
    ]
    if any(is_empty for is_empty, _ in floors):
        figures.append(
            {
                "system": "commonplace",
                "mode": "contextual above the floor",
                "questions": len(floors),
                "f1": _mean([value for _, value in floors]),
                "empty": _mean([value for is_empty, value in floors if is_empty]),
            }
        )
    return figures


def _baselines(
    conversation: Conversation, engine: EmbeddingEngine
) -> dict[str, Callable[[Question], Ranking]]:
    texts = [item.text for item in conversation.items]
    vectors = engine.embed_array(texts)
    bm25 = Bm25(texts)

    def dense(question: Question) -> Ranking:
        scores = (vectors @ engine.embed_array([question.text])[0])[: question.before]
        return np.argsort(-scores, kind="stable")[:DEPTH].tolist()

    def words(question: Question) -> Ranking:
        ranked = bm25.rank(question.text, len(texts))
        return [place for place in ranked if place < question.before][:DEPTH]

    return {"dense": dense, "bm25": words}


def _means(rows: Sequence[dict[str, float]]) -> dict[str, float]:
    return {name: _mean([row[name] for row in rows]) for name in METRICS}


def _mean(values: Sequence[float]) -> float:
    return round(float(np.mean(values)), 4)


def print_table(figures: Sequence[dict[str, Any]]) -> None:
    """Print the figures."""
    table = Table("system", "mode", "questions", *METRICS, "f1", "empty")
    for row in figures:
        cells = ["" if name not in row else f"{row[name]:.3f}" for name in (*METRICS, "f1", "empty")]
        table.add_row(row["system"], row["mode"], str(row["questions"]), *cells)
    Console(width=140).print(table)


def main() -> None:
    """Print the table, or one JSON document."""
    parser = argparse.ArgumentParser(
        description="Retrieval quality on conversations, without a language model."
    )
    parser.add_argument(
        "--data", type=Path, required=True, help="a JSON file of the format, perhaps compressed"
    )
    part = parser.add_mutually_exclusive_group()
    part.add_argument("--held-out", action="store_true", help="only the third that no constant was chosen on")
    part.add_argument("--tuned-on", action="store_true", help="only the other two thirds")
    add_query_weights(parser)
    parser.add_argument(
        "--json", action="store_true", help="one JSON array, an object for each system and mode"
    )
    options = parser.parse_args()
    conversations = read_conversations(options.data)
    if options.held_out or options.tuned_on:
        unseen = held_out(conversations)
        conversations = [one for one in conversations if (one.group in unseen) == options.held_out]
    with Progress(console=Console(stderr=True)) as progress:
        figures = asyncio.run(run(conversations, options.query_weights, progress))
    if options.json:
        json.dump(figures, sys.stdout, indent=2)
        print()
        return
    print_table(figures)


if __name__ == "__main__":
    main()
