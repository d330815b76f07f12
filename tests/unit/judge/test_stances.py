"""Stances: rules and notes that say the same or the opposite, without a service that says what they are about."""

from collections import Counter
from collections.abc import Sequence
from itertools import combinations, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.judge import (
    Compared,
    Judge,
    Judgement,
    Verdict,
    judge,
    relatives,
    remark,
    without_repetitions,
)
from commonplace.judge.stances import MOST_CHARS, MOST_READ_CHARS, Stance, find_stances
from corpus import KEPT, read_pairs
from support.judging import decide

POSTGRES = (
    "Project uses PostgreSQL 16 on port 5432",
    "The project uses PostgreSQL 16, port 5432",
    "PostgreSQL 16 on port 5432 is what the project uses",
    "This project uses PostgreSQL 16 (port 5432)",
    "We use PostgreSQL 16 on port 5432",
)


def stance(older: str, newer: str) -> Stance:
    """Return the stance of one text on another one."""
    ((found, _),) = find_stances(newer, [older])
    return found


@pytest.mark.requirement("TRU-05", "TRU-05.1")
@pytest.mark.parametrize(
    ("older", "newer", "expected"),
    [
        ("Never deploy on Fridays", "Don't deploy on Fridays", Stance.SAME),
        ("Never deploy on Fridays", "Deploy on Fridays after 14:00", Stance.OPPOSED),
        ("Deploys go out on Tuesday", "Deploys go out on Thursday", Stance.OPPOSED),
        ("Project uses PostgreSQL 16", "Project uses PostgreSQL 17", Stance.OPPOSED),
        ("Never deploy on Fridays", "Never deploy on Mondays", Stance.APART),
        ("Ask before pushing", "The build server is h-7", Stance.APART),
        ("note 1", "note 2", Stance.APART),
        ("fact 7", "fact 17", Stance.APART),
        ("peel kiwi 1", "peel kiwi 2", Stance.APART),
        ("Memory number 12", "Memory number 13.", Stance.APART),
        ("The service listens on 8080", "The service listens on 9090", Stance.OPPOSED),
    ],
)
def test_a_stance_needs_a_shared_claim(older: str, newer: str, expected: Stance) -> None:
    """Another day, another number or another thing is neither a repetition nor a contradiction."""
    assert stance(older, newer) is expected


@pytest.mark.requirement("TRU-05.1")
def test_few_corrections_of_strangers_fold() -> None:
    """Of 1,860 pairs from which nothing was learned: a hidden correction would be a wrong answer."""
    pairs = read_pairs(KEPT)
    found = Counter((stance(pair.old, pair.new), pair.label) for pair in pairs)
    assert found[Stance.SAME, "correct"] <= 2
    assert [found[Stance.SAME, label] for label in ("distinct", "refine")] == [0, 0]
    assert found[Stance.SAME, "same"] >= 40
    assert found[Stance.OPPOSED, "correct"] >= 80
    assert sum(found[Stance.OPPOSED, label] for label in ("same", "distinct", "refine")) <= 26


@pytest.mark.requirement("TRU-05.1")
def test_a_text_has_relatives() -> None:
    """The closest first."""
    older = ["Deploy on Fridays", "The build server is h-7", "Don't deploy on Fridays at all"]
    found = relatives("Never deploy on Fridays", older, str)
    assert found.same == ("Don't deploy on Fridays at all",)
    assert [each.other for each in found.opposed] == ["Deploy on Fridays"]
    assert found.opposed[0].reason.startswith("The new text corrects the old one (9")
    assert found.opposed[0].reason.endswith('%): only the new text says "Never".')


@pytest.mark.requirement("TRU-05.1")
def test_a_series_contradicts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts that each seem to correct all earlier ones are entries of a list."""
    sprints = [f"Sprint {n} ended well" for n in range(1, 5)]
    decide(monkeypatch, dict.fromkeys(combinations(sprints, 2), Verdict.CORRECT))
    assert [len(relatives(sprints[n], sprints[:n], str).opposed) for n in range(4)] == [0, 1, 2, 0]


@pytest.mark.requirement("TRU-05", "TRU-05.3")
def test_five_rewordings_are_one_line() -> None:
    """The first stays, and whatever says something else."""
    candidates = [*POSTGRES[:3], "Project uses PostgreSQL 17 on port 5432", *POSTGRES[3:], "Use make test"]
    assert list(without_repetitions(candidates, str)) == [POSTGRES[0], candidates[3], "Use make test"]


@pytest.mark.requirement("TRU-05.1")
@pytest.mark.parametrize(("lines", "folds"), [(20, True), (100, False)])
def test_a_block_of_hundreds_of_lines_is_compared_up_to_a_limit(lines: int, *, folds: bool) -> None:
    """So that a prompt does not wait for seconds."""
    own = [f"{chr(97 + n // 26)}{chr(97 + n % 26)}word" for n in range(lines)]
    assert (len(list(without_repetitions([*own, POSTGRES[0], POSTGRES[1]], str))) == lines + 1) is folds


@pytest.mark.requirement("TRU-05.1")
def test_a_block_of_one_template_is_compared_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line shares words with all others, and only the first pairs are read."""
    lines = [f"Restart the worker of queue {number} before the nightly import" for number in range(24)]
    decided = dict.fromkeys(permutations(lines, 2), Verdict.DISTINCT)
    read: list[int] = []

    def counted(pairs: Sequence[Compared]) -> list[Judgement]:
        read.extend(len(pair.old) + len(pair.new) for pair in pairs)
        return Judge.compare_all(judge, pairs)

    decide(monkeypatch, decided)
    monkeypatch.setattr(judge, "compare_all", counted)
    assert list(without_repetitions(lines, str)) == lines
    assert MOST_READ_CHARS <= sum(read) < MOST_READ_CHARS + max(read)


@pytest.mark.requirement("TRU-05.1")
def test_long_texts_stand_apart() -> None:
    """A text of many statements is not compared as one."""
    long = "Never deploy on Fridays. " * (MOST_CHARS // 25 + 1)
    assert stance(long, f"{long}Ask first.") is Stance.APART


@given(st.text(max_size=200))
def test_a_text_never_opposes_itself(text: str) -> None:
    """Whatever its script and punctuation."""
    assert stance(text, text) is not Stance.OPPOSED


def test_remarks() -> None:
    """They name the texts, and the review if there is one."""
    assert remark("w:3", same=["w:1"]) == "w:1 says the same in other words; prompts show one of them."
    assert remark("w:3", opposed=["w:1"], item="w:1-w:3") == (
        "w:3 may contradict w:1. Both are kept until you decide: "
        "commonplace review w:1-w:3 same|refines|corrects|distinct"
    )
    several = remark("w:3", same=["w:0", "w:9"], opposed=["w:1", "w:2"], item="w:1-w:3")
    assert several.startswith("w:0 and w:9 say the same")
    assert several.endswith(
        "w:3 may contradict w:1 and w:2. All are kept until you decide: commonplace review"
    )
    assert remark("w:3") == ""
