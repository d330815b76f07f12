"""Measure what operational memory does with a second observation of one service and category.

``python benchmarks/judge.py [--data FILE] [--errors] [--json]`` ingests each pair as two sessions through the public
API into a fresh home, and counts what became of the rows, not what receipts say:

- ``wrong_contradiction``: same, refine or distinct, and the old row lost confidence
- ``lost_correction``: correct, and the old row lost nothing, or no active row holds the new text
- ``correction_reinforced_old``: correct, and the old row gained confidence
- ``lost_detail``: refine, and no active row holds some content word or number of either text
- ``distinct_merged``: distinct, and the old row changed or gained
- ``duplicates``: same, and two rows are active

``model`` is the same with a scripted model that decides every pair that waits as labelled: what stays lost is what
the model is not asked about. ``asked`` is the share of pairs that waited for it.

The default data are the project's own pairs, to which the judge's weights are fitted; measure other people's pairs with
``--data``. No weight was fitted to ``judge_unseen.jsonl`` beside them.
"""

import argparse
import asyncio
import json
import logging
import re
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from commonplace.core.settings import Settings
from commonplace.judge import PairVerdict, judge
from commonplace.llm import Script
from commonplace.operational.memory import OperationalMemory
from commonplace.operational.model.memories import Lesson
from commonplace.operational.run.model_reviews import PairDecision, PairDecisions, decide_by_model

