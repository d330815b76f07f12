"""The answers of readers of ``answers.py``, the files for their graders, and the verdicts."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from answers_questions import Question, digest, in_order
from answers_reading import Entry, parts, read_key

MOST_QUESTIONS: Final = 30
UNKNOWN: Final = "unknown"
_MOST_NAMED: Final = 10

INSTRUCTIONS: Final = """\
You read one file, grade-NN.txt, and write one file beside it, verdict-NN.jsonl, with the same NN.

Each part of the file begins with "## " and holds a question with its gold answer, or a task with the memory that
decides it and perhaps other memories that help. Answers follow, each with an id. For each answer, write one line of
JSON:

{"id": "ANSWER ID", "right": true}

- Question: right if the answer gives the content of the gold answer. Other words, another form of a date and more
  detail are fine.
- Task: right if the answer uses the decisive particular of the decisive memory. The other memories need not be used.
- An answer that contradicts the gold, leaves out its content or is too vague to tell is wrong: "right": false.

Judge each answer by itself. Use tools only to read the file and to write the verdicts: no scripts. Open no other file
of this folder.
"""


class AnswersError(Exception):
    """An answer or a verdict is missing, or does not belong to these files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grade:
    """The answer to an item and its verdict, as they are kept.

    Args:
        set: The data of the question.
        question: The name of the question.
        systems: The systems whose records led to the answer, each with its budget in characters.
        answer: The answer of the reader.
        right: Whether it is right; ``None`` if the answer is ``unknown``.
    """

    set: str
    question: str
    systems: tuple[tuple[str, int], ...]
    answer: str
    right: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """The shares of right, unknown and wrong answers with the records of a system; they sum to 1.0."""

    set: str
    system: str
    budget: int
    questions: int
    right: float
    unknown: float
    wrong: float


def normalized(answer: str) -> str:
    """Return an answer without differences in case and space."""
    return " ".join(answer.split()).casefold()


def is_unknown(answer: str) -> bool:
    """Return whether a reader says that the records do not answer; an empty answer says so as well."""
    return normalized(answer).strip(" .") in {"", UNKNOWN}


def answer_id(question: str, answer: str) -> str:
    """Return the id of an answer for graders: eight hex digits, equal for equal answers to one question."""
    return digest("answer", question, normalized(answer))[:8]


def answered_entries(folder: Path) -> list[Entry]:
    """Return the entries of the key for the systems and budgets of which every file was read.

    Raises:
        FileNotFoundError: The folder has no key.
    """
    entries = read_key(folder)
    unread = {entry.id for entry in entries if not (folder / f"answer-{entry.file}.jsonl").exists()}
    missing = {(entry.set, *pair) for entry in entries if entry.id in unread for pair in entry.systems}
    whole = (
        replace(entry, systems=tuple(pair for pair in entry.systems if (entry.set, *pair) not in missing))
        for entry in entries
    )
    return [entry for entry in whole if entry.systems]


def read_answers(folder: Path, entries: Sequence[Entry]) -> dict[str, str]:
    """Return the answer to every item by its id.

    Raises:
        AnswersError: An item has no answer or several, or an answer belongs to no item of its file.
    """
    answers: dict[str, str] = {}
    problems: list[str] = []
    files = {entry.id: entry.file for entry in read_key(folder)}
    for name in sorted({entry.file for entry in entries}):
        path = folder / f"answer-{name}.jsonl"
        ids = {id_ for id_, file in files.items() if file == name}
        values, problem = _read_values(path, "answer", str, ids)
        answers |= values
        problems += problem
    if problems:
        raise AnswersError("\n".join(problems))
    return answers


def _read_values(path: Path, field: str, type_: type, ids: set[str]) -> tuple[dict[str, Any], list[str]]:
    """Return a field of each line of a file by the id of the line, and the problems of the file."""
    rows = list(_rows(path))
    invalid = [
        str(number) for number, row in rows if "id" not in row or not isinstance(row.get(field), type_)
    ]
    counts = Counter(row["id"] for _, row in rows if "id" in row)
    problems = [
        f"{path.name}: {len(names)} {problem}: {_list_of(names)}"
        for problem, names in (
            (f"lines without an id or a valid {field!r}", invalid),
            ("ids without a line", sorted(ids - set(counts))),
            ("ids of another file", sorted(set(counts) - ids)),
            ("ids with several lines", sorted(name for name, count in counts.items() if count > 1)),
        )
        if names
    ]
    return {row["id"]: row[field] for _, row in rows if "id" in row and field in row}, problems


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number and the object of each line; a missing file has no lines, a broken line no fields."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            try:
                row = json.loads(line)
            except json.JSONDecodeError:
                row = {}
            yield number, row if isinstance(row, dict) else {}


def _list_of(names: Sequence[str]) -> str:
    rest = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {rest} more" if rest > 0 else "")


