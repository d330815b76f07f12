"""Digests that contradict or repeat each other, and what a contradiction outdates."""

from collections.abc import Sequence
from datetime import timedelta
from itertools import combinations
from string import ascii_lowercase

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from commonplace.apps.model.memories import Digest
from commonplace.apps.rules.conflicts import MOST_READ_CHARS, MOST_READ_OF_NEW_CHARS, find_conflicts
from commonplace.apps.rules.repetitions import find_repetition
from commonplace.core.errors import ModelMissingError
from commonplace.judge import Verdict, judge
from commonplace.judge.network import PairNetwork
from commonplace.judge.stances import CHARS_OF_PAIR
from support.apps import MOMENT, memory
from support.judging import CHANCES, DecidedNetwork, decide

PORT, OTHER_PORT = "The shop runs on port 8080.", "The shop runs on port 9090."

EVENTS = (
    ("Dentist on 3 May at 9:00.", "Dentist on 12 June at 9:00."),
    ("Haircut on 4 May at 16:00.", "Haircut on 8 June at 16:30."),
    ("Flight to Rome on 3 May at 7:10.", "Flight to Rome on 9 October at 7:10."),
    ("Booked the hotel in Rome for 3 May.", "Booked the hotel in Rome for 9 October."),
    ("Dinner with Ana on 5 May.", "Dinner with Ana on 19 May."),
    ("Parents' evening on 3 March.", "Parents' evening on 9 November."),
    ("Call with the tax adviser on 2 April at 10:00.", "Call with the tax adviser on 30 April at 10:00."),
    ("Paid the rent on 1 May.", "Paid the rent on 1 June."),
    ("Blood test on 2026-03-02.", "Blood test on 2026-09-07."),
    ("The cleaner comes on 3 May.", "The cleaner comes on 17 May."),
    ("Ran 5 km on 3 May.", "Ran 6 km on 20 September."),
    ("Concert tickets for 3 May at 20:00.", "Concert tickets for 28 June at 20:00."),
    ("Zahnarzttermin am 3. Mai um 9 Uhr.", "Zahnarzttermin am 12. Juni um 9 Uhr."),
    ("Elternabend am 3. März um 19 Uhr.", "Elternabend am 9. November um 19 Uhr."),
    ("Flug nach Lissabon am 3. Mai um 7:10.", "Flug nach Lissabon am 9. Oktober um 7:10."),
    ("Hat am 3. Mai die Miete bezahlt.", "Hat am 3. Juni die Miete bezahlt."),
    ("Vuelo a Lima el 3 de mayo.", "Vuelo a Lima el 9 de agosto."),
    ("Cita con el dentista el 3 de mayo a las 9.", "Cita con el dentista el 12 de junio a las 9."),
    ("Rendez-vous chez le dentiste le 3 mai.", "Rendez-vous chez le dentiste le 9 octobre."),
    ("Vol pour Rome le 3 mai à 7h10.", "Vol pour Rome le 9 octobre à 7h10."),
)
"""Two events of one kind; the judge alone takes ten of them for changes."""

CHANGED_DATES = (
    ("The dentist appointment is on 3 May.", "The dentist appointment is on 12 May."),
    ("The Phoenix deadline is 2026-11-01.", "The Phoenix deadline is 2026-12-01."),
    ("The wedding of Ana is on 5 June.", "The wedding of Ana is on 12 June."),
    ("The contract ends on 3 May.", "The contract ends on 30 June."),
    ("The passport expires on 3 May 2027.", "The passport expires on 3 May 2031."),
    ("Emma's birthday is 4 March.", "Emma's birthday is 14 March."),
    ("The release ships on 3 May.", "The release ships on 17 May."),
    ("Die Hochzeit ist am 3. Mai.", "Die Hochzeit ist am 10. Mai."),
    ("Der Vertrag endet am 3. Mai.", "Der Vertrag endet am 30. Juni."),
    ("La boda es el 3 de mayo.", "La boda es el 10 de mayo."),
    ("Le mariage est le 3 mai.", "Le mariage est le 10 mai."),
    ("Term starts on 3 September.", "Term starts on 10 September."),
)
"""One thing whose date changed; the judge alone finds eleven of them."""


def later(number: int, content: str, *, days: int = 1) -> Digest:
    """Return a memory of a later day."""
    return memory(number, content, created_at=MOMENT + timedelta(days=days))


def contradicts(older: str, newer: str) -> bool:
    """Return whether the digests contradict each other."""
    return bool(find_conflicts([memory(1, older), later(2, newer)]))


