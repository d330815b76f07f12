"""Measure what runs make of recorded answers: which facts of three months are right, lost, doubled or wrongly current.

``python benchmarks/runs.py [--data DIR] [--half a] [--show] [--json]`` plays the recorded answers of a strong and of a
mediocre model through the real consolidation. Each half has 60 episodes of three months. People who did not see the
code wrote them, and the facts that follow from them: ``episodes.jsonl``, ``truth.json`` and ``answers/MODEL/BATCH.txt``
in ``DIR/HALF``. Twelve episodes are a batch, and each batch is a run. Of the facts:

- ``right``: the memory has the fact in its state (past, present or to come), and its days differ by at most one
- ``period``: the memory has the fact in its state, with other days
- ``lost``: the memory does not have the fact in its state; ``unsaid``: no answer holds it
- ``doubled``: further current memories of a current fact
- ``current``: current memories of a fact that is over, or of a statement that nobody should keep

``--write-prompts DIR`` writes the prompts of a half instead, for a model to answer. Of a half that is recorded in
order, it writes the next prompt of each model, after the answers that are there (:mod:`runs_in_order`); of the others,
all prompts (:mod:`runs_at_once`). :mod:`runs_truth` says when a memory tells of a fact.

The exit status is 1 if a figure is beyond its limit: of the strong answers at least 97 % right and none wrongly
current, of the mediocre ones at least 85 % right and at most 3 % wrongly current.
"""

import argparse
import asyncio
import json
import logging
import re
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import asyncpg

from commonplace.core.clock import ManualClock
from commonplace.core.request_context import request_context
from commonplace.embedding import EmbeddingEngine, EmbeddingOptions
from commonplace.knowledge.memories.episodes import EpisodeDraft
from commonplace.knowledge.storage_functions import run_consolidation, store_episodes
from commonplace.knowledge.store.unit_of_work import unit_of_work
from commonplace.storage.migrations.runner import migrate_postgres
from commonplace.storage.postgres import open_pool
from runs_at_once import AtOnce, write_prompts
from runs_half import BUTLER, Half, read_half, time_of_run
from runs_in_order import InOrder
from runs_truth import (
    Memory,
    Score,
    TrueFact,
    as_day,
    score,
    tells_of,
)
from scratch_server import scratch_server

DATA: Final = Path(__file__).parent / "data" / "runs"
HALVES: Final = ("a", "b", "c", "d", "e", "f")
IN_ORDER: Final = frozenset({"f"})
"""The halves whose answers were recorded in order."""

MODELS: Final = ("strong", "mediocre")
MOST_ATTEMPTS: Final = 2
_TEXT: Final = r'"((?:[^"\\]|\\.)*)"'
_FACTS_SAID: Final = re.compile(rf'"subject"\s*:\s*{_TEXT}(.*?)(?="subject"|\Z)', re.DOTALL)
_CONTENTS_SAID: Final = re.compile(rf'"content"\s*:\s*{_TEXT}')
LEAST_RIGHT: Final = {"strong": 0.97, "mediocre": 0.85}
MOST_CURRENT: Final = {"strong": 0.0, "mediocre": 0.03}
_ALL: Final = """
SELECT subject, predicate, content, coalesce(valid_from, created_at) AS begins, valid_to AS ends,
  validity = 'superseded' AS is_over
FROM facts WHERE validity IN ('active', 'superseded')
UNION ALL
SELECT '', '', content, created_at, NULL, false FROM rules WHERE (metadata -> 'forgotten') IS DISTINCT FROM 'true'
ORDER BY 1, 2
"""


def spawner(half: Half, model: str, prompts: Path | None = None) -> AtOnce | InOrder:
    """Return what plays the recorded answers of a model."""
    if half.name in IN_ORDER:
        return InOrder(half.folder / "answers" / model, half.batches, prompts and prompts / model)
    return AtOnce(half, model)


async def play(
    pool: asyncpg.Pool, engine: EmbeddingEngine, half: Half, model: str, prompts: Path | None = None
) -> tuple[list[Memory], list[str]]:
    """Consolidate the episodes of a new tenant batch by batch; return all memories, and the errors of the runs.

    If answers are recorded in order, the first prompt without an answer is written to the folder ``prompts``.
    """
    answers = spawner(half, model, prompts)
    errors: list[str] = []
    with request_context(tenant_id=f"runs-{half.name}-{model}", actor="benchmark"):
        for number, batch in enumerate(half.batches):
            clock = ManualClock(time_of_run(batch))
            drafts = [
                EpisodeDraft(
                    content=each.content,
                    butler=BUTLER,
                    metadata={"source": each.source},
                    created_at=each.created_at,
                )
                for each in batch
            ]
            receipts = await store_episodes(pool, engine, drafts, clock=clock)
            answers.begin(number, [each.id for each in receipts if each.id is not None])
            for _ in range(MOST_ATTEMPTS):
                report = await run_consolidation(pool, engine, answers, clock=clock)
                errors += [f"{number + 1}: {error}" for error in report.errors]
                if not report.failed and not report.waiting:
                    break
                clock.advance(hours=1)
            if isinstance(answers, InOrder) and answers.is_waiting:
                break
        async with unit_of_work(pool, readonly=True) as sql:
            rows = await sql.connection.fetch(_ALL)
    return [
        Memory(
            subject=row["subject"],
            predicate=row["predicate"],
            content=row["content"],
            begins=as_day(row["begins"]),
            ends=as_day(row["ends"]),
            is_over=row["is_over"],
        )
        for row in rows
    ], errors


