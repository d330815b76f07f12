"""Errors about the present state of an item."""

from http import HTTPStatus

import pytest

from commonplace.core.errors import ConflictError, InvalidInputError, UndoRefusedError
from commonplace.web.http.problems import problem_of

WORDS = "Review 3 is not decided yet, so there is nothing to undo."


def test_a_conflict_says_what_the_state_is() -> None:
    """The message is the sentence alone; callers may catch it as they caught it before."""
    error = ConflictError("review", WORDS, 3)
    assert str(error) == WORDS
    assert isinstance(error, InvalidInputError)
    assert isinstance(error, ValueError)


@pytest.mark.parametrize(
    "error",
    [
        ConflictError("review_id", WORDS, 3),
        UndoRefusedError("review_id", "the retry", "a run has taken it", 3),
    ],
)
def test_a_conflict_is_a_problem_of_its_own_kind(error: ConflictError) -> None:
    """The request is well formed, so the problem names its field and no other form of the value."""
    problem = problem_of(error)
    assert (problem.type, problem.status) == ("/docs#state-conflict", HTTPStatus.CONFLICT)
    assert (problem.detail, problem.field, problem.got) == (str(error), "reviewId", "3")
    assert problem.expected is None
