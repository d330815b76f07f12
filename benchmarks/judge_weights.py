"""Fit the weights of the judge of operational memory to the project's labelled pairs.

``python benchmarks/judge_weights.py [--check]`` fits a multinomial logistic regression over the features and cues of
each pair, prints how it does on the pairs of authors that were left out, and writes ``weights.json`` and ``cues.json``
beside the judge; ``--check`` does not. The same pairs and features always give the same files.

The pairs that the rules of reading were once tuned on (splits "first" and "second") count a third of the others. A
pair of the specification counts more after each fit that gives it another verdict, and no more than it needs.
"""

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from commonplace.judge import verdicts
from commonplace.judge.comparison import compare_readings
from commonplace.judge.features import cues, features
from commonplace.judge.observation import read
from commonplace.language.ideas import NEGATORS

DATA: Final = Path(__file__).parent / "data" / "judge_pairs.jsonl"
WEIGHTS: Final = Path(verdicts.__file__).with_name("weights.json")
CUES: Final = WEIGHTS.with_name("cues.json")
COUNTS: Final = {"first": 1.0, "second": 1.0, "specified": 15.0}
MORE: Final = 1.6
"""Factor by which a specified pair counts more after each fit that gives it another verdict."""

FITS: Final = 12
ACCEPTED: Final = {name: {name} for name in ("same", "refine", "correct")} | {
    "distinct": {"distinct", "doubtful"}
}
AUTHORS: Final = {
    "fourth": "b",
    "fifth": "b",
    "sixth": "c",
    "seventh": "d",
    "eighth": "e",
    "ninth": "f",
    "tenth": "b",
    "eleventh": "g",
    "twelfth": "h",
    "thirteenth": "i",
    "fourteenth": "j",
    "fifteenth": "k",
    "sixteenth": "l",
    "seventeenth": "m",
}
"""Authors of the splits; "a" wrote the others, or knew the rules."""

PENALTY: Final = 0.0005
"""Weight of the squared weights beside the mean loss."""

STRANGERS_COUNT: Final = 0.2
"""Count of an old text with the new text of another pair; without such pairs, 2 % of them count as corrections."""

FEWEST_PAIRS: Final = 5
"""Pairs that must have a cue before it gets a weight."""

STEPS: Final = 400
DECIMALS: Final = 3

Array = NDArray[np.float64]


