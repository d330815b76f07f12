"""Fit the weights of the judge of operational memory to the project's labelled pairs.

``python benchmarks/judge_weights.py [--check]`` fits a multinomial logistic regression over the features of each pair,
prints how it does on pairs that were left out, and writes ``weights.json`` beside the judge; ``--check`` does not.
The same pairs and features always give the same file.

Pairs of one service and source are left out together, because they often share an old text. The pairs that the rules of
reading were once tuned on (splits "first" and "second") count a third of the others.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from commonplace.operational.judge import verdicts
from commonplace.operational.judge.comparison import compare_readings
from commonplace.operational.judge.features import features
from commonplace.operational.judge.reading import read

DATA: Final = Path(__file__).parent / "data" / "judge_pairs.jsonl"
WEIGHTS: Final = Path(verdicts.__file__).with_name("weights.json")
COUNTS: Final = {"first": 1.0, "second": 1.0, "specified": 6.0}
PENALTY: Final = 0.004
"""Weight of the squared weights beside the mean loss: between 0.002 and 0.015 the figures hardly move."""

FOLDS: Final = 6
STEPS: Final = 1_500
DECIMALS: Final = 3

Array = NDArray[np.float64]


def measured(pairs: Sequence[dict[str, Any]]) -> tuple[list[str], Array]:
    """Return the names of the features and one row of values per pair."""
    rows = [
        list(
            features(compare_readings(read(pair["old"], pair["service"]), read(pair["new"], pair["service"])))
        )
        for pair in pairs
    ]
    return [one.name for one in rows[0]], np.array([[float(one.value) for one in row] for row in rows])


def fit(values: Array, labels: Array, counts: Array) -> tuple[Array, Array]:
    """Return the mean of each feature and its weight for each verdict.

    Nesterov's accelerated gradient on the mean loss with a penalty. A feature that never varies gets no weight. There
    is no intercept: the verdicts are equally likely for a pair of mean features, so that the mix of the labels in the
    data does not matter.
    """
    mean = np.average(values, axis=0, weights=counts)
    spread = np.sqrt(np.average((values - mean) ** 2, axis=0, weights=counts))
    scaled = (values - mean) / np.where(spread > 0, spread, 1.0)
    share = (counts / counts.sum())[:, None]
    step = 1.0 / (0.5 * np.linalg.eigvalsh(scaled.T @ (share * scaled))[-1] + PENALTY)
    weights = ahead = np.zeros((values.shape[1], labels.shape[1]))
    for turn in range(STEPS):
        error = share * (chances(scaled, ahead) - labels)
        last, weights = weights, ahead - step * (scaled.T @ error + PENALTY * ahead)
        ahead = weights + turn / (turn + 3) * (weights - last)
    return mean, weights / np.where(spread > 0, spread, 1.0)[:, None]


def chances(values: Array, weights: Array) -> Array:
    """Return the probability of each verdict for each row."""
    powers = np.exp(values @ weights - (values @ weights).max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def left_out(pairs: Sequence[dict[str, Any]], values: Array, labels: Array, counts: Array) -> Array:
    """Return the probabilities that weights fitted without a pair's group give to it."""
    groups = [f"{pair['split']} {pair['service'] or pair['old']}" for pair in pairs]
    folds = {group: at % FOLDS for at, group in enumerate(sorted(set(groups)))}
    fold = np.array([folds[group] for group in groups])
    found = np.zeros_like(labels)
    for one in range(FOLDS):
        mean, weights = fit(values[fold != one], labels[fold != one], counts[fold != one])
        found[fold == one] = chances(values[fold == one] - mean, weights)
    return found


def report(pairs: Sequence[dict[str, Any]], labels: Array, found: Array) -> None:
    """Print the rates of the four faults and of doubt, and the mean loss, for each split."""
    names = list(verdicts.LEARNED)
    decided = [verdicts.decided(dict(zip(names, map(float, row), strict=True))) for row in found]
    loss = -np.log((found * labels).sum(axis=1))
    print(f"{'split':8} pairs  loss  lost  reinforced  wrong  duplicates  merged  waiting")
    for split in sorted({pair["split"] for pair in pairs}):
        rows = [at for at, pair in enumerate(pairs) if pair["split"] == split]

        def rate(labelled: set[str], seen: set[str], rows: list[int] = rows) -> float:
            chosen = [decided[at] for at in rows if pairs[at]["label"] in labelled]
            return sum(one in seen for one in chosen) / max(len(chosen), 1)

        figures = (
            rate({"correct"}, {"same", "refine", "distinct", "doubtful"}),
            rate({"correct"}, {"same", "refine"}),
            rate({"same", "refine", "distinct"}, {"correct"}),
            rate({"same"}, {"correct", "distinct", "doubtful"}),
            rate({"distinct"}, {"same", "refine"}),
            rate(set(names), {"doubtful"}),
        )
        print(
            f"{split:8} {len(rows):5} {loss[rows].mean():.3f} " + "  ".join(f"{one:.3f}" for one in figures)
        )


def main() -> None:
    """Fit, report and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    arguments = parser.parse_args()
    pairs = [json.loads(line) for line in DATA.read_text(encoding="utf-8").splitlines()]
    names, values = measured(pairs)
    labels = np.array([[float(pair["label"] == verdict) for verdict in verdicts.LEARNED] for pair in pairs])
    counts = np.array([COUNTS.get(pair["split"], 3.0) for pair in pairs])
    report(pairs, labels, left_out(pairs, values, labels, counts))
    mean, weights = fit(values, labels, counts)
    rows = {
        name: [round(float(one), DECIMALS) for one in (mean[at], *weights[at])]
        for at, name in enumerate(names)
    }
    if not arguments.check:
        lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items())
        WEIGHTS.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
