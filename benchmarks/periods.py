"""Measure how periods are read from sentences.

``python benchmarks/periods.py --data FILE [--errors] [--json]`` reads each sentence of a JSON Lines file with ``lang``,
``told`` (when it was said), ``text``, and the first and last day, ``from`` and ``to``, that it names. By language:

- ``exact``: both days are right, or there is none, as there should be
- ``wrong``: a period with another day, or a period where there should be none
- ``missed``: no period where there should be one

``never`` beside it is the same for reading no period at all. ``ms`` is the mean processor time of a sentence.
"""

import argparse
import json
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from commonplace.knowledge.rules.periods import read_period

DATA = Path(__file__).parent / "data" / "periods-a.jsonl"
ROUNDS = 20
OUTCOMES = ("exact", "wrong", "missed")

Days = tuple[str | None, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """A sentence and the days that it names."""

    language: str
    text: str
    told: datetime
    days: Days


def read_sentences(path: Path) -> list[Sentence]:
    """Return the sentences of a file."""
    rows = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line)
    return [
        Sentence(
            language=row["lang"],
            text=row["text"],
            told=datetime.fromisoformat(row["told"]).replace(tzinfo=UTC),
            days=(row["from"], row["to"]),
        )
        for row in rows
    ]


def days_of(sentence: Sentence) -> Days:
    """Return the first and the last day of the period that is read from a sentence."""
    period = read_period(sentence.text, sentence.told)
    if period is None:
        return None, None
    last = None if period.valid_to is None else period.valid_to - timedelta(days=1)
    return tuple(None if each is None else each.date().isoformat() for each in (period.valid_from, last))  # type: ignore[return-value] - two


def outcome(days: Days, expected: Days) -> str:
    """Return what a reading is."""
    if days == expected:
        return "exact"
    return "missed" if days == (None, None) else "wrong"


def measure(sentences: Iterable[Sentence]) -> dict[str, dict[str, int]]:
    """Return the number of each outcome by language, and of reading no period."""
    counts: dict[str, Counter[str]] = {}
    for sentence in sentences:
        read, none = outcome(days_of(sentence), sentence.days), outcome((None, None), sentence.days)
        for name in (sentence.language, "all"):
            counts.setdefault(name, Counter()).update([read, f"never {none}"])
    names = (*OUTCOMES, *(f"never {each}" for each in OUTCOMES))
    return {language: {name: each[name] for name in names} for language, each in counts.items()}


def mean_ms(sentences: list[Sentence]) -> float:
    """Return the mean processor time of a sentence in milliseconds, in the fastest of some rounds."""
    rounds: list[float] = []
    for _ in range(ROUNDS):
        begins = time.process_time()
        for sentence in sentences:
            read_period(sentence.text, sentence.told)
        rounds.append(time.process_time() - begins)
    return min(rounds) / len(sentences) * 1000


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--errors", action="store_true", help="print each sentence that is not read exactly")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    sentences = read_sentences(options.data)
    counts, ms = measure(sentences), mean_ms(sentences)
    if options.json:
        print(json.dumps({"data": options.data.name, "counts": counts, "ms": round(ms, 3)}))
        return
    print("language  sentences  exact  wrong  missed   without reading: exact  missed")
    for language, each in counts.items():
        total = sum(each[name] for name in OUTCOMES)
        print(
            f"{language:8}  {total:9}  {each['exact']:5}  {each['wrong']:5}  {each['missed']:6}"
            f"  {each['never exact']:22}  {each['never missed']:6}"
        )
    print(f"{ms:.3f} ms of processor time a sentence")
    for sentence in sentences if options.errors else ():
        if (days := days_of(sentence)) != sentence.days:
            print(f"{outcome(days, sentence.days)}: {sentence.text} {sentence.days} read as {days}")


if __name__ == "__main__":
    main()
