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
order, it writes the next prompt of each model, after the answers that are there. Of the others, the prompt of a batch
shows as known what holds after the batches before it, by the authors' facts, so that all batches can be answered at
once. When the answers are played, an update of such a fact updates the memory that the run shows of it or of its
relation, and new facts with its subject and predicate get those of that memory. An update with the same content has
that of the memory. If the run shows none, the update is a new fact; so it is if the memory tells of further facts,
which the update would end. :mod:`runs_truth` says when a memory tells of a fact.

The exit status is 1 if a figure is beyond its limit: of the strong answers at least 97 % right and none wrongly
current, of the mediocre ones at least 85 % right and at most 3 % wrongly current.
"""

import argparse
import asyncio
import json
import logging
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Final
from uuid import NAMESPACE_URL, UUID, uuid5

import asyncpg

from commonplace.core.clock import ManualClock
from commonplace.core.request_context import request_context
from commonplace.embedding import EmbeddingEngine, EmbeddingOptions
from commonplace.knowledge.consolidation.prompt import KnownFact, PendingEpisode, build_prompt
from commonplace.knowledge.memories.episodes import EpisodeDraft
from commonplace.knowledge.model.permanence import Permanence
from commonplace.knowledge.storage_functions import run_consolidation, store_episodes
from commonplace.knowledge.store.unit_of_work import unit_of_work
from commonplace.storage.migrations.runner import migrate_postgres
from commonplace.storage.postgres import open_pool
from runs_in_order import KNOWN, InOrder, without_targets
from runs_truth import (
    Memory,
    Score,
    State,
    TrueFact,
    Truth,
    as_day,
    read_truth,
    score,
    tells_of,
)
from runs_words import words
from scratch_server import scratch_server

DATA: Final = Path(__file__).parent / "data" / "runs"
HALVES: Final = ("a", "b", "c", "d", "e", "f")
IN_ORDER: Final = frozenset({"f"})
"""The halves whose answers were recorded in order."""

MODELS: Final = ("strong", "mediocre")
BUTLER: Final = "notes"
BATCH: Final = 12
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Half:
    """The episodes of an author in batches, and what is true."""

    name: str
    batches: tuple[tuple[PendingEpisode, ...], ...]
    said_at: Mapping[str, datetime]
    truth: Truth
    folder: Path

    def known_before(self, batch: int) -> list[KnownFact]:
        """Return the facts that hold when a batch begins, as a run without a fault would have stored them."""
        if batch == 0:
            return []
        last = self.batches[batch - 1][-1].created_at
        holding = [
            (number, fact)
            for number, fact in enumerate(self.truth.facts)
            if self.told_at(fact) <= last and self._seems_current(fact, last)
        ]
        alike = Counter(fact.group for _, fact in holding)
        known: list[KnownFact] = []
        for number, fact in holding:
            began_at = datetime.combine(fact.begins, time(), UTC) if fact.begins else self.told_at(fact)
            predicate = fact.relation if alike[fact.group] == 1 else f"{fact.relation} {fact.value}"
            known.append(
                KnownFact(
                    id=self.fact_id(number),
                    scope=BUTLER,
                    subject=fact.subject,
                    predicate=predicate.replace(" ", "_"),
                    content=f"{fact.subject}, {fact.relation}: {fact.value}",
                    permanence=Permanence.STANDARD,
                    importance=5.0,
                    tags=(),
                    entity_id=None,
                    began_at=began_at,
                    valid_to=None,
                    last_confirmed_at=began_at,
                    fading=False,
                )
            )
        return known

    def _seems_current(self, fact: TrueFact, moment: datetime) -> bool:
        """Return whether a fact holds as far as the episodes before a moment tell: its end may be told later."""
        if fact.state(moment.date()) is State.PAST:
            successors = [
                each for each in self.truth.facts if each.group == fact.group and each.begins == fact.ends
            ]
            return bool(successors) and all(self.told_at(each) > moment for each in successors)
        return fact.state(moment.date()) is State.CURRENT

    def told_at(self, fact: TrueFact) -> datetime:
        """Return when the first episode tells of a fact."""
        return min(self.said_at[each] for each in fact.episodes)

    def number_of(self, known: KnownFact) -> int:
        """Return the number of the fact that a prompt shows."""
        return next(number for number in range(len(self.truth.facts)) if self.fact_id(number) == known.id)

    def fact_id(self, number: int) -> UUID:
        """Return the id of a fact in the prompts."""
        return uuid5(NAMESPACE_URL, f"{self.name} fact {number}")


def read_half(folder: Path) -> Half:
    """Return the half in a folder."""
    rows = [json.loads(line) for line in (folder / "episodes.jsonl").read_text(encoding="utf-8").splitlines()]
    episodes = [
        PendingEpisode(
            id=uuid5(NAMESPACE_URL, row["id"]),
            content=row["text"],
            created_at=datetime.fromisoformat(row["at"]).astimezone(UTC),
            importance=5.0,
            source=row["source"],
        )
        for row in rows
    ]
    return Half(
        name=folder.name,
        batches=tuple(tuple(episodes[at : at + BATCH]) for at in range(0, len(episodes), BATCH)),
        said_at={row["id"]: each.created_at for row, each in zip(rows, episodes, strict=True)},
        truth=read_truth(folder / "truth.json"),
        folder=folder,
    )


def time_of_run(batch: Sequence[PendingEpisode]) -> datetime:
    """Return when the run of a batch is: an hour after its last episode."""
    return batch[-1].created_at + timedelta(hours=1)


def write_prompts(half: Half, folder: Path) -> None:
    """Write the prompt of each batch into a file that is named by its number from 1."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, batch in enumerate(half.batches):
        prompt = build_prompt(
            butler=BUTLER,
            episodes=batch,
            facts=half.known_before(number),
            rules=[],
            now=time_of_run(batch),
        )
        (folder / f"{number + 1}.txt").write_text(prompt, encoding="utf-8")


