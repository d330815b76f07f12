"""Recall of the evidence for questions about long conversations, without a language model.

LoCoMo (Maharana et al., 2024) asks questions about conversations of months and names the turns that answer each. Every
turn is stored as an episode, ``speaker: text`` and the caption of a shared picture, one session of the conversation as
one session, each conversation as a tenant of its own. Questions of categories 1 to 4 with evidence are asked, 20
episodes come back. ``commonplace`` is what the package gives; beside it, on the same turns and the same vectors:
``dense`` (exact cosine: a vector store without more), ``bm25`` (stemmed words) and ``grep`` (how many of the
question's words stand in a turn).

    python benchmarks/locomo.py --data locomo.json [--limit QUESTIONS] [--query-weights float32|int8] [--json]

The data is at https://github.com/snap-research/locomo. Half of it takes about two minutes.
"""

import argparse
import asyncio
import json
import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

import asyncpg
import numpy as np
import snowballstemmer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from commonplace.core.request_context import request_context
from commonplace.embedding import EmbeddingEngine, EmbeddingOptions, Weights
from commonplace.knowledge.memories.episodes import EpisodeDraft
from commonplace.knowledge.storage_functions import memory_search, store_episodes
from commonplace.storage.migrations.runner import migrate_postgres
from commonplace.storage.postgres import open_pool
from query_weights import add_query_weights
from scratch_server import scratch_server

DEPTH = 20
MODES = ("semantic", "keyword", "hybrid", "contextual")
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open", 4: "single-hop"}
METRICS = ("recall@5", "recall@10", "recall@20", "hit@10", "mrr", "ndcg@10")
SESSIONS = UUID("6f0d6d51-4a4c-5f0a-9a39-5cf3a5a0c001")

Ranking = Sequence[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One statement of a speaker: ``name`` is its name in the data, ``session`` the number of its session."""

    name: str
    session: int
    said_at: datetime
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question, its category, and the places of the turns that answer it.

    ``name`` is the conversation and the place of the question in the data, such as ``conv-26:17``.
    """

    name: str
    text: str
    answer: str
    category: int
    evidence: frozenset[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """Turns in their order, and the questions about them."""

    name: str
    turns: list[Turn]
    questions: list[Question]


def read_conversations(path: Path) -> list[Conversation]:
    """Read the data as it is published."""
    return [_conversation(sample) for sample in json.loads(path.read_text(encoding="utf-8"))]


def _conversation(sample: dict[str, Any]) -> Conversation:
    spoken = sample["conversation"]
    numbers = sorted(int(key[8:]) for key in spoken if re.fullmatch(r"session_\d+", key))
    turns = [
        Turn(name=turn["dia_id"], session=number, said_at=_date(spoken, number), text=_text(turn))
        for number in numbers
        for turn in spoken[f"session_{number}"]
    ]
    place = {turn.name: at for at, turn in enumerate(turns)}
    questions: list[Question] = []
    for number, entry in enumerate(sample["qa"]):
        names = re.findall(r"D\d+:\d+", " ".join(entry.get("evidence", [])))
        evidence = frozenset(place[name] for name in names if name in place)
        if entry["category"] in CATEGORIES and evidence:
            questions.append(
                Question(
                    name=f"{sample['sample_id']}:{number}",
                    text=entry["question"],
                    answer=str(entry["answer"]),
                    category=entry["category"],
                    evidence=evidence,
                )
            )
    return Conversation(name=sample["sample_id"], turns=turns, questions=questions)


def _date(spoken: dict[str, Any], number: int) -> datetime:
    return datetime.strptime(spoken[f"session_{number}_date_time"].strip(), "%I:%M %p on %d %B, %Y").replace(
        tzinfo=UTC
    )


def _text(turn: dict[str, Any]) -> str:
    caption = f" [{turn['blip_caption']}]" if turn.get("blip_caption") else ""
    return f"{turn['speaker']}: {turn['text']}{caption}"


STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        """a about all an and any are as at be been but by can could did do does for from had has have he her him his
        how i if in into is it its just me my no not of on or our she so than that the their them then there they this
        to up was we were what when where which who whose why will with would you your""",
    )
)

