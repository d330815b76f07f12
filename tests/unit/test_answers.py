"""The readers' items, budgets and grades of ``benchmarks/answers.py``."""

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answers_contexts import (
    BUDGETS,
    Context,
    in_budgets,
    line_of_record,
    lines_of_block,
    within,
    without_records,
)
from answers_grades import (
    AnswersError,
    Grade,
    answered_entries,
    grades_of,
    read_answers,
    read_grades,
    read_verdicts,
    shares_of,
    write_grades,
    write_grading,
)
from answers_questions import Question, all_questions, pick_prompts, shares, spread
from answers_reading import files_of, items_of, parts, read_key, write_files

SYSTEMS = ("contextual", "hybrid", "dense", "bm25", "evidence", "recall", "block", "none")
PORT = Question(set="locomo", name="conv-1:0", text="Which port?", gold=("9090",))
TASK = Question(set="worlds", name="shop:p1", text="Open the shop.", gold=("The key is blue.", "It sticks."))


def context(system: str, budget: int, *lines: str, question: Question = PORT) -> Context:
    """Return the records of a system."""
    return Context(question=question, system=system, budget=budget, lines=lines)


def reading_folder(folder: Path) -> Path:
    """Return a folder with reading files of four items: three for the question, one for the task."""
    contexts = [
        context("dense", 1000, "- It is 8080."),
        context("bm25", 1000, "- It is 9090."),
        context("bm25", 2000, "- It is 9090."),
        without_records(PORT),
        context("recall", 1000, "- The key is blue.", question=TASK),
    ]
    write_files(folder, files_of(items_of(contexts)))
    return folder


def write_answers(folder: Path, answers: Mapping[tuple[str, int], str]) -> None:
    """Write the answer to the item of each system and budget, where one is named."""
    for entry in read_key(folder):
        for answer in {answers[each] for each in entry.systems if each in answers}:
            with (folder / f"answer-{entry.file}.jsonl").open("a", encoding="utf-8") as file:
                file.write(json.dumps({"id": entry.id, "answer": answer}) + "\n")


ANSWERS = {("dense", 1000): "8080", ("bm25", 1000): "Port  9090", ("none", 0): "Unknown."} | {
    ("recall", 1000): "take the blue key"
}


@given(st.lists(st.text("ab", max_size=30)), st.integers(0, 200))
def test_lines_are_taken_until_the_next_does_not_fit(lines: list[str], budget: int) -> None:
    """The lines are the first ones, they fit, and one more would not."""
    first_lines = within(lines, budget)
    assert list(first_lines) == lines[: len(first_lines)]
    assert sum(len(line) + 1 for line in first_lines) <= budget
    assert (
        len(first_lines) == len(lines)
        or sum(len(line) + 1 for line in lines[: len(first_lines) + 1]) > budget
    )


def test_a_later_short_line_does_not_jump_the_queue() -> None:
    """All lines after a line that does not fit are left out."""
    assert within(["aa", "b" * 50, "c"], 10) == ("aa",)


def test_the_evidence_has_the_largest_budget_alone() -> None:
    """Other systems have all budgets."""
    assert [each.budget for each in in_budgets(PORT, "evidence", ["- a"])] == [4000]
    assert [each.budget for each in in_budgets(PORT, "dense", ["- a"])] == list(BUDGETS)


def test_records_are_single_lines() -> None:
    """A record has its date in front; of a block, only the lines of memories stay."""
    assert (
        line_of_record("Ann: hi\nthere", datetime(2023, 5, 7, 9, tzinfo=UTC))
        == "- [2023-05-07] Ann: hi there"
    )
    block = "# Memory Context\nNoted earlier.\n\n## Key Facts\n- [a] [b]: c (confidence: 1.00)\n"
    assert lines_of_block(block) == ["- [a] [b]: c (confidence: 1.00)"]


def test_equal_records_are_read_once() -> None:
    """Equal lines for one question are one item, for another question a second one."""
    other = Question(set="locomo", name="conv-1:1", text="Which host?", gold=("b",))
    contexts = [context("dense", 1000, "- a"), context("bm25", 2000, "- a"), context("bm25", 1000, "- b")]
    items = items_of([*contexts, context("dense", 1000, "- a", question=other)])
    assert [each.systems for each in items] == [
        (("dense", 1000), ("bm25", 2000)),
        (("bm25", 1000),),
        (("dense", 1000),),
    ]
    files = files_of(items)
    assert sorted(item.id for each in files.values() for item in each) == sorted(each.id for each in items)


