"""Which ideas an observation affirms, and which it denies."""

import pytest

from commonplace.operational.judge.observations import analyse

pytestmark = pytest.mark.requirement("R-OPS-5")


def poles(text: str) -> dict[str, int]:
    """Return the pole of each concept of a text."""
    return {word.concept: word.pole for word in analyse(text).words}


@pytest.mark.parametrize(
    ("text", "concept", "pole"),
    [
        ("Restart fails", "SUCCESS", -1),
        ("Restart never fails", "SUCCESS", 1),
        ("Restart succeeds", "SUCCESS", 1),
        ("Restart does not work", "SUCCESS", -1),
        ("Reload is unsafe", "SAFE", -1),
        ("Reload isn't safe", "SAFE", -1),
        ("Requires Redis", "NEED", 1),
        ("Does not require Redis", "NEED", -1),
        ("Is independent of Redis", "NEED", -1),
        ("Logging is turned off", "ENABLE", -1),
        ("Recovers by itself", "AUTOMATIC", 1),
        ("Is removed by hand", "AUTOMATIC", -1),
        ("Runs without Redis", "redis", -1),
        ("Cannot start without Redis", "redis", 1),
        ("Cannot start without Redis", "start", 1),
        ("Does not start if Redis is not there", "start", 1),
        ("Does not start when Redis is down", "AVAILABLE", 1),
        ("Is no longer encrypted", "ENCRYPT", -1),
        ("Backups are kept", "KEEP", 1),
        ("Sessions are lost", "KEEP", -1),
    ],
)
def test_reads_the_pole_of_an_idea(text: str, concept: str, pole: int) -> None:
    """Poles of words and negators combine."""
    assert poles(text)[concept] == pole


def test_a_negator_at_the_end_turns_the_word_before() -> None:
    """In "Restart needed: no" the need is denied."""
    assert poles("Restart needed: no")["NEED"] == -1


def test_a_negator_turns_one_idea_only() -> None:
    """What stands beyond the governed word stays affirmed."""
    assert poles("Does not require Redis for sessions") == {"NEED": -1, "redis": 1, "session": 1}


def test_a_denied_word_is_quoted_with_its_negator() -> None:
    """The reason of a judgement can quote "not require"."""
    assert "not require" in {word.text for word in analyse("Does not (not) require, not require").words}