@pytest.mark.requirement("APP-16.8", "JDG-06")
@pytest.mark.parametrize(
    ("older", "newer"),
    [
        (PORT, OTHER_PORT),
        ("The export works with large files.", "The export does not work with large files."),
        ("Fine. Meetings start at 2pm.", "Meetings start at 4pm. Fine."),
        ("Lunch with Ida is at 12:00.", "Lunch with Ida has been moved to 13:00."),
        ("El alquiler del local es de 700 euros.", "El alquiler del local es ahora de 750 euros."),
        ("Reports are written with Calcus.", "Reports are now written with Tabula."),
    ],
)
def test_clear_contradictions(older: str, newer: str) -> None:
    """By number, denial, time, date and tool, wherever the statement stands."""
    assert contradicts(older, newer)


@pytest.mark.requirement("APP-16.8", "JDG-06")
@pytest.mark.parametrize(
    ("older", "newer"),
    [
        (PORT, PORT),
        (PORT, "The wiki runs on port 9090."),
        ("Service 5 was slow.", "Service 6 was slow."),
        ("User prefers tea.", "The deadline is not fixed."),
        ("The limit of the blue card is 300.", "The limit of the red card is 500."),
        ("Bea's lesson is on Mondays at 16:00.", "Leo's lesson is on Fridays at 17:00."),
        ("The train to Ulm leaves at 9:05.", "The train to Basel now leaves at 10:12."),
        ("His sister lives in Oslo.", "The customer has moved and lives in Bergen now."),
    ],
)
def test_digests_about_other_things_stand_side_by_side(older: str, newer: str) -> None:
    """The names tell them apart."""
    assert not contradicts(older, newer)


