"""Measure which digests contradict or repeat each other, on labelled pairs.

``python benchmarks/conflicts.py [--authors NAME ...] [--set-aside] [--json]`` adds the newer text of each pair to
a space of ten digests: the older text, and nine later ones that the same author wrote about other things.

- ``missed``: correct, and the newer digest does not contradict the older one
- ``wrong``: same, refine or distinct, and it does
- ``strangers``: pairs of the newer digest and one of the other nine that contradict each other
- ``folded``: same or refine, and one of the two digests can go
- ``lost``: correct or distinct, and one of the two can go as a repetition

The network learned nothing from the authors who are measured by default, but the thresholds of
:mod:`commonplace.judge.stances` were chosen on their pairs. ``--set-aside`` measures the authors from whom nothing was
learned or chosen.
"""

import argparse
import json
import random
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from commonplace.apps.model.memories import Digest, Metadata
from commonplace.apps.rules.conflicts import find_conflicts
from commonplace.apps.rules.repetitions import find_repetition
from commonplace.judge.network import open_network

sys.path.insert(0, str(Path(__file__).parents[1] / "training" / "judge"))
from corpus import KEPT, SET_ASIDE, Pair, read_pairs

KINDS: Final = frozenset({"digest", "fact", "rule", "note"})
"""The kinds of text that conversations come to; a lesson is about a service."""

STRANGERS: Final = 9
TODAY: Final = datetime(2026, 6, 15, 12, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedPair:
    """Whether the two digests of a pair contradict or repeat each other in a space of ten."""

    label: str
    contradicts: bool
    repeats: bool
    strangers: int
    wrong_strangers: int


COUNTED: Final[Mapping[str, tuple[tuple[str, ...], Callable[[PlayedPair], bool]]]] = {
    "missed": (("correct",), lambda one: not one.contradicts),
    "wrong": (("same", "refine", "distinct"), lambda one: one.contradicts),
    "folded": (("same", "refine"), lambda one: one.repeats),
    "lost": (("correct", "distinct"), lambda one: one.repeats),
}
"""The labels that a metric counts among, and what it counts."""


def digest(number: int, content: str) -> Digest:
    """Return a digest that is as many hours newer as its number says."""
    moment = TODAY + timedelta(hours=number)
    return Digest(
        id=number,
        app_id="app",
        user_id=None,
        content=content,
        created_at=moment,
        updated_at=moment,
        source_conversation_id=None,
        metadata=Metadata(),
    )


def played(pair: Pair, others: Sequence[str]) -> PlayedPair:
    """Add the newer text of a pair to a space of the older one and others."""
    texts = (pair.old, *others, pair.new)
    older, *_, newer = memories = [digest(place, text) for place, text in enumerate(texts)]
    contradicted = {conflict.older.id for conflict in find_conflicts(memories, newer)}
    return PlayedPair(
        label=pair.label,
        contradicts=older.id in contradicted,
        repeats=find_repetition([older, newer]) is not None,
        strangers=len(others),
        wrong_strangers=len(contradicted - {older.id}),
    )


def played_by_author(pairs: Sequence[Pair]) -> list[PlayedPair]:
    """Play the pairs of one author, each with the same strangers in every run."""
    chance = random.Random(7)  # noqa: S311 - a sample, no secrets
    results: list[PlayedPair] = []
    for pair in pairs:
        others = [other.old for other in pairs if other.about != pair.about]
        results.append(played(pair, chance.sample(others, min(STRANGERS, len(others)))))
    return results


def metrics(results: Sequence[PlayedPair]) -> dict[str, dict[str, float]]:
    """Return each metric as a count, what it was counted of, and the share of the two."""
    counts = {
        name: rate(
            sum(counts(one) for one in results if one.label in labels),
            sum(one.label in labels for one in results),
        )
        for name, (labels, counts) in COUNTED.items()
    }
    strangers = rate(sum(one.wrong_strangers for one in results), sum(one.strangers for one in results))
    return counts | {"strangers": strangers}


def rate(count: int, of: int) -> dict[str, float]:
    """Return a count, what it was counted of, and the share of the two."""
    return {"count": count, "of": of, "rate": round(count / max(of, 1), 5)}


def main() -> None:
    """Run the measurement; the exit status is 0 whatever the figures are."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--authors", nargs="+", default=sorted(KEPT), help="measure pairs of these authors")
    parser.add_argument("--set-aside", action="store_true", help="measure the authors set aside")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    open_network()  # Without its weights nothing contradicts anything, and the figures would mean nothing.
    pairs = read_pairs(SET_ASIDE if arguments.set_aside else arguments.authors)
    by_author: dict[str, list[Pair]] = {}
    for pair in pairs:
        if pair.kind in KINDS:
            by_author.setdefault(pair.author, []).append(pair)
    results = {author: played_by_author(theirs) for author, theirs in by_author.items()}
    figures = {author: metrics(theirs) for author, theirs in results.items()}
    figures["all"] = metrics([one for theirs in results.values() for one in theirs])
    if arguments.json:
        print(json.dumps(figures, indent=1))
        return
    print(f"{'':18}" + "".join(f"{name:>16}" for name in figures["all"]))
    for author, row in figures.items():
        cells = (f"{each['count']} of {each['of']}" for each in row.values())
        print(f"{author:18}" + "".join(f"{cell:>16}" for cell in cells))


if __name__ == "__main__":
    main()
