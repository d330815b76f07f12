"""Play a year of one person, and ask every week what the memories still know.

People who knew no rule of commonplace wrote the year: what is true when, hundreds of sessions in which it is said,
changed and confirmed among much that is not worth keeping, and the questions with their answers
(``benchmarks/data/year``; :mod:`year_data` has the format). The sessions go through the public doors in the order of
time: conversations with apps and their digests, episodes of sessions and their consolidation, reports of an ops agent
and its markers, notes. Each night has decay, consolidation and the cleanup of episodes. Each Sunday the questions of
the week are answered by the blocks of their prompt, or else by the first five results of a search.

    python benchmarks/year.py [--threads seen|unseen|all] [--thread NAME]... [--model NAME]...
                              [--setting NAME=VALUE]... [--save FILE] [--picture FILE]
    python benchmarks/year.py --read FILE... [--picture FILE]

:mod:`year_secretary` says what the strong, the mediocre and no model are. A year takes a quarter of an hour a model.
Folders that end in ``-unseen`` were written unseen: nobody read them before the harness and the settings were final.
"""

import argparse
import asyncio
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Final

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from year_data import WEEKS, Thread, problems, read_thread
from year_figures import AGES, AskedQuestion, YearFigures, figures_of, shares
from year_judge import Verdict
from year_picture import draw_year
from year_play import play_year
from year_secretary import MODELS

DATA: Final = Path(__file__).parent / "data" / "year"
UNSEEN: Final = "-unseen"
"""The end of the names of threads that nobody read before the harness and its settings were final."""


def read_threads(folder: Path, choice: str, names: Sequence[str] = ()) -> list[Thread]:
    """Read the threads of a folder: ``seen``, ``unseen`` or ``all``, and of these only those with the names, if any."""
    folders = sorted(each for each in folder.iterdir() if (each / "truths.jsonl").is_file())
    return [
        read_thread(each)
        for each in folders
        if (choice == "all" or each.name.endswith(UNSEEN) is (choice == "unseen"))
        and (not names or each.name in names)
    ]


async def play(
    threads: Sequence[Thread],
    models: Sequence[str],
    weeks: int,
    choices: Mapping[str, str],
    progress: Progress,
) -> list[YearFigures]:
    """Play the year with each model; choices of settings are added to its name."""
    years: list[YearFigures] = []
    for model in models:
        task = progress.add_task(f"weeks of the {model} model", total=weeks)
        year = await play_year(
            threads, model, weeks=weeks, choices=choices, on_week=lambda _, task=task: progress.advance(task)
        )
        name = ", ".join([model, *(f"{key} {value}" for key, value in choices.items())])
        years.append(replace(figures_of(year, threads), model=name))
    return years


def print_tables(years: Sequence[YearFigures], console: Console) -> None:
    """Print the figures of each model, and what each lost and failed to lose."""
    console.print(_sums(years))
    console.print(_split(years, "last said", lambda each: each.age, [word for _, word in AGES]))
    parts = {
        "threads": _half,
        "asks": _asks,
        "kind": _kind,
        "place": _place,
        "importance": _importance,
    }
    for name, part in parts.items():
        groups = sorted({part(each) for year in years for each in year.answerable})
        console.print(_split(years, name, part, groups))
    for year in years:
        for name, lines in (("lost", year.lost), ("outlived", year.outlived), ("refused", year.refused)):
            console.print(f"{year.model}: {name}: {len(lines)}", highlight=False)
            for line in lines:
                console.print(f"  {line}", highlight=False, markup=False)


def _half(question: AskedQuestion) -> str:
    return "unseen" if question.id.split("/")[0].endswith(UNSEEN) else "seen"


def _asks(question: AskedQuestion) -> str:
    return question.asks


def _kind(question: AskedQuestion) -> str:
    return question.kind


def _place(question: AskedQuestion) -> str:
    return question.place


def _importance(question: AskedQuestion) -> str:
    return "8 to 10" if question.importance >= 8 else "5 to 7" if question.importance >= 5 else "below 5"