def test_files_are_small_and_ask_a_question_once() -> None:
    """Files of the largest budget hold 50 questions, others 100; no file asks a question twice."""
    questions = [Question(set="locomo", name=f"c:{at}", text="?", gold=("a",)) for at in range(120)]
    contexts = [
        context(system, budget, f"- {system} {budget if system == 'dense' else ''}", question=each)
        for each in questions
        for system in ("dense", "bm25")
        for budget in BUDGETS
    ]
    files = files_of(items_of(contexts))
    sizes = sorted(len(each) for each in files.values())
    assert sizes == [40, 40, 40, 60, 60, 60, 60, 60, 60]
    for items in files.values():
        assert len({each.question.name for each in items}) == len(items)


@given(st.lists(st.integers(), max_size=40), st.integers(1, 9))
def test_parts_hold_everything_once(values: list[int], most: int) -> None:
    """Parts have at most so many members, and are about equal."""
    groups = parts([str(each) for each in values], most)
    assert [each for part in groups for each in part] == [str(each) for each in values]
    assert all(0 < len(part) <= most for part in groups)
    assert max(map(len, groups), default=0) - min(map(len, groups), default=0) <= 1


def test_nothing_tells_a_reader_the_system(tmp_path: Path) -> None:
    """Neither the names nor the text of reading files name a system, a budget or the question's place."""
    folder = reading_folder(tmp_path)
    files = list(folder.glob("read-*.txt"))
    assert len(files) == 4
    for path in files:
        text = path.name + path.read_text(encoding="utf-8")
        secrets = [*SYSTEMS, "1000", "2000", "4000", "conv-1", "shop:", "locomo", "worlds"]
        assert not [word for word in secrets if word in text]
    texts = "".join(path.read_text(encoding="utf-8") for path in files)
    assert "- It is 9090.\nQuestion: Which port?\n" in texts
    assert "Records:\nQuestion: Which port?\n" in texts
    assert "Task: Open the shop.\n" in texts


def test_reading_files_are_not_written_twice(tmp_path: Path) -> None:
    """A folder with a key is refused."""
    with pytest.raises(FileExistsError, match="empty folder"):
        reading_folder(reading_folder(tmp_path))


def test_missing_answers_are_named(tmp_path: Path) -> None:
    """An error names the file and the item."""
    folder = reading_folder(tmp_path)
    write_answers(folder, {key: each for key, each in ANSWERS.items() if key[0] != "bm25"})
    (missing,) = (each for each in read_key(folder) if ("bm25", 1000) in each.systems)
    with pytest.raises(AnswersError) as failure:
        read_answers(folder, read_key(folder))
    assert str(failure.value) == f"answer-{missing.file}.jsonl: 1 ids without a line: {missing.id}"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"id": "0badf00d", "answer": "a"}', "1 ids of another file: 0badf00d"),
        ("no JSON", "1 lines without an id or a valid 'answer': 2"),
        ("repeat", "1 ids with several lines"),
    ],
)
def test_wrong_answer_lines_are_named(tmp_path: Path, line: str, message: str) -> None:
    """Ids of other files, broken lines and second answers are errors."""
    folder = reading_folder(tmp_path)
    write_answers(folder, ANSWERS)
    path = next(folder.glob("answer-*.jsonl"))
    text = path.read_text(encoding="utf-8")
    path.write_text(text + (text if line == "repeat" else line), encoding="utf-8")
    with pytest.raises(AnswersError, match=message):
        read_answers(folder, read_key(folder))


def test_answers_are_graded_and_kept(tmp_path: Path) -> None:
    """Graders see distinct answers without ``unknown``; the kept lines have no text of a question."""
    folder = reading_folder(tmp_path)
    write_answers(folder, ANSWERS)
    assert write_grading(folder, {each.name: each for each in (PORT, TASK)}) == (2, 3)
    questions, tasks = ((folder / f"grade-0{at}.txt").read_text(encoding="utf-8") for at in (1, 2))
    assert "Gold: 9090" in questions
    assert "unknown" not in questions.casefold()
    assert "Decisive memory: The key is blue.\nOther memory: It sticks." in tasks
    with pytest.raises(AnswersError, match=r"verdict-01.jsonl: 2 ids without a line"):
        read_verdicts(folder)
    for at, text in enumerate((questions, tasks), start=1):
        ids = [line.split(": ") for line in text.split("Answers:\n")[1].splitlines()]
        lines = [json.dumps({"id": id_, "right": "8080" not in answer}) + "\n" for id_, answer in ids]
        (folder / f"verdict-0{at}.jsonl").write_text("".join(lines), encoding="utf-8")
    entries = read_key(folder)
    grades = grades_of(entries, read_answers(folder, entries), read_verdicts(folder))
    write_grades(tmp_path / "kept.jsonl", grades)
    assert read_grades(tmp_path / "kept.jsonl") == grades
    assert {each.systems: each.right for each in grades} == {
        (("bm25", 1000), ("bm25", 2000)): True,
        (("dense", 1000),): False,
        (("none", 0),): None,
        (("recall", 1000),): True,
    }
    assert PORT.text not in (tmp_path / "kept.jsonl").read_text(encoding="utf-8")