_stem = snowballstemmer.stemmer("english").stemWord


def words_of(text: str) -> list[str]:
    """Return the stemmed words of a text, without the most common ones."""
    return [_stem(word) for word in re.findall(r"\w+", text.casefold()) if word not in STOP_WORDS]


class Bm25:
    """Okapi BM25 with the usual constants."""

    K1, B = 1.2, 0.75

    def __init__(self, texts: Sequence[str]) -> None:
        self._counts = [Counter(words_of(text)) for text in texts]
        self._lengths = [count.total() for count in self._counts]
        self._mean = sum(self._lengths) / len(self._lengths)
        self._frequency = Counter(word for count in self._counts for word in count)

    def rank(self, question: str, depth: int = DEPTH) -> Ranking:
        """Return the places of the texts, the best first."""
        weights = {word: self._rarity(word) for word in set(words_of(question))}
        return _best_first([self._score(at, weights) for at in range(len(self._counts))], depth)

    def _rarity(self, word: str) -> float:
        found = self._frequency[word]
        return math.log(1 + (len(self._counts) - found + 0.5) / (found + 0.5))

    def _score(self, at: int, weights: dict[str, float]) -> float:
        count = self._counts[at]
        norm = self.K1 * (1 - self.B + self.B * self._lengths[at] / self._mean)
        return sum(
            rarity * count[word] * (self.K1 + 1) / (count[word] + norm) for word, rarity in weights.items()
        )


def grep(texts: Sequence[str], question: str) -> Ranking:
    """Rank texts by how many of the question's words of three letters and more stand in them."""
    words = {word for word in re.findall(r"\w+", question.casefold()) if len(word) > 2}
    return _best_first([sum(word in text.casefold() for word in words) for text in texts])


def _best_first(scores: Sequence[float], depth: int = DEPTH) -> Ranking:
    return sorted(range(len(scores)), key=lambda at: -scores[at])[:depth]


def measure(ranking: Ranking, evidence: frozenset[int]) -> dict[str, float]:
    """Return the metrics of one answer."""
    places = [at for at, turn in enumerate(ranking) if turn in evidence]
    best = sum(1 / math.log2(at + 2) for at in range(min(10, len(evidence))))
    gained = sum(1 / math.log2(at + 2) for at in places if at < 10)
    shares = {f"recall@{depth}": sum(at < depth for at in places) / len(evidence) for depth in (5, 10, 20)}
    return shares | {
        "hit@10": float(any(at < 10 for at in places)),
        "mrr": 1 / (places[0] + 1) if places else 0.0,
        "ndcg@10": gained / best,
    }


class Memory:
    """The package under test, with one conversation a tenant."""

    def __init__(self, pool: asyncpg.Pool, engine: EmbeddingEngine) -> None:
        self._pool = pool
        self._engine = engine
        self._places: dict[UUID | None, int] = {}

    async def store(self, conversation: Conversation) -> None:
        """Store every turn."""
        drafts = [
            EpisodeDraft(
                content=turn.text,
                butler="locomo",
                session_id=uuid5(SESSIONS, f"{conversation.name} {turn.session}"),
                created_at=turn.said_at,
            )
            for turn in conversation.turns
        ]
        with request_context(tenant_id=conversation.name, actor="benchmark"):
            receipts = await store_episodes(self._pool, self._engine, drafts)
        self._places = {receipt.id: at for at, receipt in enumerate(receipts)}

    async def rank(self, conversation: Conversation, question: str, mode: str, depth: int = DEPTH) -> Ranking:
        """Ask, in one of the modes."""
        with request_context(tenant_id=conversation.name, actor="benchmark"):
            found = await memory_search(
                self._pool, self._engine, question, types=["episode"], mode=mode, limit=depth
            )
        return [self._places[episode.memory.id] for episode in found]


