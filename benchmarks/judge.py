"""Measure the judge on labelled pairs, by author, by language and by kind of text.

``python benchmarks/judge.py [--authors NAME ...] [--set-aside] [--errors] [--json]`` judges pairs of
``training/judge``. By default they are of the authors who were kept for choosing thresholds and for tests; nothing was
learned from them. ``--set-aside`` judges the pairs of the authors from whom nothing was learned or chosen; their
published figures were taken once.

- ``wrong``: same, refine or distinct, and judged a correction: a true memory loses confidence
- ``lost``: a correction that is not judged one
- ``reinforced``: a correction that joins the old memory, which gains confidence
- ``detail``: a refinement that is judged a repetition, so that no prompt shows what it adds
- ``merged``: distinct texts that become one memory
- ``duplicates``: a repetition that stays a memory of its own
- ``apart``: a refinement that stays apart from the memory that it refines
- ``right``: the verdict is the label

``asked`` is the share of pairs about which a model is asked if there is one. With ``perfect`` it answers as labelled,
so what stays lost is what it is not asked about.
"""

import argparse
import json
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from commonplace.embedding import EmbeddingEngine, EmbeddingOptions
from commonplace.judge import Compared, Judgement, Verdict, judge

sys.path.insert(0, str(Path(__file__).parents[1] / "training" / "judge"))
from corpus import KEPT, SET_ASIDE, Pair, read_pairs

JOINED: Final = frozenset({Verdict.SAME, Verdict.REFINE})
METRICS: Final[Mapping[str, tuple[frozenset[str], Callable[[Verdict, str], bool]]]] = {
    "wrong": (frozenset({"same", "refine", "distinct"}), lambda verdict, _: verdict is Verdict.CORRECT),
    "lost": (frozenset({"correct"}), lambda verdict, _: verdict is not Verdict.CORRECT),
    "reinforced": (frozenset({"correct"}), lambda verdict, _: verdict in JOINED),
    "detail": (frozenset({"refine"}), lambda verdict, _: verdict is Verdict.SAME),
    "merged": (frozenset({"distinct"}), lambda verdict, _: verdict in JOINED),
    "duplicates": (frozenset({"same"}), lambda verdict, _: verdict not in JOINED),
    "apart": (frozenset({"refine"}), lambda verdict, _: verdict not in JOINED),
    "right": (frozenset({"same", "refine", "correct", "distinct"}), lambda verdict, label: verdict == label),
}
"""The labels that a metric counts among, and which verdicts it counts."""

LIMITS: Final = {
    "wrong": 0.05,
    "lost": 0.25,
    "reinforced": 0.03,
    "detail": 0.02,
    "merged": 0.02,
    "duplicates": 0.30,
    "apart": 0.25,
}

Judged = tuple[Pair, Judgement]
Figures = dict[str, float]


def figures(judged: Sequence[Judged], *, perfect: bool = False) -> Figures:
    """Return each metric of some pairs, as a share from 0.0 to 1.0; leave out those that no pair can have."""
    found: Figures = {"pairs": len(judged)}
    verdicts = [
        (Verdict(pair.label) if perfect and judgement.between else judgement.verdict, pair.label)
        for pair, judgement in judged
    ]
    for name, (labels, counts) in METRICS.items():
        among = [counts(verdict, label) for verdict, label in verdicts if label in labels]
        if among:
            found[name] = round(sum(among) / len(among), 3)
    return found


def tables(judged: Sequence[Judged]) -> dict[str, Figures]:
    """Return the figures of each author, each language, each kind of text and all pairs."""
    groups: dict[str, list[Judged]] = defaultdict(list)
    for one in judged:
        for group in (f"author {one[0].author}", f"language {one[0].language}", f"text {one[0].kind}"):
            groups[group].append(one)
    shares = {group: figures(groups[group]) for group in sorted(groups)}
    asked = sum(bool(judgement.between) for _, judgement in judged) / max(len(judged), 1)
    return shares | {
        "all": figures(judged),
        "perfect": figures(judged, perfect=True) | {"asked": round(asked, 3)},
    }


def embedding_s(texts: Sequence[str]) -> float:
    """Return the processor time of embedding texts, in seconds."""
    engine = EmbeddingEngine(EmbeddingOptions())
    engine.embed("warm up")
    started = time.process_time()
    engine.embed_array(texts)
    return time.process_time() - started


def main() -> int:
    """Run the measurement; the exit status is 1 if a figure of all pairs is beyond its limit."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--authors", nargs="+", help="judge the pairs of these authors")
    parser.add_argument("--set-aside", action="store_true", help="judge the pairs of the authors set aside")
    parser.add_argument(
        "--errors", action="store_true", help="print the pairs with another verdict than their label"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    pairs = read_pairs(SET_ASIDE if arguments.set_aside else arguments.authors or KEPT)
    judge.compare("warm", "up")
    started = time.process_time()
    judgements = judge.compare_all([Compared(pair.old, pair.new) for pair in pairs])
    judging_s = time.process_time() - started
    ratio = judging_s / embedding_s([text for pair in pairs for text in (pair.old, pair.new)])
    judged = list(zip(pairs, judgements, strict=True))
    groups = tables(judged)
    if arguments.json:
        print(json.dumps({"to_embedding": round(ratio, 2)} | groups, indent=1))
    else:
        names = [*METRICS, "asked"]
        print(
            f"{len(pairs)} pairs; judging took {ratio:.1f} times the processor time of embedding both texts"
        )
        print(f"{'':28} pairs " + " ".join(f"{name:>10}" for name in names))
        for group, shares in groups.items():
            row = " ".join(f"{shares[name]:10.3f}" if name in shares else f"{'':10}" for name in names)
            print(f"{group:28} {shares['pairs']:5.0f} {row}")
    for pair, judgement in judged if arguments.errors else ():
        if judgement.verdict != pair.label:
            print(f"{pair.label} -> {judgement.verdict} {judgement.probability}: {pair.old} | {pair.new}")
    return int(any(groups["all"].get(name, 0.0) > limit for name, limit in LIMITS.items()))


if __name__ == "__main__":
    sys.exit(main())
