"""Measure how consolidation uses a model's answers: which facts and rules are kept, wrong, duplicate or lost.

40 episodes of three weeks are consolidated in eight runs of five, with recorded answers of four models: strong,
mediocre (the same pair for several values, new facts in place of updates), sloppy (good content in broken forms) and
hostile (quoted attacks, secrets, damage). Where the pipeline asks again, the second recorded answer follows, if there
is one.

A wanted item is kept if an active fact or rule holds all its words; further memories that hold them are duplicates. A
memory is wrong if it holds what was corrected, withdrawn, guessed or planted. The episodes, the answers and the words
were written for this benchmark by the people who wrote the pipeline, so compare the figures of two versions rather than
read one as a forecast.

    python benchmarks/consolidation_quality.py [--model] [--show] [--json]

With ``--model`` the model of the settings answers instead.
"""

import argparse
import asyncio
import json
import logging
import re
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, Protocol

import asyncpg
from rich.console import Console
from rich.table import Table

from commonplace.core.clock import ManualClock
from commonplace.core.request_context import request_context
from commonplace.core.settings import load_settings
from commonplace.embedding import BackendName, EmbeddingEngine, EmbeddingOptions
from commonplace.knowledge import KnowledgeMemory
from commonplace.knowledge.consolidation.spawner import model_spawner
from commonplace.knowledge.memories.episodes import EpisodeDraft
from commonplace.knowledge.storage_functions import run_consolidation, store_episodes
from commonplace.knowledge.store.database import KnowledgeDatabase
from commonplace.knowledge.store.unit_of_work import unit_of_work
from commonplace.llm import open_model
from commonplace.storage.migrations.runner import migrate_postgres
from commonplace.storage.postgres import open_pool
from scratch_server import scratch_server

DATA: Final = Path(__file__).parent / "data"
MOST_ATTEMPTS: Final = 5
KNOWN: Final = re.compile(r'^\{"id": .*\}$', re.MULTILINE)
NOBODY: Final = "00000000-dead-4bad-8bad-00000000dead"
STANDING: Final = """
SELECT subject || ' ' || predicate || ' ' || content AS text FROM facts WHERE validity = 'active'
UNION ALL
SELECT content FROM rules WHERE (metadata -> 'forgotten') IS DISTINCT FROM 'true'
ORDER BY 1
"""
OPEN: Final = "SELECT count(*) FROM episodes WHERE consolidation_status <> 'consolidated'"


class Answers(Protocol):
    """A spawner that is told about each run."""

    def begin(self, run: int, episode_ids: Sequence[str]) -> None:
        """Begin a run."""

    async def __call__(self, prompt: str, *, trigger_source: str) -> str:
        """Return an answer."""
        ...


class Recorded:
    """A spawner that plays the answers of one recorded model.

    ``@words`` in an answer becomes the id of the known fact or rule that holds the words, ``E2`` the id of the second
    episode of the run.
    """

    name = "recorded"

    def __init__(self, answers: list[list[str]]) -> None:
        self._answers = answers
        self._left: list[str] = []
        self._ids: Sequence[str] = ()
        self._run = 0

    def begin(self, run: int, episode_ids: Sequence[str]) -> None:
        """Begin a run."""
        self._run, self._ids = run, episode_ids

    async def __call__(self, prompt: str, *, trigger_source: str) -> str:
        """Return the answer of the run; the last one again and again if the model is told its fault."""
        del trigger_source
        answers = self._answers[self._run]
        answer = answers[-1] if "<previous_answer>" in prompt else answers[0]
        known = [json.loads(line) for line in KNOWN.findall(prompt)]
        texts = {each["id"]: " ".join(map(str, each.values())) for each in known}

        def target(found: re.Match[str]) -> str:
            words = found[1].lower()
            return json.dumps(next((key for key, text in texts.items() if words in text.lower()), NOBODY))

        answer = re.sub(r'"@([^"]+)"', target, answer)
        return re.sub(r'"E(\d)"', lambda found: json.dumps(self._ids[int(found[1]) - 1]), answer)