def strangers(pairs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return pairs of one split and category, but of two services: distinct, and easy."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for pair in pairs:
        groups[pair["split"], pair["category"]].append(pair)
    return [
        one | {"new": other["new"], "label": "distinct", "stranger": True}
        for group in groups.values()
        for one, other in zip(group, [*group[1:], *group[:1]], strict=True)
        if one["service"] != other["service"]
    ]


def count(pair: dict[str, Any]) -> float:
    """Return how much a pair counts in the fit."""
    return STRANGERS_COUNT if "stranger" in pair else COUNTS.get(pair["split"], 3.0)


class _Language:
    """The cues that may get a weight: no numbers, no names, and no negators, whose parity is a feature."""

    def __contains__(self, cue: object) -> bool:
        word = str(cue).partition(" ")[2]
        return word not in NEGATORS and not any(char in "#_./" or char.isdigit() for char in word)


def measured(pairs: Sequence[dict[str, Any]]) -> tuple[list[str], Array, list[frozenset[str]]]:
    """Return the names of the features, one row of values per pair, and the cues of each pair."""
    compared = [
        compare_readings(read(pair["old"], pair["service"]), read(pair["new"], pair["service"]))
        for pair in pairs
    ]
    rows = [list(features(one)) for one in compared]
    values = np.array([[float(one.value) for one in row] for row in rows])
    return (
        [one.name for one in rows[0]],
        values,
        [frozenset(cue.name for cue in cues(one, _Language())) for one in compared],
    )


def author(pair: dict[str, Any]) -> str:
    """Return the author of a pair."""
    return AUTHORS.get(pair["split"], "a")


def frequent(pairs: Sequence[dict[str, Any]], said: Sequence[frozenset[str]]) -> list[str]:
    """Return the cues in enough pairs of two authors or more: words of language, not names of one author's things."""
    told = [(author(pair), one) for pair, one in zip(pairs, said, strict=True) if "stranger" not in pair]
    found = Counter(cue for _, one in told for cue in one)
    authors = {(cue, by) for by, one in told for cue in one}
    shared = Counter(cue for cue, _ in authors)
    return sorted(cue for cue, seen in found.items() if seen >= FEWEST_PAIRS and shared[cue] > 1)


def columns(values: Array, said: Sequence[frozenset[str]], known: Sequence[str]) -> Array:
    """Return the features with a column of 0 and 1 for each known cue."""
    return np.hstack([values, np.array([[float(cue in one) for cue in known] for one in said])])


def fit(values: Array, labels: Array, counts: Array, features_count: int) -> tuple[Array, Array]:
    """Return the mean of each column and its weight for each verdict.

    Nesterov's accelerated gradient on the mean loss with a penalty. Features are scaled to one spread; cues are not, so
    that a rare one gets little weight. The last row of the weights is the intercept, which has no penalty.
    """
    mean = np.average(values, axis=0, weights=counts)
    spread = np.sqrt(np.average((values - mean) ** 2, axis=0, weights=counts))
    spread[features_count:] = 1.0
    spread = np.where(spread > 0, spread, 1.0)
    scaled = np.hstack([(values - mean) / spread, np.ones((len(values), 1))])
    penalty = np.append(np.full(values.shape[1], PENALTY), 0.0)[:, None]
    share = (counts / counts.sum())[:, None]
    step = 1.0 / (0.5 * np.linalg.eigvalsh(scaled.T @ (share * scaled))[-1] + PENALTY)
    weights = ahead = np.zeros((scaled.shape[1], labels.shape[1]))
    for turn in range(STEPS):
        error = share * (chances(scaled, ahead) - labels)
        last, weights = weights, ahead - step * (scaled.T @ error + penalty * ahead)
        ahead = weights + turn / (turn + 3) * (weights - last)
    weights[:-1] /= spread[:, None]
    return mean, weights


def fit_specified(
    pairs: Sequence[dict[str, Any]], values: Array, labels: Array, counts: Array, features_count: int
) -> tuple[Array, Array]:
    """Return what `fit` does, with counts of the specified pairs at which each has its verdict."""
    specified = [
        at for at, pair in enumerate(pairs) if pair["split"] == "specified" and "stranger" not in pair
    ]
    counts = counts.copy()
    mean, weights = fit(values, labels, counts, features_count)
    for _ in range(FITS):
        verdict = decisions(chances(values[specified] - mean, weights))
        wrong = [
            at for at, one in zip(specified, verdict, strict=True) if one not in ACCEPTED[pairs[at]["label"]]
        ]
        print(f"{len(wrong)} specified pairs with another verdict")
        if not wrong:
            break
        counts[wrong] *= MORE
        mean, weights = fit(values, labels, counts, features_count)
    return mean, weights


def decisions(found: Array) -> list[verdicts.Verdict]:
    """Return the verdict for each row of probabilities."""
    return [verdicts.decided(dict(zip(verdicts.LEARNED, map(float, row), strict=True))) for row in found]


def chances(values: Array, weights: Array) -> Array:
    """Return the probability of each verdict for each row; the weights may end with an intercept."""
    sums = values @ weights[: values.shape[1]] + weights[values.shape[1] :].sum(axis=0)
    powers = np.exp(sums - sums.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def left_out(
    pairs: Sequence[dict[str, Any]],
    values: Array,
    said: Sequence[frozenset[str]],
    labels: Array,
    counts: Array,
) -> Array:
    """Return the probabilities that weights fitted without the pairs of its author give to each pair."""
    authors = np.array([author(pair) for pair in pairs])
    found = np.zeros_like(labels)
    for one in sorted(set(authors)):
        others, own = (list(map(int, np.flatnonzero(at))) for at in (authors != one, authors == one))
        known = frequent([pairs[at] for at in others], [said[at] for at in others])
        table = columns(values, said, known)
        mean, weights = fit(table[others], labels[others], counts[others], values.shape[1])
        found[own] = chances(table[own] - mean, weights)
    return found


def report(pairs: Sequence[dict[str, Any]], labels: Array, found: Array) -> None:
    """Print the rates of the four faults and of doubt, and the mean loss, for each split."""
    names = list(verdicts.LEARNED)
    decided = decisions(found)
    loss = -np.log((found * labels).sum(axis=1))
    print(f"{'split':11} pairs  loss  lost  reinforced  wrong  duplicates  merged  waiting")
    kinds = ["stranger" if "stranger" in pair else pair["split"] for pair in pairs]
    for split in sorted(set(kinds)):
        rows = [at for at, kind in enumerate(kinds) if kind == split]

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
            f"{split:11} {len(rows):5} {loss[rows].mean():.3f} " + "  ".join(f"{one:.3f}" for one in figures)
        )


def main() -> None:
    """Fit, report and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    arguments = parser.parse_args()
    pairs = [json.loads(line) for line in DATA.read_text(encoding="utf-8").splitlines()]
    pairs += strangers(pairs)
    names, values, said = measured(pairs)
    labels = np.array([[float(pair["label"] == verdict) for verdict in verdicts.LEARNED] for pair in pairs])
    counts = np.array([count(pair) for pair in pairs])
    report(pairs, labels, left_out(pairs, values, said, labels, counts))
    if arguments.check:
        return
    known = frequent(pairs, said)
    mean, weights = fit_specified(pairs, columns(values, said, known), labels, counts, len(names))
    rows = {name: [mean[at], *weights[at]] for at, name in enumerate(names)}
    _write(WEIGHTS, rows)
    of_cues, intercept = weights[len(names) : -1], weights[-1]
    _write(CUES, {"": intercept - mean[len(names) :] @ of_cues} | dict(zip(known, of_cues, strict=True)))


def _write(path: Path, rows: Mapping[str, Iterable[float]]) -> None:
    """Write a JSON object with one line for each row."""
    lines = (
        f"{json.dumps(name)}: {json.dumps([round(float(one), DECIMALS) for one in row])}"
        for name, row in rows.items()
    )
    joined = ",\n".join(lines)
    path.write_text(f"{{\n{joined}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
