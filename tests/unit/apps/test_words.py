"""Importance, search by words, and metadata."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.apps.model.memories import Metadata
from commonplace.apps.rules.importance import assess
from commonplace.apps.rules.search import by_words
from commonplace.apps.rules.vectors import cosine, to_bytes
from support.apps import memory


@pytest.mark.requirement("APP-16.1")
def test_what_matters_more_scores_more() -> None:
    """Small talk nothing, a plain fact 3, a preference more, a decision with a deadline still more."""
    small_talk = assess("Hello! How can I help you today?")
    fact = assess("The office has a garden.")
    preference = assess("The user prefers tea.")
    rich = assess("We decided to prefer tea until 2026-05-01.")
    assert small_talk.importance == 0
    assert fact.importance == 3
    assert fact.importance < preference.importance < rich.importance <= 10
    assert preference.tags == ("preference",)
    assert {"preference", "decision", "deadline"} <= set(rich.tags)


@pytest.mark.requirement("DIG-03.1")
def test_health_and_constraints_score_more_than_preferences() -> None:
    """In several languages; what was done once is worth less than a plain fact."""
    preference = assess("The user prefers tea.").importance
    for vital in ("Allergic to bee stings.", "Allergisch gegen Bienen.", "No calls before nine, ever."):
        assert assess(vital).importance > preference
    assert assess("Asked how tall the tower was.").importance < assess("The tower is red.").importance


@pytest.mark.requirement("DIG-03.1")
@pytest.mark.parametrize(
    "personal",
    [
        "My new phone number is 0170 1234567.",
        "Meine Tochter Emma ist im Mai 2019 geboren.",
        "Wir ziehen im September nach Leipzig um, neue Adresse: Ringstraße 12.",
    ],
)
def test_where_a_person_lives_and_is_reached_outlives_a_tool(personal: str) -> None:
    """A person cannot be asked for these facts a second time, so they count more."""
    assert assess(personal).importance >= assess("We use 1Password for the team.").importance


@given(st.text(max_size=300))
def test_importance_lies_between_0_and_10(text: str) -> None:
    """For any text."""
    assert 0 <= assess(text).importance <= 10


@pytest.mark.requirement("APP-16.2")
def test_words_find_memories_best_first() -> None:
    """In any case of letters, also within longer words; of equal ones the newest, which is given first."""
    newest, middle, oldest = (
        memory(3, "Deployments happen on Friday."),
        memory(2, "The deploy key is rotated on Friday night."),
        memory(1, "Nothing of it."),
    )
    hits = by_words([newest, middle, oldest], "DEPLOY friday night")
    assert [hit.memory.id for hit in hits] == [2, 3]
    assert hits[0].words == ("deploy", "friday", "night")
    assert [hit.score for hit in hits] == [1.0, 0.6667]
    assert by_words([newest], " , ") == []


@pytest.mark.requirement("APP-16.2")
@pytest.mark.parametrize(
    ("content", "query"), [("数据库在星期五备份。", "备份数据库"), ("회의는 오후입니다", "회의")]
)
def test_text_without_blanks_is_found(content: str, query: str) -> None:
    """Chinese and Korean, in another order of words too."""
    assert by_words([memory(1, content)], query)


@pytest.mark.requirement("APP-01.3")
def test_metadata_reads_the_specified_keys_and_keeps_others() -> None:
    """Importance is clamped to 0 to 10; lists lose doubles."""
    text = '{"importance": 12, "tags": ["a", "b", "a"], "relatedConversations": ["c-2"], "mood": "good"}'
    metadata = Metadata.from_json(text)
    assert metadata.importance == 10
    assert metadata.tags == ("a", "b")
    assert json.loads(metadata.to_json()) == {
        "mood": "good",
        "importance": 10.0,
        "tags": ["a", "b"],
        "relatedConversations": ["c-2"],
    }


@pytest.mark.requirement("APP-01.3")
@pytest.mark.parametrize(
    "text",
    [None, "", "no json", "[1]", '{"importance": "high", "tags": "a", "model": 3}', '{"importance": NaN}'],
)
def test_metadata_of_another_shape_counts_as_unknown(text: str | None) -> None:
    """Another program may have written it."""
    assert Metadata.from_json(text) == Metadata()


@given(
    st.lists(st.floats(-1, 1, width=32), min_size=2, max_size=8).filter(lambda one: math.hypot(*one) > 0.01)
)
def test_a_stored_vector_is_like_itself(vector: list[float]) -> None:
    """The cosine of length 1 with itself is 1; with its opposite, -1."""
    length = math.hypot(*vector)
    unit = [value / length for value in vector]
    assert cosine(to_bytes(unit), to_bytes(unit)) == pytest.approx(1, abs=1e-5)
    assert cosine(to_bytes(unit), to_bytes([-value for value in unit])) == pytest.approx(-1, abs=1e-5)
    assert cosine(to_bytes(unit), b"") == 0


@pytest.mark.requirement("DIG-03.1")
def test_what_is_over_is_worth_less_than_what_holds() -> None:
    """Unless it began something."""
    holds = assess("Invoices go to the office in Leeds.").importance
    assert assess("Was curious how tall the tower is.").importance < holds
    assert assess("The user greeted the assistant.").importance < holds
    assert assess("Moved to the second floor.").importance >= holds


@pytest.mark.requirement("APP-16.1")
def test_an_appointment_with_a_person_is_no_identity() -> None:
    """It matters less than the birth of a child; whose doctor somebody is still counts."""
    appointment = assess("Book the Tuesday slot. Booked for Tuesday 10:00 with Dr. Weiss.")
    assert "identity" not in appointment.tags
    assert appointment.importance < assess("My daughter Mia was born on 3 May 2019.").importance
    assert "identity" in assess("Our doctor is Dr. Weiss.").tags