PAIRS = Path(__file__).parent / "data" / "judge_pairs.jsonl"
COUNTED = {
    "wrong_contradiction": ("same", "refine", "distinct"),
    "lost_correction": ("correct",),
    "correction_reinforced_old": ("correct",),
    "lost_detail": ("refine",),
    "distinct_merged": ("distinct",),
    "duplicates": ("same",),
}
FUNCTION_WORDS = frozenset(
    """a an the and or of to in on at by for from with is are was were be been being it its this that these those as
    has have had do does did but so if then than there up again also too any all no not n't t s get gets got getting i.e
    e.g""".split()  # noqa: SIM905 - reads as a list of words does
)
STEM_CHARS = 5
DECISIONS = {
    "same": PairVerdict.SAME,
    "refine": PairVerdict.REFINES,
    "correct": PairVerdict.CORRECTS,
    "distinct": PairVerdict.DISTINCT,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Rows of a pair after both sessions: the active texts, and the change of the old row."""

    texts: tuple[str, ...]
    old_kept_its_text: bool
    moved: float
    old_is_active: bool
    reasons: str
    asked: bool


def content(text: str) -> set[str]:
    """Return the content words of a text, cut to five letters, and its numbers and names whole."""
    words = (raw.strip(".:/-") for raw in re.findall(r"[\w.:/%-]*[\w%]", text.lower().replace("'", "")))
    kept = (word for word in words if word not in FUNCTION_WORDS and any(char.isalnum() for char in word))
    return {word[:STEM_CHARS] if word.isalpha() else word for word in kept}


def faults(pair: dict[str, Any], seen: Outcome) -> list[str]:
    """Return the names of the faults of one pair."""
    lost = seen.moved < 0 or not seen.old_is_active
    gained = seen.moved > 0
    held = set[str]().union(*map(content, seen.texts))
    new_kept = any(
        plain(pair["new"]) in plain(text)
        or (content(pair["new"]) <= content(text) and not (seen.old_kept_its_text and text == pair["old"]))
        for text in seen.texts
    )
    checks = {
        "wrong_contradiction": lost,
        "lost_correction": not (lost and new_kept),
        "correction_reinforced_old": gained,
        "lost_detail": bool((content(pair["old"]) | content(pair["new"])) - held),
        "distinct_merged": gained or not seen.old_kept_its_text,
        "duplicates": len(seen.texts) > 1,
    }
    return [name for name, labels in COUNTED.items() if pair["label"] in labels and checks[name]]


def plain(text: str) -> str:
    """Return a text without case and punctuation."""
    return re.sub(r"\W+", " ", text.lower()).strip()


def transcript(pair: dict[str, Any], turn: str) -> bytes:
    """Return the stream-json of a session that emits one text of a pair."""
    session = f"judge-{pair['id']}-{turn}"
    about = f"{pair['category']}:{pair['service']}" if pair["service"] else pair["category"]
    text = f"Checked.\n[MEMORY:{about}] {pair[turn]}\nDone."
    message = {"id": session, "role": "assistant", "content": [{"type": "text", "text": text}]}
    lines = [
        {"type": "system", "subtype": "init", "session_id": session},
        {"type": "assistant", "message": message, "session_id": session},
        {"type": "result", "subtype": "success", "is_error": False, "session_id": session, "result": "Done."},
    ]
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


async def ingest(memory: OperationalMemory, pair: dict[str, Any], turn: str) -> tuple[list[Lesson], str]:
    """Ingest one text of a pair and return all rows, and the reasons of the receipts."""

    async def chunks() -> AsyncIterator[bytes]:
        yield transcript(pair, turn)

    reports = await memory.ingest(chunks())
    return await memory.list_memories(), "; ".join(
        one.reason for report in reports for one in report.receipts
    )


async def run_pair(memory: OperationalMemory, pair: dict[str, Any], *, with_model: bool) -> Outcome:
    """Ingest a pair, let a scripted model decide if it waits for one, and delete its rows again."""
    (old,), _ = await ingest(memory, pair, "old")
    rows, reasons = await ingest(memory, pair, "new")
    decision = PairDecision(number=1, verdict=DECISIONS[pair["label"]], reason="As labelled.")
    script = Script(PairDecisions(decisions=[decision]))
    asked = with_model and bool(await decide_by_model(memory.reviews, script.model()))
    rows = await memory.list_memories() if asked else rows
    await memory.delete([row.id for row in rows])
    after = next(row for row in rows if row.id == old.id)
    return Outcome(
        texts=tuple(row.observation for row in rows if row.active),
        old_kept_its_text=after.observation == old.observation,
        moved=round(after.confidence - old.confidence, 6),
        old_is_active=after.active,
        reasons=reasons,
        asked=asked,
    )


async def measure(pairs: Sequence[dict[str, Any]], *, with_model: bool) -> list[Outcome]:
    """Ingest every pair into one fresh home."""
    with tempfile.TemporaryDirectory(prefix="judge-") as home:
        settings = Settings(home=Path(home), workspace=Path(home), judge="model" if with_model else "rules")
        async with OperationalMemory.open(settings) as memory:
            return [await run_pair(memory, pair, with_model=with_model) for pair in pairs]


def time_per_pair_us(pairs: Sequence[dict[str, Any]]) -> float:
    """Return the processor time of one verdict on texts that were not read before, in microseconds."""
    judge("warm", "up")
    started = time.process_time()
    for pair in pairs:
        judge(pair["old"], pair["new"], pair["service"])
    return (time.process_time() - started) / len(pairs) * 1e6


def rates(pairs: Sequence[dict[str, Any]], outcomes: Sequence[Outcome]) -> dict[str, dict[str, float]]:
    """Return each fault with its count, the pairs that could have it, and the share of the two."""
    counts = Counter(name for pair, seen in zip(pairs, outcomes, strict=True) for name in faults(pair, seen))
    sizes = Counter(pair["label"] for pair in pairs)
    of = {name: sum(sizes[label] for label in labels) for name, labels in COUNTED.items()}
    return {
        name: {"count": counts[name], "of": of[name], "rate": round(counts[name] / max(of[name], 1), 4)}
        for name in COUNTED
    }


def main() -> None:
    """Run the measurement; the exit status is 0 whatever the figures are."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, default=PAIRS, help="pairs as JSON lines")
    parser.add_argument("--split", help="only the pairs of this split")
    parser.add_argument("--errors", action="store_true", help="print the pairs with a fault")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)
    pairs = [
        json.loads(line) for line in arguments.data.read_text(encoding="utf-8").splitlines() if line.strip()
    ]
    pairs = [pair for pair in pairs if arguments.split in (None, pair.get("split"))]
    duration_us = time_per_pair_us(pairs)
    outcomes = asyncio.run(measure(pairs, with_model=False))
    helped = asyncio.run(measure(pairs, with_model=True))
    metrics, model = rates(pairs, outcomes), rates(pairs, helped)
    asked = sum(seen.asked for seen in helped) / len(pairs)
    if arguments.json:
        about = {"pairs": len(pairs), "judge_us": round(duration_us, 1)}
        print(json.dumps(about | metrics | {"model": {"asked": round(asked, 4), **model}}, indent=1))
        return
    print(f"{len(pairs)} pairs of {arguments.data.name}; {duration_us:.0f} µs of processor time a verdict")
    print(f"{'':26} without a model   with a perfect model that decides {asked:.0%} of the pairs")
    for name, metric in metrics.items():
        print(
            f"{name:26} {metric['count']:>4} of {metric['of']:<4} {metric['rate']:.3f}   {model[name]['rate']:.3f}"
        )
    for pair, seen in zip(pairs, outcomes, strict=True) if arguments.errors else ():
        names = faults(pair, seen)
        if names:
            print(f"\n{', '.join(names)}\n  {pair['old']}\n  {pair['new']}\n  {seen.reasons}")


if __name__ == "__main__":
    main()