def unsaid(half: Half, model: str) -> list[TrueFact]:
    """Return the facts that no entry of the answers holds, whatever its form."""
    answers = spawner(half, model)
    entries: list[Memory] = []
    for number in range(len(half.batches)):
        text = answers.answer(number)
        facts = [each[0] for each in _FACTS_SAID.finditer(text)]
        entries += [
            Memory(subject=each[1], predicate="fact", content=each[2]) for each in _FACTS_SAID.finditer(text)
        ]
        entries += [
            Memory(subject="", predicate="", content=each[1])
            for each in _CONTENTS_SAID.finditer(text)
            if not any(each[0] in fact for fact in facts)
        ]
    return [fact for fact in half.truth.facts if not any(tells_of(each, fact) for each in entries)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The figures of one model on one half."""

    half: str
    answers: str
    facts: int
    unsaid: int
    right: int
    period: int
    lost: int
    doubled: int
    current: int

    @property
    def meets_limits(self) -> bool:
        """Whether enough facts are right, and few enough wrongly current."""
        return (
            self.right >= LEAST_RIGHT[self.answers] * self.facts
            and self.current <= MOST_CURRENT[self.answers] * self.facts
        )


def figures(half: Half, model: str, result: Score) -> Figures:
    """Return the figures of a score."""
    return Figures(
        half=half.name,
        answers=model,
        facts=len(half.truth.facts),
        unsaid=len(unsaid(half, model)),
        right=len(result.right),
        period=len(result.period),
        lost=len(result.lost),
        doubled=len(result.doubled),
        current=len(result.current),
    )


async def measure(halves: Sequence[Half], *, show: bool) -> list[Figures]:
    """Play each model on each half, on a scratch server."""
    measured: list[Figures] = []
    engine = EmbeddingEngine(EmbeddingOptions())
    with scratch_server() as server:
        await migrate_postgres(server.url(), "memory")
        async with await open_pool(server.url()) as pool:
            for half in halves:
                day = time_of_run(half.batches[-1]).date()
                for model in MODELS:
                    memories, errors = await play(pool, engine, half, model)
                    result = score(half.truth, memories, day)
                    measured.append(figures(half, model, result))
                    if show:
                        _show(result, memories, errors)
    return measured


async def write_next_prompts(half: Half, folder: Path) -> None:
    """Write for each model the prompt of the first batch without an answer, as ``MODEL/1.txt`` for the first batch."""
    engine = EmbeddingEngine(EmbeddingOptions())
    with scratch_server() as server:
        await migrate_postgres(server.url(), "memory")
        async with await open_pool(server.url()) as pool:
            for model in MODELS:
                await play(pool, engine, half, model, folder)


def _show(result: Score, memories: Sequence[Memory], errors: Sequence[str]) -> None:
    for name, lines in (asdict(result) | {"errors": errors}).items():
        for line in lines if name != "right" else ():
            print(f"{name}: {line}")
    for each in memories:
        over = " (over)" if each.is_over else ""
        print(f"  {each.begins} to {each.ends}{over}: {each.subject} | {each.predicate} | {each.content}")


def _percent(part: int, whole: int) -> str:
    return f"{part} ({part / whole:.1%})"


def main() -> int:
    """Print the table, or write the prompts; return the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--half", choices=HALVES, help="one half only")
    parser.add_argument(
        "--write-prompts", type=Path, metavar="DIR", help="write the prompts of a half, and end"
    )
    parser.add_argument("--show", action="store_true", help="print what is not right, and all memories")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    logging.disable(logging.ERROR)
    names = [options.half] if options.half else [each for each in HALVES if (options.data / each).is_dir()]
    halves = [read_half(options.data / each) for each in names]
    if options.write_prompts is not None:
        for half in halves:
            if half.name in IN_ORDER:
                asyncio.run(write_next_prompts(half, options.write_prompts))
            else:
                write_prompts(half, options.write_prompts)
        return 0
    measured = asyncio.run(measure(halves, show=options.show))
    if options.json:
        json.dump([asdict(each) for each in measured], sys.stdout, indent=2)
        return int(not all(each.meets_limits for each in measured))
    columns = ("unsaid", "right", "period", "lost", "doubled", "current")
    print(f"half  answers   facts  {'  '.join(f'{name:11}' for name in columns)}")
    for each in measured:
        cells = (f"{_percent(getattr(each, name), each.facts):11}" for name in columns)
        missed = "" if each.meets_limits else "  beyond a limit"
        print(f"{each.half:4}  {each.answers:8}  {each.facts:5}  {'  '.join(cells)}{missed}")
    return int(not all(each.meets_limits for each in measured))


if __name__ == "__main__":
    raise SystemExit(main())
