"""Measure how often rules and notes fold, or wait as a contradiction, that should not.

``python benchmarks/stances.py [--authors NAME ...] [--json]`` compares the two texts of each labelled pair as a store
of rules or notes does, without a service or a category:

- ``rewordings_folded``: same, and blocks show one of the two
- ``corrections_folded``, ``others_folded``: correct, or refine and distinct, and blocks show one of the two
- ``corrections_marked``: correct, and the pair waits in the review queue
- ``others_marked``: same, refine and distinct, and the pair waits

``unrelated`` compares the first texts of the pairs with one another, as a memory about many things holds them; these
stand in two groups, because no label says what two of them have to do with each other: ``folded`` and ``marked``.

The network learned nothing from the authors who are measured by default, but the thresholds of
:mod:`commonplace.judge.stances` were chosen on their pairs.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

from commonplace.judge.stances import Stance, find_stances

sys.path.insert(0, str(Path(__file__).parents[1] / "training" / "judge"))
from corpus import KEPT, Pair, read_pairs

OTHERS = ("refine", "distinct")
COUNTED = {
    "rewordings_folded": (Stance.SAME, ("same",)),
    "corrections_folded": (Stance.SAME, ("correct",)),
    "others_folded": (Stance.SAME, OTHERS),
    "corrections_marked": (Stance.OPPOSED, ("correct",)),
    "others_marked": (Stance.OPPOSED, ("same", *OTHERS)),
}
MOST_UNRELATED = 300
"""Texts that are compared with one another, which are 44,850 pairs."""


def rate(count: int, of: int) -> dict[str, float]:
    """Return a count, what it was counted of, and the share of the two."""
    return {"count": count, "of": of, "rate": round(count / max(of, 1), 5)}


def of_pairs(pairs: Sequence[Pair]) -> dict[str, dict[str, float]]:
    """Return the metrics of labelled pairs."""
    sizes = Counter(pair.label for pair in pairs)
    counts = Counter((find_stances(pair.new, [pair.old])[0][0], pair.label) for pair in pairs)
    return {
        name: rate(sum(counts[kind, label] for label in labels), sum(sizes[label] for label in labels))
        for name, (kind, labels) in COUNTED.items()
    }


def of_unrelated(texts: Sequence[str]) -> dict[str, dict[str, float]]:
    """Return how many pairs of texts fold or wait."""
    counts = Counter(
        find_stances(pair[1], [pair[0]])[0][0] for pair in combinations(texts[:MOST_UNRELATED], 2)
    )
    return {
        "folded": rate(counts[Stance.SAME], counts.total()),
        "marked": rate(counts[Stance.OPPOSED], counts.total()),
    }


def main() -> None:
    """Run the measurement; the exit status is 0 whatever the figures are."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--authors", nargs="+", default=sorted(KEPT), help="measure pairs of these authors")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    pairs = read_pairs(arguments.authors)
    metrics = of_pairs(pairs)
    unrelated = of_unrelated([pair.old for pair in pairs])
    if arguments.json:
        print(json.dumps({"pairs": len(pairs), **metrics, "unrelated": unrelated}, indent=1))
        return
    print(f"{len(pairs)} pairs of {', '.join(arguments.authors)}")
    for name, metric in (metrics | {f"unrelated_{name}": each for name, each in unrelated.items()}).items():
        print(f"{name:20} {metric['count']:>5} of {metric['of']:<6} {metric['rate']:.4f}")


if __name__ == "__main__":
    main()
