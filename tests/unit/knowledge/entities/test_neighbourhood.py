"""What facts and hints say about which entity is meant."""

from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.core.errors import InvalidInputError
from commonplace.knowledge.rules.neighbourhood import (
    MAX_BOOST,
    keywords,
    neighbourhood_boost,
    require_hints,
)


@pytest.mark.requirement("KNW-17.5")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("works_on: the Payments-API", {"works", "payments", "api"}),
        ("He is at an ÜBUNG with them", {"übung"}),
        ("田中さん", {"田中さん", "田中", "中さ", "さん"}),
        ("", set[str]()),
    ],
)
def test_keywords(text: str, expected: set[str]) -> None:
    """Words of three letters and more that tell something, split at underscores, and pairs of unspaced scripts."""
    assert keywords(text) == expected


@pytest.mark.requirement("KNW-17.5")
def test_the_boost_is_the_jaccard_overlap() -> None:
    """Two of four words are shared: half of twenty."""
    terms = keywords("chess tournament Oslo")
    assert neighbourhood_boost(["plays", "chess", "Oslo"], terms) == pytest.approx(20.0 * 2 / 4)
    assert neighbourhood_boost(["chess oslo tournament"], terms) == MAX_BOOST
    assert neighbourhood_boost(["gardening"], terms) == 0.0
    assert neighbourhood_boost([], frozenset()) == 0.0


@pytest.mark.requirement("KNW-17.5")
@given(texts=st.lists(st.text(max_size=40), max_size=6), topic=st.text(max_size=40))
def test_the_boost_stays_within_its_bounds(texts: list[str], topic: str) -> None:
    """Whatever is said, 0.0 to 20.0."""
    assert 0.0 <= neighbourhood_boost(texts, keywords(topic)) <= MAX_BOOST


@pytest.mark.requirement("KNW-17.5", "KNW-17.6")
def test_hints_are_read() -> None:
    """Topic and mentions become terms, domain scores are keyed by id; a single mention needs no list."""
    kim = uuid4()
    hints = require_hints(
        {"topic": "chess", "mentioned_with": ["Ann Smith", "Oslo"], "domain_scores": {str(kim): 5, kim: -1.5}}
    )
    assert hints.terms == {"chess", "ann", "smith", "oslo"}
    assert hints.domain_scores == {kim: -1.5}
    assert require_hints({"mentioned_with": "Ann"}).terms == {"ann"}
    assert require_hints(None) == require_hints({}) == require_hints({"topic": None})


@pytest.mark.requirement("KNW-17.5", "KNW-17.6")
@pytest.mark.parametrize(
    ("hints", "field"),
    [
        ("chess", "context_hints"),
        ({"topics": "chess"}, "context_hints"),
        ({"topic": ["chess"]}, "context_hints.topic"),
        ({"topic": "x" * 3000}, "context_hints.topic"),
        ({"mentioned_with": ["Ann", 7]}, "context_hints.mentioned_with"),
        ({"mentioned_with": ["x"] * 101}, "context_hints.mentioned_with"),
        ({"domain_scores": [1]}, "context_hints.domain_scores"),
        ({"domain_scores": {"kim": 1}}, "context_hints.domain_scores"),
        ({"domain_scores": {str(UUID(int=1)): "5"}}, "context_hints.domain_scores"),
        ({"domain_scores": {str(UUID(int=1)): True}}, "context_hints.domain_scores"),
        ({"domain_scores": {str(UUID(int=1)): float("inf")}}, "context_hints.domain_scores"),
        ({"domain_scores": {str(UUID(int=1)): 10**400}}, "context_hints.domain_scores"),
    ],
)
def test_hints_of_another_form_are_refused(hints: object, field: str) -> None:
    """A hint that cannot be used is an error that names it, not one that is lost."""
    with pytest.raises(InvalidInputError) as refused:
        require_hints(hints)
    assert refused.value.field == field
