"""The labelled pairs that the judge learns from, by author.

A pair is two texts said of one world, the new one later than the old one, and how they relate; ``README.md`` says where
each label begins and ends. ``pairs/AUTHOR.jsonl`` has the pairs of one author.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PAIRS: Final = Path(__file__).parent / "pairs"

SET_ASIDE: Final = frozenset(
    {
        "de-versicherung",
        "en-assistant",
        "en-databases",
        "en-theatre",
        "en-warehouse",
        "es-clinica",
        "fr-boulangerie",
        "zh-xiaodian",
    }
)
"""The authors from whom nothing is learned or chosen; their pairs give the published figures."""

KEPT: Final = frozenset(
    {"de-verein", "en-parent", "en-school-office", "fr-startup", "ja-ryokan", "operator-l"}
)
"""The authors from whom nothing is learned, on whose pairs thresholds were chosen and tests check the network."""

SPECIFIED: Final = "specified"
"""The author of pairs that must hold, from the specifications, reports of faults and tests."""

LABELS: Final = ("same", "refine", "correct", "distinct")
"""The order of the network's outputs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two texts and their label, with the author, language (ISO 639-1) and kind of text."""

    author: str
    language: str
    kind: str
    about: str
    old: str
    new: str
    label: str


def learned_authors() -> list[str]:
    """Return the authors from whom the network learns, in the order of their names."""
    return sorted({path.stem for path in PAIRS.glob("*.jsonl")} - SET_ASIDE - KEPT)


def read_pairs(authors: Iterable[str]) -> list[Pair]:
    """Return the pairs of some authors, by author and in their order.

    Raises:
        FileNotFoundError: An author has no file.
    """
    return [pair for name in sorted(authors) for pair in _read(PAIRS / f"{name}.jsonl")]


def _read(path: Path) -> Sequence[Pair]:
    rows = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line)
    return [
        Pair(
            author=path.stem,
            language=row["lang"],
            kind=row["kind"],
            about=row["about"],
            old=row["old"],
            new=row["new"],
            label=row["label"],
        )
        for row in rows
    ]