class Asked:
    """A spawner that asks the model of the settings."""

    def __init__(self, spawner: Any) -> None:  # noqa: ANN401 - the spawner of a model
        self._spawner = spawner
        self.name: str = spawner.name

    def begin(self, run: int, episode_ids: Sequence[str]) -> None:
        """Begin a run; the model sees all that it needs in the prompt."""

    async def __call__(self, prompt: str, *, trigger_source: str) -> str:
        """Ask the model."""
        return await self._spawner(prompt, trigger_source=trigger_source)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The figures of one model.

    Attributes:
        unread: Episodes that were not consolidated.
        in_review: Superseded facts that wait for a person.
        lost_items: The wanted items that nothing holds.
        wrong_items: What the wrong memories hold.
    """

    answers: str
    wanted: int
    kept: int
    wrong: int
    duplicate: int
    unread: int
    in_review: int
    lost_items: list[str]
    wrong_items: list[str]

    @property
    def lost(self) -> int:
        """The number of wanted items that nothing holds."""
        return len(self.lost_items)


def holds(text: str, item: dict[str, Any]) -> bool:
    """Return whether a memory holds the words of an item."""
    low = text.lower()
    return all(re.search(each, low) for each in item["all"]) and not any(
        re.search(each, low) for each in item.get("none", ())
    )


def score(name: str, data: dict[str, Any], texts: list[str], unread: int, in_review: int) -> Figures:
    """Compare what stands at the end with what was wanted."""
    wrong = [each["name"] for text in texts for each in data["wrong"] if holds(text, each)]
    right = [text for text in texts if not any(holds(text, each) for each in data["wrong"])]
    counts = {each["name"]: sum(holds(text, each) for text in right) for each in data["wanted"]}
    return Figures(
        answers=name,
        wanted=len(counts),
        kept=sum(count > 0 for count in counts.values()),
        wrong=len(wrong),
        duplicate=sum(max(count - 1, 0) for count in counts.values()),
        unread=unread,
        in_review=in_review,
        lost_items=[item for item, count in counts.items() if not count],
        wrong_items=wrong,
    )


async def play(
    pool: asyncpg.Pool, data: dict[str, Any], name: str, answers: Answers
) -> tuple[Figures, list[str]]:
    """Consolidate the episodes of a new tenant run by run, each with all its attempts, and score what stands."""
    engine = EmbeddingEngine(EmbeddingOptions(backend=BackendName.FAKE))
    first = 0
    tenant_id = f"quality-{name}"
    with request_context(tenant_id=tenant_id, actor="benchmark"):
        for number, run in enumerate(data["runs"]):
            clock = ManualClock(datetime.fromisoformat(run["at"]))
            episodes = data["episodes"][first : first + run["count"]]
            first += run["count"]
            drafts = [
                EpisodeDraft(
                    content=each["content"],
                    butler=data["butler"],
                    metadata={"purpose": data["purpose"]},
                    created_at=datetime.fromisoformat(each["at"]),
                )
                for each in episodes
            ]
            # An older release stored such episodes; their secrets must not become facts.
            stored = await store_episodes(pool, engine, drafts, allow_secrets=True, clock=clock)
            answers.begin(number, [str(each.id) for each in stored])
            for _ in range(MOST_ATTEMPTS):
                report = await run_consolidation(pool, engine, answers, clock=clock)
                if not report.failed and not report.waiting:
                    break
                clock.now += timedelta(hours=1)
        async with unit_of_work(pool, readonly=True) as sql:
            texts = [row["text"] for row in await sql.connection.fetch(STANDING)]
            unread = await sql.connection.fetchval(OPEN)
        memory = KnowledgeMemory(KnowledgeDatabase.of(pool), engine, tenant_id=tenant_id, actor="benchmark")
        waiting = await memory.reviews.list()
    return score(name, data, texts, unread, len(waiting)), texts


async def measure(options: argparse.Namespace) -> list[tuple[Figures, list[str]]]:
    """Play each recorded model, or ask the model of the settings, on a scratch server."""
    data = json.loads((DATA / "consolidation_episodes.json").read_text(encoding="utf-8"))
    recorded = json.loads((DATA / "consolidation_answers.json").read_text(encoding="utf-8"))
    with scratch_server() as server:
        await migrate_postgres(server.url(), "memory")
        async with await open_pool(server.url()) as pool:
            if not options.model:
                return [await play(pool, data, name, Recorded(each)) for name, each in recorded.items()]
            async with open_model(load_settings().settings) as model:
                spawner = model_spawner(model)
                if spawner is None:
                    raise SystemExit("No language model is set. Set COMMONPLACE_MODEL.")
                return [await play(pool, data, "model", Asked(spawner))]


def main() -> None:
    """Print the table, or one JSON document."""
    parser = argparse.ArgumentParser(
        description="Measure which facts and rules of a model's answers are kept, wrong, duplicate or lost."
    )
    parser.add_argument("--model", action="store_true", help="ask the model of the settings")
    parser.add_argument("--show", action="store_true", help="print the memories at the end as well")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    options = parser.parse_args()
    logging.disable(logging.ERROR)
    measured = asyncio.run(measure(options))
    if options.json:
        json.dump([asdict(each) | {"lost": each.lost} for each, _ in measured], sys.stdout, indent=2)
        print()
        return
    out = Table("answers", "wanted", "kept", "wrong", "duplicate", "lost", "in review", "unread episodes")
    for each, _ in measured:
        numbers = (each.wanted, each.kept, each.wrong, each.duplicate, each.lost, each.in_review)
        out.add_row(each.answers, *map(str, numbers), str(each.unread))
    console = Console(width=100)
    console.print(out)
    for each, texts in measured:
        console.print(f"{each.answers}: lost {each.lost_items}; wrong {each.wrong_items}", markup=False)
        if options.show:
            console.print("\n".join(texts), markup=False)


if __name__ == "__main__":
    main()
