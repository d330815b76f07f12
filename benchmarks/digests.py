"""Measure the digests that the extractive model makes of ended conversations.

``python benchmarks/digests.py [--data FILE] [--json] [--errors]`` prints what is kept of what should be, within 200
characters, beside a baseline: the first 200 characters of what the user said. A fact counts as kept if the digest holds
every keyword of one of its alternatives; ``keeps_weighted`` weighs each fact by its importance, 1 to 3. A "never" is a
courtesy, padding, or a value that was corrected later (then it is superseded). Rules were made
with a look at the conversations of ``benchmarks/data/digests.jsonl``; those of ``digests_measured_once.jsonl`` were
measured once, unseen (ADR 0009).
"""

import argparse
import asyncio
import json
import logging
import sys
import tempfile
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from commonplace import AppMemory, Settings
from commonplace.apps.model.bounds import MAX_CONTENT_CHARS
from commonplace.apps.model.conversations import Message
from commonplace.apps.model.energy import EnergyPolicy

DATA = Path(__file__).parent / "data" / "digests.jsonl"

Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Figures of one method: shares from 0 to 1, and three counts at the end."""

    method: str
    conversations: int
    keeps_weighted: float
    keeps_weight_3: float
    nothing_kept_nothing: float
    nevers_violated: int
    superseded_violated: int
    over_200_chars: int


def read_rows(path: Path) -> list[Row]:
    """Read the conversations of a file, one JSON object a line."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


async def digests(rows: list[Row]) -> list[str]:
    """Return the digest of each conversation, made by a fresh home; empty where there is none."""
    made: list[str] = []
    with tempfile.TemporaryDirectory() as home:
        settings = Settings(home=Path(home), model="extractive")
        async with AppMemory.open(settings, energy=EnergyPolicy(capacity=1e9)) as memory:
            for row in rows:
                await memory.registry.register(row["id"])
                said = [Message(role=one["role"], content=one["content"]) for one in row["messages"]]
                receipt = await memory.ingest(row["id"], f"{row['id']}-c", said)
                made.append(receipt.memory.content if receipt.memory else "")
    return made


def beginnings(rows: list[Row]) -> list[str]:
    """Return the baseline: how each user begins."""
    said = [" ".join(one["content"] for one in row["messages"] if one["role"] == "user") for row in rows]
    return [text[:MAX_CONTENT_CHARS] for text in said]


def missed(row: Row, text: str) -> list[str]:
    """Return the facts that a digest should hold and does not."""
    return [keep["fact"] for keep in row["keep"] if not _holds(keep, text)]


def held(words: list[str], text: str) -> list[str]:
    """Return which words a digest holds, ignoring case."""
    return [word for word in words if word.lower() in text.lower()]


def figures(method: str, rows: list[Row], texts: list[str]) -> Figures:
    """Count what a method keeps."""
    met: Counter[int] = Counter()
    whole: Counter[int] = Counter()
    for row, text in zip(rows, texts, strict=True):
        for keep in row["keep"]:
            whole[keep["weight"]] += 1
            met[keep["weight"]] += _holds(keep, text)
    talks = [(row, text) for row, text in zip(rows, texts, strict=True) if not row["nothing"]]
    small_talk = [text for row, text in zip(rows, texts, strict=True) if row["nothing"]]
    return Figures(
        method=method,
        conversations=len(rows),
        keeps_weighted=_share(sum(w * n for w, n in met.items()), sum(w * n for w, n in whole.items())),
        keeps_weight_3=_share(met[3], whole[3]),
        nothing_kept_nothing=_share(small_talk.count(""), len(small_talk)),
        nevers_violated=sum(len(held(row["never"], text)) for row, text in talks),
        superseded_violated=sum(len(held(row["superseded"], text)) for row, text in talks),
        over_200_chars=sum(len(text) > MAX_CONTENT_CHARS for text in texts),
    )


def _holds(keep: Row, text: str) -> bool:
    return any(len(held(words, text)) == len(words) for words in keep["any_of"])


def _share(part: float, whole: float) -> float:
    return round(part / whole, 4) if whole else 0.0


def main() -> None:
    """Measure, and print a table, or with ``--json`` the figures of the product."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--errors", action="store_true", help="print each digest with a fault")
    args = parser.parse_args()
    logging.disable(logging.CRITICAL)
    rows = read_rows(args.data)
    texts = asyncio.run(digests(rows))
    found = [figures("extractive", rows, texts), figures("beginning", rows, beginnings(rows))]
    if args.json:
        print(json.dumps(asdict(found[0]), indent=2))
    else:
        names = list(asdict(found[0]))[1:]
        print(f"{'':24}" + "".join(f"{one.method:>12}" for one in found))
        for name in names:
            print(f"{name:24}" + "".join(f"{getattr(one, name):>12}" for one in found))
    if args.errors:
        for row, text in zip(rows, texts, strict=True):
            faults = [*missed(row, text), *held(row.get("never", []), text)]
            if faults or (row["nothing"] and text):
                print(f"{row['id']}: {text!r}\n    {faults}", file=sys.stderr)


if __name__ == "__main__":
    main()
