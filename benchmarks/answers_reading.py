"""The files from which readers of ``answers.py`` answer, and the key with the systems of each item.

Neither the name nor the text of a file shows the system or the budget. Equal records for the same question are one
item, which is read once.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from answers_contexts import BUDGETS, Context
from answers_questions import Question, digest, in_order

KEY: Final = "key.json"
MOST_LONG: Final = 50
MOST_SHORT: Final = 100
_LABELS: Final = {"locomo": "Question", "worlds": "Task"}

INSTRUCTIONS: Final = """\
You read one file, read-HEX.txt, and write one file beside it, answer-HEX.jsonl, with the same HEX.

Each item of the file begins with "### " and its id. Records come first, then a question or a task. For each item,
write one line of JSON:

{"id": "ITEM ID", "answer": "YOUR ANSWER"}

- Question: answer it from its records alone, in at most 25 words. If the records do not say, the answer is: unknown
- Task: say what you would do or say, in at most 40 words, with the particulars from the records that decide it. If the
  records hold nothing that helps, the answer is: unknown
- The records of one item tell nothing about another item, and what you know from elsewhere does not count.
- A date in brackets is the day when a record was written.

Read each item yourself. Use tools only to read the file and to write the answers: no scripts, no searches. Open no
other file of this folder, least of all key.json.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A question with records, which one reader answers once.

    Args:
        id: Eight hex digits, from the question and the lines.
        question: The question.
        lines: The records.
        systems: The systems that gave these records, each with its budget in characters.
    """

    id: str
    question: Question
    lines: tuple[str, ...]
    systems: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """The entry of an item in the key; ``file`` is the six hex digits of the item's file."""

    id: str
    set: str
    question: str
    file: str
    systems: tuple[tuple[str, int], ...]


def items_of(contexts: Iterable[Context]) -> list[Item]:
    """Return the items of contexts: equal lines for the same question are one item.

    Raises:
        ValueError: Two items have the same id.
    """
    equal: defaultdict[tuple[str, tuple[str, ...]], list[Context]] = defaultdict(list)
    for context in contexts:
        equal[context.question.name, context.lines].append(context)
    items = [
        Item(
            id=digest("item", name, *lines)[:8],
            question=group[0].question,
            lines=lines,
            systems=tuple((each.system, each.budget) for each in group),
        )
        for (name, lines), group in equal.items()
    ]
    if len({each.id for each in items}) < len(items):
        raise ValueError("two items have the same id: change SEED in answers_questions.py")
    return items


def files_of(items: Iterable[Item]) -> dict[str, list[Item]]:
    """Return the items of each file, by its six hex digits; the items of a file are in a random order.

    A file holds items of one set, system and budget. A shared item is in the file of its smallest budget.

    Raises:
        ValueError: Two files have the same name.
    """
    groups: defaultdict[tuple[str, str, int], list[Item]] = defaultdict(list)
    for item in items:
        system, budget = min(item.systems, key=lambda each: each[1])
        groups[item.question.set, system, budget].append(item)
    files: dict[str, list[Item]] = {}
    for group, members in groups.items():
        by_id = {each.id: each for each in members}
        most = MOST_LONG if group[2] == BUDGETS[-1] else MOST_SHORT
        for number, ids in enumerate(parts(in_order(by_id, "order"), most)):
            name = digest("file", *group, number)[:6]
            if name in files:
                raise ValueError("two files have the same name: change SEED in answers_questions.py")
            files[name] = [by_id[each] for each in ids]
    return files


def parts(names: Sequence[str], most: int) -> list[Sequence[str]]:
    """Return names in parts of at most ``most`` names, whose sizes differ by at most one."""
    count = -(-len(names) // most)
    return [names[len(names) * at // count : len(names) * (at + 1) // count] for at in range(count)]


def block_of(item: Item) -> str:
    """Return the text of an item in a reading file."""
    label = _LABELS[item.question.set]
    return "\n".join([f"### {item.id}", "Records:", *item.lines, f"{label}: {item.question.text}", ""])


def write_files(folder: Path, files: Mapping[str, Sequence[Item]]) -> None:
    """Write the reading files, the instructions and the key into a folder.

    Raises:
        FileExistsError: The folder holds a key already; its files would be mixed with others.
    """
    if (folder / KEY).exists():
        raise FileExistsError(f"{folder} already holds reading files. Choose an empty folder.")
    folder.mkdir(parents=True, exist_ok=True)
    for name, items in files.items():
        text = "\n".join(map(block_of, items))
        (folder / f"read-{name}.txt").write_text(text, encoding="utf-8")
    (folder / "instructions.txt").write_text(INSTRUCTIONS, encoding="utf-8")
    key = {
        item.id: {
            "set": item.question.set,
            "question": item.question.name,
            "file": name,
            "systems": item.systems,
        }
        for name, items in files.items()
        for item in items
    }
    (folder / KEY).write_text(json.dumps(key, indent=1), encoding="utf-8")


def read_key(folder: Path) -> list[Entry]:
    """Return the entries of the key in a folder.

    Raises:
        FileNotFoundError: The folder has no key.
    """
    rows = json.loads((folder / KEY).read_text(encoding="utf-8"))
    return [
        Entry(
            id=id_,
            set=row["set"],
            question=row["question"],
            file=row["file"],
            systems=tuple((system, budget) for system, budget in row["systems"]),
        )
        for id_, row in rows.items()
    ]
