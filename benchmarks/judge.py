"""Measure the judge of operational memory on labelled pairs of observations.

``python benchmarks/judge.py [--split dev|test|all] [--errors] [--json]`` prints precision, recall and F1 of each
class for the judge and for two baselines: equal texts reinforce; texts alike by difflib (ratio >= 0.8) reinforce.
Thresholds and vocabulary were chosen on the dev half. The first measurement on the test half gave precision and
recall of 0.962 and 0.980 for contradict, 0.977 and 0.935 for reinforce; three faults that it showed (two connectors in
one sentence, "every quarter of an hour", a final "on") were repaired then, so that half is no longer unseen.
"""

import argparse
import difflib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from commonplace.operational.judge.matching import judge

PAIRS = Path(__file__).parent / "data" / "judge_pairs.jsonl"
LABELS = ("reinforce", "contradict", "unrelated")
DIFFLIB_RATIO = 0.8
VERDICT_LABELS = {"reinforces": "reinforce", "contradicts": "contradict", "unrelated": "unrelated"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two observations of one service and category, and how the second bears on the first."""

    split: str
    category: str
    old: str
    new: str
    label: str
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """Figures of one class, each 0 to 1; precision is 1 where the class was never given."""

    method: str
    label: str
    precision: float
    recall: float
    f1: float
    pairs: int


def read_pairs(split: str) -> list[Pair]:
    """Read the labelled pairs of a split: ``dev``, ``test`` or ``all``."""
    pairs = [Pair(**json.loads(line)) for line in PAIRS.read_text(encoding="utf-8").splitlines()]
    return [pair for pair in pairs if split in ("all", pair.split)]


def by_judge(old: str, new: str) -> str:
    """Label a pair with the judge."""
    return VERDICT_LABELS[judge(old, new).verdict]


def by_equality(old: str, new: str) -> str:
    """Label a pair by equal texts."""
    return "reinforce" if old == new else "unrelated"


def by_difflib(old: str, new: str) -> str:
    """Label a pair by the ratio of difflib."""
    return "reinforce" if difflib.SequenceMatcher(None, old, new).ratio() >= DIFFLIB_RATIO else "unrelated"


METHODS: dict[str, Callable[[str, str], str]] = {
    "judge": by_judge,
    "equality": by_equality,
    "difflib": by_difflib,
}


def scores(method: str, pairs: Sequence[Pair]) -> list[Score]:
    """Return the figures of each class for a method, in the order of `LABELS`."""
    given = [(pair.label, METHODS[method](pair.old, pair.new)) for pair in pairs]
    found: list[Score] = []
    for label in LABELS:
        right = sum(expected == got == label for expected, got in given)
        claimed = sum(got == label for _, got in given)
        actual = sum(expected == label for expected, _ in given)
        precision = right / claimed if claimed else 1.0
        recall = right / actual if actual else 1.0
        f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
        found.append(
            Score(method=method, label=label, precision=precision, recall=recall, f1=f1, pairs=actual)
        )
    return found


def print_table(results: Sequence[Score]) -> None:
    """Print the figures as a table."""
    print(f"{'method':<10} {'class':<11} {'precision':>9} {'recall':>7} {'F1':>6} {'pairs':>6}")
    for score in results:
        figures = f"{score.precision:>9.3f} {score.recall:>7.3f} {score.f1:>6.3f} {score.pairs:>6}"
        print(f"{score.method:<10} {score.label:<11} {figures}")


def print_errors(pairs: Sequence[Pair]) -> None:
    """Print each pair that the judge got wrong, with its reason."""
    for pair in pairs:
        judgement = judge(pair.old, pair.new)
        got = VERDICT_LABELS[judgement.verdict]
        if got != pair.label:
            print(f"\n{pair.label} -> {got} ({judgement.score:.2f}): {judgement.reason}")
            print(f"  {pair.old}\n  {pair.new}")


def main() -> None:
    """Run the measurement; the exit status is 0 whatever the figures are."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--split", choices=("dev", "test", "all"), default="all")
    parser.add_argument("--errors", action="store_true", help="print the pairs that the judge got wrong")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    pairs = read_pairs(arguments.split)
    started = time.perf_counter()
    results = [score for method in METHODS for score in scores(method, pairs)]
    elapsed_s = time.perf_counter() - started
    if arguments.json:
        print(
            json.dumps(
                {"split": arguments.split, "pairs": len(pairs), "scores": [asdict(one) for one in results]}
            )
        )
        return
    print(f"{len(pairs)} pairs ({arguments.split}), {elapsed_s:.2f} s")
    print_table(results)
    if arguments.errors:
        print_errors(pairs)


if __name__ == "__main__":
    main()