def _sums(years: Sequence[YearFigures]) -> Table:
    table = Table("", *(year.model for year in years), title="The year")
    rows: list[tuple[str, Callable[[YearFigures], str]]] = [
        ("questions", lambda year: str(len(year.answerable))),
        ("right now", lambda year: f"{shares(_of_present(year))['right']:.1%}"),
        *(
            (verdict.value, lambda year, verdict=verdict: f"{shares(year.answerable)[verdict]:.1%}")
            for verdict in Verdict
        ),
        ("right by the block alone", lambda year: f"{shares(year.answerable, _block)['right']:.1%}"),
        ("right by the search alone", lambda year: f"{shares(year.answerable, _search)['right']:.1%}"),
        ("of nothing: block misleads", lambda year: f"{shares(year.about_nothing)['wrong']:.1%}"),
        ("lost that mattered", lambda year: f"{len(year.lost)} of {year.mattered}"),
        ("outlived", lambda year: str(len(year.outlived))),
        ("rows at the end", lambda year: f"{year.weeks[-1].rows:,}"),
        ("MB at the end", lambda year: f"{year.weeks[-1].bytes / 1e6:.1f}"),
        ("tokens injected a day", lambda year: f"{fmean(each.tokens_a_day for each in year.weeks):,.0f}"),
        ("model calls", lambda year: f"{sum(each.model_calls for each in year.weeks):,}"),
        ("model tokens", lambda year: f"{sum(each.model_tokens for each in year.weeks):,}"),
    ]
    for name, value in rows:
        table.add_row(name, *(value(year) for year in years))
    return table


def _of_present(year: YearFigures) -> list[AskedQuestion]:
    return [each for each in year.answerable if each.asks == "now"]


def _block(question: AskedQuestion) -> str:
    return question.block


def _search(question: AskedQuestion) -> str:
    return question.search


def _split(
    years: Sequence[YearFigures], name: str, part: Callable[[AskedQuestion], str], groups: Sequence[str]
) -> Table:
    """Return a table of the right, outdated, unknown and wrong answers of each group of questions."""
    table = Table(name, "questions", *(f"{year.model}: r/o/u/w %" for year in years))
    for group in groups:
        parts = [[each for each in year.answerable if part(each) == group] for year in years]
        cells = (" / ".join(f"{value:.0%}"[:-1] for value in shares(each).values()) for each in parts)
        table.add_row(group, str(len(parts[0])), *cells)
    return table


def main() -> int:
    """Play or read the years, print the tables, and draw the picture."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--threads", choices=("seen", "unseen", "all"), default="all")
    parser.add_argument(
        "--thread", action="append", default=[], help="only the thread of this name; may be repeated"
    )
    parser.add_argument("--model", choices=MODELS, action="append", help="may be repeated; all by default")
    parser.add_argument(
        "--setting", action="append", default=[], metavar="NAME=VALUE", help="may be repeated"
    )
    parser.add_argument("--weeks", type=int, default=WEEKS)
    parser.add_argument("--read", type=Path, nargs="+", help="figures that --save wrote, in place of playing")
    parser.add_argument("--save", type=Path, help="write the figures as JSON")
    parser.add_argument("--picture", type=Path, help="draw the curves as SVG")
    options = parser.parse_args()
    logging.disable(logging.ERROR)
    console = Console(width=140)
    if options.read:
        years = [
            YearFigures.from_json(values)
            for path in options.read
            for values in json.loads(path.read_text(encoding="utf-8"))
        ]
    else:
        choices = dict(each.split("=", 1) for each in options.setting)
        threads = read_threads(options.data, options.threads, options.thread)
        for thread in threads:
            for line in problems(thread):
                console.print(f"{thread.name}: {line}", highlight=False, markup=False)
        with Progress(console=Console(stderr=True), transient=True) as progress:
            years = asyncio.run(play(threads, options.model or MODELS, options.weeks, choices, progress))
    if options.save:
        options.save.write_text(json.dumps([each.as_json() for each in years]), encoding="utf-8")
    if options.picture:
        options.picture.write_text(draw_year(years, title="A year of one person"), encoding="utf-8")
    print_tables(years, console)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
