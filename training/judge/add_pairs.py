"""Take the pairs of a new author into ``pairs/next/``, from which a network learns when they are moved to ``pairs/``.

    python training/judge/add_pairs.py AUTHOR LANGUAGE FILE [--second FILE]

``FILE`` has one pair a line, ``label | kind | about | old | new | differs``. The name of the author begins with the
language (``de-klinik-it``). ``--second`` has the labels of a second reader, ``number label`` a line with the numbers of
the lines from 0; pairs on whose label the two disagree are left out, as are pairs that another author has.
"""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path

from corpus import LABELS, PAIRS

COLUMNS = ("label", "kind", "about", "old", "new", "differs")
KINDS = ("lesson", "fact", "rule", "note", "digest")


def rows_of(text: str) -> list[dict[str, str]]:
    """Return the pairs of a file.

    Raises:
        ValueError: A line has another form; the message names it.
    """
    rows: list[dict[str, str]] = []
    for number, line in enumerate(filter(str.strip, text.splitlines()), start=1):
        values = [each.strip() for each in line.split(" | ")]
        row = dict(zip(COLUMNS, values, strict=False))
        if len(values) != len(COLUMNS) or row["label"] not in LABELS or row["kind"] not in KINDS:
            raise ValueError(f"pair {number}: expected {' | '.join(COLUMNS)}, got {line!r}")
        rows.append(row)
    return rows


def agreed(rows: list[dict[str, str]], second: Mapping[int, str]) -> list[dict[str, str]]:
    """Return the pairs to which both readers gave the same label."""
    return [row for place, row in enumerate(rows) if second.get(place, row["label"]) == row["label"]]


def main() -> None:
    """Write the file of an author."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("author")
    parser.add_argument("language")
    parser.add_argument("file", type=Path)
    parser.add_argument("--second", type=Path)
    options = parser.parse_args()
    rows = rows_of(options.file.read_text(encoding="utf-8"))
    labels = [] if options.second is None else options.second.read_text(encoding="utf-8").split("\n")
    second = {int(number): label for number, label in (each.split() for each in labels if each.strip())}
    known = {
        (pair["old"], pair["new"])
        for path in PAIRS.rglob("*.jsonl")
        for pair in map(json.loads, path.read_text(encoding="utf-8").splitlines())
    }
    kept = [row for row in agreed(rows, second) if (row["old"], row["new"]) not in known]
    lines = [json.dumps({"lang": options.language} | _ordered(row), ensure_ascii=False) for row in kept]
    (PAIRS / "next" / f"{options.author}.jsonl").write_text("\n".join([*lines, ""]), encoding="utf-8")
    print(f"{options.author}: {len(kept)} of {len(rows)} pairs")


def _ordered(row: Mapping[str, str]) -> dict[str, str]:
    return {name: row[name] for name in ("kind", "about", "label", "old", "new", "differs")}


if __name__ == "__main__":
    main()