@pytest.mark.requirement("APP-16.8", "DIG-03.1")
@pytest.mark.parametrize(("older", "newer"), EVENTS)
def test_a_date_alone_is_another_event(older: str, newer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if the judge takes it for a correction."""
    decide(monkeypatch, {(older, newer): Verdict.CORRECT})
    assert not contradicts(older, newer)


@pytest.mark.requirement("APP-16.8", "DIG-03.1")
def test_another_date_of_one_thing_is_found() -> None:
    """If the statements say that it is on that date; "ends on" may be another event."""
    assert sum(contradicts(older, newer) for older, newer in CHANGED_DATES) >= 7


@pytest.mark.requirement("APP-16.8")
def test_a_conflict_names_the_older_and_the_newer() -> None:
    """By the time of the last change, not by the id; with both statements, what differs, and how certain it is."""
    old = memory(2, f"Ada likes tea. {PORT}")
    (conflict,) = find_conflicts([later(1, OTHER_PORT), memory(3), old])
    assert (conflict.older.id, conflict.newer.id, conflict.sentence) == (2, 1, PORT)
    assert conflict.reason.startswith(f'"{PORT}", "{OTHER_PORT}": The new text corrects the old one (')
    assert '"8080" against "9090"' in conflict.reason
    assert 0.9 < conflict.probability <= 1


@pytest.mark.requirement("APP-16.8")
def test_the_most_certain_conflict_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever digest is newest; each pair of digests is named once."""
    tea = "Ada likes green tea. Ada likes black tea."
    newest = "Ada hates green tea and black tea."
    decide(
        monkeypatch,
        {
            ("Ada likes green tea.", newest): (0.02, 0.02, 0.94, 0.02),
            ("Ada likes black tea.", newest): (0.01, 0.02, 0.95, 0.02),
            (PORT, OTHER_PORT): CHANCES[Verdict.CORRECT],
        },
    )
    conflicts = find_conflicts(
        [memory(1, tea), memory(2, PORT), later(3, OTHER_PORT), later(4, newest, days=2)]
    )
    assert [(one.older.id, one.newer.id, one.sentence) for one in conflicts] == [
        (2, 3, PORT),
        (1, 4, "Ada likes black tea."),
    ]


@pytest.mark.requirement("APP-16.8", "DIG-03.1")
def test_a_series_outdates_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A statement that opposes more than two others; two pieces of news of one digest are none."""
    weeks = [f"Finished week {number} of the course." for number in range(1, 5)]
    series = [later(number, text, days=number) for number, text in enumerate(weeks, start=1)]
    decide(monkeypatch, dict.fromkeys(combinations(weeks, 2), Verdict.CORRECT))
    assert find_conflicts(series) == []
    assert len(find_conflicts(series[:3])) == 3
    old = ("The rent is 700 euros.", "The gate code is 4417.", "Ada lives in Ulm.")
    new = ("The rent is 750 euros.", "The gate code is 9921.", "Ada lives in Bern.")
    decide(monkeypatch, dict.fromkeys(zip(old, new, strict=True), Verdict.CORRECT))
    conflicts = find_conflicts([memory(9, " ".join(old)), later(10, " ".join(new))])
    assert [(one.older.id, one.newer.id) for one in conflicts] == [(9, 10)]


@pytest.mark.requirement("APP-16.8")
def test_only_pairs_with_a_new_digest_are_compared_if_it_is_named() -> None:
    """The receipt of a digest does not tell of others."""
    memories = [memory(1, PORT), later(2, OTHER_PORT), later(3, "Ada likes tea.", days=2)]
    assert find_conflicts(memories, memories[2]) == []
    assert len(find_conflicts(memories, memories[1])) == 1


@pytest.mark.requirement("APP-16.8", "JDG-06")
def test_the_newest_digests_are_compared_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten digests of ten similar statements would be 4,500 comparisons."""
    compared: list[tuple[str, str]] = []

    class CountingNetwork(DecidedNetwork):
        def chances(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
            compared.extend(pairs)
            return super().chances(pairs)

    network = CountingNetwork({})
    monkeypatch.setattr(judge, "opens", lambda: network)
    letters = ascii_lowercase[:10]
    memories = [
        later(number, "; ".join(f"Ada likes {letter}{part}" for part in range(10)), days=number)
        for number, letter in enumerate(letters, start=1)
    ]
    for new, most_chars in ((None, MOST_READ_CHARS), (memories[-1], MOST_READ_OF_NEW_CHARS)):
        compared.clear()
        find_conflicts(memories, new)
        read = sum(len(old) + len(corrected) + CHARS_OF_PAIR for old, corrected in compared)
        assert most_chars - 100 <= read <= most_chars
        assert all(" j" in corrected for _, corrected in compared)


@pytest.mark.requirement("APP-16.8", "JDG-06")
def test_without_weights_nothing_contradicts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Digests in equal words repeat each other all the same."""

    def missing() -> PairNetwork:
        raise ModelMissingError("no weights")

    monkeypatch.setattr(judge, "opens", missing)
    assert not contradicts(PORT, OTHER_PORT)
    assert find_repetition([memory(1, PORT), memory(2, PORT)])


@given(st.text(max_size=100))
def test_no_text_contradicts_itself(text: str) -> None:
    """Whatever it says."""
    assert not contradicts(text, text)


SHORT = "Deploys of the shop happen on Tuesdays"
LONG = "Deploys of the shop happen on Tuesdays, always."
REWORDED = "The shop ships on a Tuesday."


@pytest.mark.requirement("DIG-03.1", "JDG-06")
@pytest.mark.parametrize(
    ("older", "newer", "verdict", "gone"),
    [
        (SHORT, LONG, Verdict.SAME, 1),
        (LONG, SHORT, Verdict.SAME, 2),
        (SHORT, REWORDED, Verdict.SAME, 2),
        (SHORT, LONG, Verdict.REFINE, 1),
        (SHORT, REWORDED, Verdict.REFINE, None),
        (SHORT, LONG, (0.9, 0.04, 0.03, 0.03), 1),
        (SHORT, REWORDED, (0.9, 0.04, 0.03, 0.03), None),
        (SHORT, LONG, Verdict.CORRECT, None),
        (SHORT, LONG, Verdict.DISTINCT, None),
        (SHORT, LONG, Verdict.DOUBTFUL, None),
    ],
)
def test_a_repetition(
    older: str,
    newer: str,
    verdict: Verdict | tuple[float, float, float, float],
    gone: int | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of two that are certainly the same, or of which one has nearly all words of the other, one says less and goes."""
    decide(monkeypatch, {(older, newer): verdict})
    repetition = find_repetition([memory(1, older), later(2, newer)])
    assert (repetition and repetition.gone.id) == gone


@pytest.mark.requirement("DIG-03.1", "JDG-06")
@pytest.mark.parametrize(
    ("older", "newer", "repeats"),
    [
        (
            "Packages go to the parcel shop Yilmaz when nobody is at home.",
            "If nobody is at home, packages should go to the parcel shop Yilmaz.",
            True,
        ),
        ("Likes it spicy.", "The user likes it spicy, does not eat pork and loves aubergine.", True),
        ("Tom is allergic to walnuts and eggs.", "Tim is allergic to walnuts and eggs.", False),
        ("The parcel for Ada goes to gate 4.", "The parcel for Ada goes to gate 5.", False),
        ("Meat is fine for the whole family.", "Meat is not fine for the whole family, ever.", False),
    ],
)
def test_likeness_alone_is_no_repetition(older: str, newer: str, *, repeats: bool) -> None:
    """Another name, another number or a denial says something else."""
    assert bool(find_repetition([memory(1, older), later(2, newer)])) is repeats


@pytest.mark.requirement("DIG-03.1", "JDG-06")
def test_a_part_that_is_repeated_takes_no_other_along(monkeypatch: pytest.MonkeyPatch) -> None:
    """Digests without a model join their statements with semicolons; the judge would compare each of them."""
    seat, rent, newer = (
        "Prefers an aisle seat",
        "The rent is 700 euros.",
        "Prefers an aisle seat in planes and trains.",
    )
    decide(
        monkeypatch,
        {
            (seat, newer): Verdict.SAME,
            (f"{seat}; {rent}", newer): Verdict.DISTINCT,
            (f"{seat}. {rent}", newer): Verdict.DISTINCT,
        },
    )
    assert find_repetition([memory(1, f"The user: {seat}; {rent}"), later(2, f"The user: {newer}")]) is None