class Recorded:
    """A spawner that plays the answers to the prompts of a half, with the ids of this run."""

    name = "recorded"

    def __init__(self, half: Half, model: str) -> None:
        self._half = half
        self._folder = half.folder / "answers" / model
        self._batch = 0
        self._ids: dict[str, str] = {}

    def begin(self, batch: int, stored: Sequence[UUID]) -> None:
        """Begin the run of a batch whose episodes were stored under some ids."""
        self._batch = batch
        episodes = self._half.batches[batch]
        self._ids = {str(episode.id): str(id_) for episode, id_ in zip(episodes, stored, strict=True)}

    def answer(self, batch: int) -> str:
        """Return the answer to a batch as it was recorded."""
        return (self._folder / f"{batch + 1}.txt").read_text(encoding="utf-8")

    async def __call__(self, prompt: str, *, trigger_source: str) -> str:
        """Return the answer of the batch, with the ids of the memories that this run shows."""
        del trigger_source
        answer = self.answer(self._batch)
        memories = {
            each["id"]: Memory(**{name: each[name] for name in ("subject", "predicate", "content")})
            for each in map(json.loads, KNOWN.findall(prompt))
            if "predicate" in each
        }
        for own, stored in self._ids.items():
            answer = answer.replace(own, stored)
        for fact, stored in self._stored(memories).items():
            memory = memories[stored]
            answer = answer.replace(str(fact.id), stored)
            answer = answer.replace(json.dumps(fact.content), json.dumps(memory.content))
            if not words(self._half.truth.facts[self._half.number_of(fact)].value) <= words(memory.subject):
                answer = _with_key(answer, fact, memory)
        missing = [str(each.id) for each in self._half.known_before(self._batch) if str(each.id) in answer]
        return without_targets(answer, missing) if missing else answer

    def _stored(self, memories: Mapping[str, Memory]) -> dict[KnownFact, str]:
        """Return the facts of the recorded prompt with the ids of the memories of them, or of their relation.

        A memory that tells of further known facts is of none: an update of one of them would end the others.
        """
        stored: dict[KnownFact, str] = {}
        known = {
            each: self._half.truth.facts[self._half.number_of(each)]
            for each in self._half.known_before(self._batch)
        }
        for each, fact in known.items():
            alike = [
                other
                for other in self._half.truth.facts
                if other.group == fact.group and is_apart(fact, other)
            ]
            others = [other for other in known.values() if other.group != fact.group]
            own = {id_: memory for id_, memory in memories.items() if not _is_of_others(memory, fact, others)}
            ids = _telling(own, [fact]) or _telling(own, alike)
            if ids:
                stored[each] = ids[0]
        return stored


def is_apart(fact: TrueFact, other: TrueFact) -> bool:
    """Return whether two facts hold at different times."""
    return any(
        first.ends is not None and last.begins is not None and first.ends <= last.begins
        for first, last in ((fact, other), (other, fact))
    )


def _telling(memories: Mapping[str, Memory], facts: Sequence[TrueFact]) -> list[str]:
    """Return the ids of the memories that tell of a fact: those that name its relation first."""
    ranks = {
        id_: max(
            (
                memory.shares_relation(fact),
                memory.is_about(fact),
                len(words(" ".join((*fact.subjects, fact.relation, *fact.values))) & words(memory.text)),
            )
            for fact in facts
            if tells_of(memory, fact)
        )
        for id_, memory in memories.items()
        if any(tells_of(memory, fact) for fact in facts)
    }
    return sorted(ranks, key=lambda each: ranks[each], reverse=True)


def _is_of_others(memory: Memory, fact: TrueFact, others: Sequence[TrueFact]) -> bool:
    """Return whether a memory tells of other facts whose relation it names, beside or in place of that of a fact.

    A memory that names the relation of none of several facts is of none of them.
    """
    named = words(memory.predicate)
    is_plain = memory.shares_relation(fact) > 0 or memory.names_no_relation() or memory.says_little_but(fact)
    for other in others:
        if not tells_of(memory, other):
            continue
        relation = " ".join(words(other.relation) - words(fact.relation))
        is_others = words(other.relation) <= named and not words(fact.relation) <= named
        if not is_plain or is_others or memory.shares_relation(replace(other, relation=relation)):
            return True
    return False


def _with_key(answer: str, fact: KnownFact, memory: Memory) -> str:
    """Return an answer with the key of a memory where it has the key that the recorded prompt shows of the fact."""
    subject, predicate = re.escape(fact.subject), re.escape(fact.predicate)
    key = rf'"subject": "{subject}",(\s*)"predicate": "([a-z]+_)?{predicate}(_[a-z0-9]+)?"'

    def renamed(match: re.Match[str]) -> str:
        before, after = match[2] or "", match[3] or ""
        predicate = f"{before}{memory.predicate.removeprefix(before).removesuffix(after)}{after}"
        return f'"subject": {json.dumps(memory.subject)},{match[1]}"predicate": {json.dumps(predicate)}'

    return re.sub(key, renamed, answer)


def spawner(half: Half, model: str, prompts: Path | None = None) -> Recorded | InOrder:
    """Return what plays the recorded answers of a model."""
    if half.name in IN_ORDER:
        return InOrder(half.folder / "answers" / model, half.batches, prompts and prompts / model)
    return Recorded(half, model)


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