async def run(
    conversations: Sequence[Conversation], queries: Weights, progress: Progress
) -> list[dict[str, Any]]:
    """Ask every question of every system and return their figures."""
    scores: dict[tuple[str, str], list[tuple[int, dict[str, float]]]] = {}
    engine = EmbeddingEngine(EmbeddingOptions(queries=queries))
    with scratch_server() as server:
        await migrate_postgres(server.url(), "memory")
        async with await open_pool(server.url()) as pool:
            for conversation in conversations:
                memory = Memory(pool, engine)
                await memory.store(conversation)
                await _ask(memory, engine, conversation, scores, progress)
    engine.close()
    return [_figures(system, mode, results) for (system, mode), results in scores.items()]


async def _ask(
    memory: Memory,
    engine: EmbeddingEngine,
    conversation: Conversation,
    scores: dict[tuple[str, str], list[tuple[int, dict[str, float]]]],
    progress: Progress,
) -> None:
    texts = [turn.text for turn in conversation.turns]
    vectors = engine.embed_array(texts)
    bm25 = Bm25(texts)
    baselines: dict[str, Callable[[str], Ranking]] = {
        "dense": lambda question: _best_first((vectors @ engine.embed_array([question])[0]).tolist()),
        "bm25": bm25.rank,
        "grep": lambda question: grep(texts, question),
    }
    task = progress.add_task(conversation.name, total=len(conversation.questions))
    for question in conversation.questions:
        answers = {(name, "exact"): rank(question.text) for name, rank in baselines.items()}
        for mode in MODES:
            answers["commonplace", mode] = await memory.rank(conversation, question.text, mode)
        for system, ranking in answers.items():
            scores.setdefault(system, []).append((question.category, measure(ranking, question.evidence)))
        progress.advance(task)


def _figures(system: str, mode: str, results: list[tuple[int, dict[str, float]]]) -> dict[str, Any]:
    categories = {
        name: _means([metrics for category, metrics in results if category == number])
        for number, name in CATEGORIES.items()
    }
    overall = _means([metrics for _, metrics in results])
    return {"system": system, "mode": mode, **overall, "categories": categories}


def _means(results: list[dict[str, float]]) -> dict[str, Any]:
    means = {name: round(float(np.mean([one[name] for one in results])), 4) for name in METRICS if results}
    return {"questions": len(results), **means}


def print_table(figures: Sequence[dict[str, Any]]) -> None:
    """Print the figures, with recall@10 of each category."""
    table = Table("system", "mode", *METRICS, *(f"{name} r@10" for name in CATEGORIES.values()))
    for row in figures:
        values = [row[name] for name in METRICS]
        values += [row["categories"][name].get("recall@10", math.nan) for name in CATEGORIES.values()]
        table.add_row(row["system"], row["mode"], *(f"{value:.3f}" for value in values))
    Console(width=160).print(table)


def main() -> None:
    """Print the table, or one JSON document."""
    parser = argparse.ArgumentParser(description="Retrieval quality on LoCoMo, without a language model.")
    parser.add_argument("--data", type=Path, required=True, help="the data as published, a JSON file")
    parser.add_argument("--limit", type=int, default=None, help="most questions of each conversation")
    add_query_weights(parser)
    parser.add_argument(
        "--json", action="store_true", help="one JSON array, an object for each system and mode"
    )
    options = parser.parse_args()
    conversations = [
        Conversation(name=one.name, turns=one.turns, questions=one.questions[: options.limit])
        for one in read_conversations(options.data)
    ]
    with Progress(console=Console(stderr=True)) as progress:
        figures = asyncio.run(run(conversations, options.query_weights, progress))
    if options.json:
        json.dump(figures, sys.stdout, indent=2)
        print()
        return
    print_table(figures)


if __name__ == "__main__":
    main()