def test_systems_with_unread_files_are_left_out(tmp_path: Path) -> None:
    """A system has a share within a budget only if all its questions were answered."""
    contexts = [
        context("dense", 1000, "- It is 8080."),
        context("dense", 2000, "- It is 8080."),
        context("dense", 1000, "- The key is red.", question=TASK),
        context("dense", 2000, "- The key is red.", "- It sticks.", question=TASK),
        context("dense", 2000, "- It is 8080.", question=replace(PORT, name="conv-1:1")),
    ]
    write_files(tmp_path, files_of(items_of(contexts)))
    (unread,) = {each.file for each in read_key(tmp_path) if each.question == "conv-1:1"}
    for entry in read_key(tmp_path):
        if entry.file != unread:
            (tmp_path / f"answer-{entry.file}.jsonl").touch()
    assert {(each.set, each.systems) for each in answered_entries(tmp_path)} == {
        ("locomo", (("dense", 1000),)),
        ("worlds", (("dense", 1000),)),
        ("worlds", (("dense", 2000),)),
    }


def test_shares_count_an_item_for_each_of_its_systems() -> None:
    """The shares of a system and budget sum to one."""

    def grade(question: str, *systems: tuple[str, int], right: bool | None) -> Grade:
        return Grade(set="locomo", question=question, systems=systems, answer="a", right=right)

    dense_and_bm25 = (("dense", 1000), ("bm25", 1000))
    grades = [
        grade("1", *dense_and_bm25, right=True),
        grade("2", *dense_and_bm25, right=None),
        grade("3", dense_and_bm25[0], right=False),
        grade("3", dense_and_bm25[1], right=True),
    ]
    rows: dict[str, Any] = {each.system: each for each in shares_of(grades)}
    assert [rows["dense"].right, rows["dense"].unknown, rows["dense"].wrong] == pytest.approx([1 / 3] * 3)
    assert [rows["bm25"].right, rows["bm25"].unknown, rows["bm25"].wrong] == pytest.approx([2 / 3, 1 / 3, 0])
    assert rows["bm25"].questions == 3


def test_questions_are_picked_in_proportion() -> None:
    """Remainders go to the largest; groups of one size differ by at most one."""
    assert shares({1: 5, 2: 3, 3: 1}, 3) == {1: 2, 2: 1, 3: 0}
    assert spread(100, 3) == [34, 33, 33]
    with pytest.raises(ValueError, match="there are 9"):
        shares({1: 9}, 10)


def test_prompts_about_nothing_are_not_picked() -> None:
    """The first wanted memory of a prompt is a fact or a rule."""
    world = {
        "id": "shop",
        "memories": [{"id": "f1", "type": "fact"}, {"id": "e1", "type": "episode"}],
        "prompts": [
            {"id": "p1", "wanted": []},
            {"id": "p2", "wanted": ["e1"]},
            {"id": "p3", "wanted": ["f1"]},
        ],
    }
    assert [each["id"] for each in pick_prompts(world, 1)] == ["p3"]
    with pytest.raises(ValueError, match="cannot pick 2 prompts of shop"):
        pick_prompts(world, 2)


def test_a_hundred_tasks_come_from_ten_worlds(tmp_path: Path) -> None:
    """Each task has the text of its decisive memory."""
    turns = [{"dia_id": f"D1:{at}", "speaker": "Ann", "text": f"It is {at}."} for at in range(200)]
    questions = [
        {"question": f"What is {at}?", "answer": at, "evidence": [f"D1:{at}"], "category": 1 + at % 4}
        for at in range(200)
    ]
    spoken = {"session_1": turns, "session_1_date_time": "1:56 pm on 8 May, 2023"}
    data = tmp_path / "locomo.json"
    data.write_text(
        json.dumps([{"sample_id": "conv-1", "conversation": spoken, "qa": questions}]), encoding="utf-8"
    )
    picks = all_questions(data).values()
    tasks = [each for each in picks if each.set == "worlds"]
    assert len(picks) == 300
    assert len({each.name.split(":")[0] for each in tasks}) == 10
    assert all(each.gold and all(each.gold) for each in picks)
