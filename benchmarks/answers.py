"""Does memory help a reader? Readers answer questions from the records of each system, within equal budgets of text.

200 questions of LoCoMo's conversations and 100 prompts of the worlds that are set aside are given to readers, each with
the records of one system within 1,000, 2,000 or 4,000 characters. Readers do not know the system or the budget. Graders
compare each distinct answer with the gold answer, and do not know them either. The baselines are exact dense search and
BM25 on the same records. ``evidence`` has the right records, ``none`` has no records, so readers guess.

    python benchmarks/answers.py write DIR --data locomo.json    # DIR/instructions.txt and DIR/read-HEX.txt
    python benchmarks/answers.py grade DIR --data locomo.json    # DIR/grade-instructions.txt and DIR/grade-NN.txt
    python benchmarks/answers.py keep DIR                        # benchmarks/data/answers.jsonl
    python benchmarks/answers.py report [--json]

Each reader reads one file and writes ``DIR/answer-HEX.jsonl``; each grader reads one file and writes
``DIR/verdict-NN.jsonl``. No reader may read two files with the same question. If nobody read a file, its system and
budget are left out. ``report`` needs only the kept file. The questions are always the same. The records differ between
runs: searches order equal scores by random ids, and worlds end today. LoCoMo's data is at
https://github.com/snap-research/locomo.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from answers_contexts import all_contexts
from answers_grades import (
    AnswersError,
    Share,
    answered_entries,
    grades_of,
    read_answers,
    read_grades,
    read_verdicts,
    shares_of,
    write_grades,
    write_grading,
)
from answers_questions import all_questions
from answers_reading import files_of, items_of, write_files

ANSWERS_FILE: Final = Path(__file__).parent / "data" / "answers.jsonl"


def write(folder: Path, data: Path) -> None:
    """Write the reading files, and print how many there are.

    Raises:
        FileExistsError: The folder holds reading files already.
    """
    with Progress(console=Console(stderr=True)) as progress:
        contexts = asyncio.run(all_contexts(data, progress))
    files = files_of(items_of(contexts))
    write_files(folder, files)
    chars = sum(len(path.read_text(encoding="utf-8")) for path in folder.glob("read-*.txt"))
    items = sum(map(len, files.values()))
    print(f"{len(contexts):,} contexts, {items:,} items, {len(files)} files, {chars:,} characters")


def grade(folder: Path, data: Path) -> None:
    """Write the grading files, and print how many there are.

    Raises:
        AnswersError: An answer is missing or does not belong to an item.
    """
    files, answers = write_grading(folder, all_questions(data))
    print(f"{answers:,} distinct answers, {files} files")


def keep(folder: Path, path: Path = ANSWERS_FILE) -> None:
    """Join the answers and the verdicts in the kept file, and print how many items it holds.

    Raises:
        AnswersError: An answer or a verdict is missing.
    """
    entries = answered_entries(folder)
    grades = grades_of(entries, read_answers(folder, entries), read_verdicts(folder))
    write_grades(path, grades)
    print(f"{len(grades):,} items in {path}")


def tables(shares: Sequence[Share]) -> list[Table]:
    """Return a table for each set: right, unknown and wrong in percent by system, each budget a column."""
    result: list[Table] = []
    for name in sorted({each.set for each in shares}):
        own = {(each.system, each.budget): each for each in shares if each.set == name}
        budgets = sorted({budget for _, budget in own})
        columns = (f"{budget:,} characters" for budget in budgets)
        table = Table("system", *columns, title=f"{name}: right / unknown / wrong, %")
        for system in sorted({system for system, _ in own}):
            table.add_row(system, *(_cell(own.get((system, budget))) for budget in budgets))
        result.append(table)
    return result


def _cell(share: Share | None) -> str:
    if share is None:
        return ""
    return " / ".join(f"{100 * each:.0f}" for each in (share.right, share.unknown, share.wrong))


def report(*, as_json: bool) -> None:
    """Print the shares of the kept file, as tables or as one JSON array.

    Raises:
        FileNotFoundError: No answers are kept yet.
    """
    if not ANSWERS_FILE.exists():
        raise FileNotFoundError(
            f"{ANSWERS_FILE} does not exist. Write it with: python benchmarks/answers.py keep DIR"
        )
    shares = shares_of(read_grades(ANSWERS_FILE))
    if as_json:
        json.dump([asdict(each) for each in shares], sys.stdout, indent=2)
        print()
        return
    console = Console(width=120)
    for table in tables(shares):
        console.print(table)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for name, description in (("write", "write the reading files"), ("grade", "write the grading files")):
        command = commands.add_parser(name, help=description)
        command.add_argument("folder", type=Path, metavar="DIR")
        command.add_argument("--data", type=Path, required=True, help="LoCoMo's data as published")
    commands.add_parser("keep", help="keep the answers and verdicts").add_argument(
        "folder", type=Path, metavar="DIR"
    )
    commands.add_parser("report", help="print the kept shares").add_argument("--json", action="store_true")
    return parser


def main() -> int:
    """Run a command; return the exit status, 1 if answers, verdicts or files are not as expected."""
    options = _parser().parse_args()
    try:
        match options.command:
            case "write":
                write(options.folder, options.data)
            case "grade":
                grade(options.folder, options.data)
            case "keep":
                keep(options.folder)
            case _:
                report(as_json=options.json)
    except (AnswersError, FileExistsError, FileNotFoundError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