def answers_to_grade(entries: Iterable[Entry], answers: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return the distinct answers by question and answer id, without those that are ``unknown``."""
    distinct: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for entry in entries:
        answer = " ".join(answers[entry.id].split())
        if not is_unknown(answer):
            distinct[entry.question].setdefault(answer_id(entry.question, answer), answer)
    return dict(distinct)


def grading_files(
    questions: Mapping[str, Question], distinct: Mapping[str, Mapping[str, str]]
) -> list[Sequence[str]]:
    """Return the names of the questions of each grading file; a file holds questions of one set."""
    files: list[Sequence[str]] = []
    for name in ("locomo", "worlds"):
        names = [each for each in distinct if questions[each].set == name]
        files += parts(in_order(names, "grade"), MOST_QUESTIONS)
    return files


def grading_block(question: Question, answers: Mapping[str, str]) -> str:
    """Return the text of a question with its gold and its answers by their ids, in a random order."""
    if question.set == "locomo":
        lines = [f"Question: {question.text}", f"Gold: {question.gold[0]}"]
    else:
        lines = [f"Task: {question.text}", f"Decisive memory: {question.gold[0]}"]
        lines += [f"Other memory: {text}" for text in question.gold[1:]]
    answer_lines = [f"{id_}: {answers[id_]}" for id_ in in_order(answers, "answers")]
    return "\n".join([f"## {digest('question', question.name)[:8]}", *lines, "Answers:", *answer_lines, ""])


def write_grading(folder: Path, questions: Mapping[str, Question]) -> tuple[int, int]:
    """Write the grading files and their instructions; return the number of files and of distinct answers.

    Raises:
        AnswersError: See :func:`read_answers`.
    """
    entries = answered_entries(folder)
    distinct = answers_to_grade(entries, read_answers(folder, entries))
    files = grading_files(questions, distinct)
    for number, names in enumerate(files, start=1):
        text = "\n".join(grading_block(questions[name], distinct[name]) for name in names)
        (folder / f"grade-{number:02}.txt").write_text(text, encoding="utf-8")
    (folder / "grade-instructions.txt").write_text(INSTRUCTIONS, encoding="utf-8")
    ids = [sorted(id_ for name in names for id_ in distinct[name]) for names in files]
    (folder / "grade-key.json").write_text(json.dumps(ids, indent=1), encoding="utf-8")
    return len(files), sum(map(len, ids))


def read_verdicts(folder: Path) -> dict[str, bool]:
    """Return whether each graded answer is right, by its id.

    Raises:
        AnswersError: An answer has no verdict or several, or a verdict belongs to no answer of its file.
        FileNotFoundError: The folder has no grading files.
    """
    ids_by_file: list[list[str]] = json.loads((folder / "grade-key.json").read_text(encoding="utf-8"))
    verdicts: dict[str, bool] = {}
    problems: list[str] = []
    for number, ids in enumerate(ids_by_file, start=1):
        path = folder / f"verdict-{number:02}.jsonl"
        values, problem = _read_values(path, "right", bool, set(ids))
        verdicts |= values
        problems += problem
    if problems:
        raise AnswersError("\n".join(problems))
    return verdicts


def grades_of(
    entries: Iterable[Entry], answers: Mapping[str, str], verdicts: Mapping[str, bool]
) -> list[Grade]:
    """Return the grade of each item, in the order of sets, questions and systems.

    Raises:
        AnswersError: An answer changed since the grading files were written.
    """
    grades: list[Grade] = []
    for entry in entries:
        answer = answers[entry.id]
        id_ = answer_id(entry.question, answer)
        if not is_unknown(answer) and id_ not in verdicts:
            raise AnswersError(
                f"The answer to item {entry.id} has no verdict. Write the grading files again."
            )
        grades.append(
            Grade(
                set=entry.set,
                question=entry.question,
                systems=tuple(sorted(entry.systems)),
                answer=answer,
                right=None if is_unknown(answer) else verdicts[id_],
            )
        )
    return sorted(grades, key=lambda each: (each.set, each.question, each.systems))


def write_grades(path: Path, grades: Iterable[Grade]) -> None:
    """Write grades, one JSON object a line."""
    lines = [json.dumps(asdict(each), ensure_ascii=False) + "\n" for each in grades]
    path.write_text("".join(lines), encoding="utf-8")


def read_grades(path: Path) -> list[Grade]:
    """Return the grades of a file.

    Raises:
        FileNotFoundError: The file does not exist.
    """
    rows = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    return [
        Grade(**row | {"systems": tuple((system, budget) for system, budget in row["systems"])})
        for row in rows
    ]


def shares_of(grades: Iterable[Grade]) -> list[Share]:
    """Return the shares of each set, system and budget; a shared item counts for each of its systems."""
    outcomes: defaultdict[tuple[str, str, int], list[bool | None]] = defaultdict(list)
    for grade in grades:
        for system, budget in grade.systems:
            outcomes[grade.set, system, budget].append(grade.right)
    return [
        Share(
            set=name,
            system=system,
            budget=budget,
            questions=len(rights),
            right=rights.count(True) / len(rights),
            unknown=rights.count(None) / len(rights),
            wrong=rights.count(False) / len(rights),
        )
        for (name, system, budget), rights in sorted(outcomes.items())
    ]
