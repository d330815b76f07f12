"""The records that each system of ``answers.py`` gives a reader, within each budget.

LoCoMo: every turn is an episode. ``contextual`` and ``hybrid`` are modes of the package, ``dense`` is exact cosine
over the same vectors, ``bm25`` ranks by stemmed words, ``evidence`` is the turns that answer the question. Worlds:
``recall``, ``contextual`` and ``block`` are the package's; ``dense`` and ``bm25`` rank all memories that were ever
stored, like a plain vector store; ``evidence`` is the memories that the author wants. ``none`` has no records.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

import asyncpg
import numpy as np
from rich.progress import Progress

import locomo
from answers_questions import Question, picked_conversations, picked_worlds, question_of, task_of, text_of
from commonplace.embedding import EmbeddingEngine, EmbeddingOptions, Weights
from commonplace.knowledge.model.fact_drafts import FactDraft, fact_text
from commonplace.storage.migrations.runner import migrate_postgres
from commonplace.storage.postgres import open_pool
from recall_worlds import NOW, Record, StoredWorld
from scratch_server import scratch_server

BUDGETS: Final = (1000, 2000, 4000)
"""Characters of the lines of records, each with its mark and its line end."""

CHARS_A_TOKEN: Final = 4
DEPTH: Final = 100
"""The results of a search: enough short texts for the largest budget."""

Rank = Callable[[str], Sequence[int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The records that a system gives for a question, one a line, within a budget in characters."""

    question: Question
    system: str
    budget: int
    lines: tuple[str, ...]


def within(lines: Iterable[str], budget: int) -> tuple[str, ...]:
    """Return the first lines that fit into a budget of characters; each line counts its end."""
    first_lines: list[str] = []
    room = budget
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            break
        first_lines.append(line)
    return tuple(first_lines)


def line_of_record(text: str, stored_at: datetime) -> str:
    """Return the line of a record with the date when it was stored."""
    return f"- [{stored_at.date().isoformat()}] {' '.join(text.split())}"


def lines_of_block(block: str) -> list[str]:
    """Return the lines of a context block that show memories, without its title, its note and its headings."""
    return [line for line in block.splitlines() if line.startswith("- ")]


def in_budgets(question: Question, system: str, lines: Sequence[str]) -> list[Context]:
    """Return the context of a system for a question in each budget; the evidence only has the largest budget."""
    budgets = BUDGETS[-1:] if system == "evidence" else BUDGETS
    return [
        Context(question=question, system=system, budget=budget, lines=within(lines, budget))
        for budget in budgets
    ]


def without_records(question: Question) -> Context:
    """Return the context of a question without records, which shows how well readers guess; its budget is 0."""
    return Context(question=question, system="none", budget=0, lines=())


def plain_ranks(engine: EmbeddingEngine, texts: Sequence[str]) -> dict[str, Rank]:
    """Return the rankings of texts by exact cosine and by BM25, the best first."""
    vectors = engine.embed_array(texts)
    bm25 = locomo.Bm25(texts)
    return {
        "dense": lambda query: np.argsort(
            -(vectors @ engine.embed_array([query])[0]), kind="stable"
        ).tolist(),
        "bm25": lambda query: bm25.rank(query, len(texts)),
    }


async def contexts_of_conversation(
    pool: asyncpg.Pool,
    engine: EmbeddingEngine,
    conversation: locomo.Conversation,
    questions: Sequence[locomo.Question],
) -> list[Context]:
    """Store a conversation, and return the contexts of each system for its questions."""
    memory = locomo.Memory(pool, engine)
    await memory.store(conversation)
    lines = [line_of_record(turn.text, turn.said_at) for turn in conversation.turns]
    ranks = plain_ranks(engine, [turn.text for turn in conversation.turns])
    contexts: list[Context] = []
    for each in questions:
        rankings: dict[str, Sequence[int]] = {
            mode: await memory.rank(conversation, each.text, mode, DEPTH) for mode in ("contextual", "hybrid")
        }
        rankings |= {system: rank(each.text) for system, rank in ranks.items()}
        rankings["evidence"] = sorted(each.evidence)
        question = question_of(each)
        for system, places in rankings.items():
            contexts += in_budgets(question, system, [lines[place] for place in places])
        contexts.append(without_records(question))
    return contexts


async def contexts_of_world(
    pool: asyncpg.Pool, engine: EmbeddingEngine, world: Record, prompts: Sequence[Record]
) -> list[Context]:
    """Store a world, and return the contexts of each system for its prompts."""
    memory = StoredWorld(pool, engine, world)
    await memory.store()
    memories = world["memories"]
    lines = {
        each["id"]: line_of_record(text_of(each), NOW - timedelta(days=each["age_days"])) for each in memories
    }
    ranks = plain_ranks(engine, [_embedded_text(each) for each in memories])
    contexts: list[Context] = []
    for prompt in prompts:
        rankings: dict[str, Sequence[str]] = {
            "recall": await memory.recall(prompt, limit=DEPTH),
            "contextual": await memory.search(prompt, "contextual", limit=DEPTH),
            "evidence": prompt["wanted"],
        }
        for system, rank in ranks.items():
            rankings[system] = [memories[place]["id"] for place in rank(prompt["text"])]
        task = task_of(world, prompt)
        for system, names in rankings.items():
            contexts += in_budgets(task, system, [lines[name] for name in names])
        contexts += [await _block(memory, prompt, task, budget) for budget in BUDGETS]
        contexts.append(without_records(task))
    return contexts


async def _block(memory: StoredWorld, prompt: Record, task: Question, budget: int) -> Context:
    block = await memory.block(prompt, budget // CHARS_A_TOKEN)
    return Context(question=task, system="block", budget=budget, lines=tuple(lines_of_block(block)))


def _embedded_text(memory: Record) -> str:
    """Return the text from which the package computes the vector of a memory."""
    if memory["type"] == "fact":
        names = ("subject", "predicate", "content")
        return fact_text(FactDraft(**{name: memory[name] for name in names}))
    return memory["content"]


async def all_contexts(data: Path, progress: Progress) -> list[Context]:
    """Return the contexts of each system for the questions of both sets, on a scratch server.

    Args:
        data: LoCoMo's data as published.
        progress: Shows the conversations and worlds.
    """
    contexts: list[Context] = []
    engine = EmbeddingEngine(EmbeddingOptions(queries=Weights.INT8))
    with scratch_server() as server:
        await migrate_postgres(server.url(), "memory")
        async with await open_pool(server.url()) as pool:
            for conversation, questions in progress.track(picked_conversations(data)):
                contexts += await contexts_of_conversation(pool, engine, conversation, questions)
            for world, prompts in progress.track(picked_worlds()):
                contexts += await contexts_of_world(pool, engine, world, prompts)
    engine.close()
    return contexts
