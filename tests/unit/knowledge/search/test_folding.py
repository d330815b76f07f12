"""Repetitions folded."""

from datetime import timedelta
from uuid import UUID

import pytest

from commonplace.knowledge.model.kinds import Fact, Rule
from commonplace.knowledge.search.deduplication import folded
from commonplace.knowledge.search.results import Scores, SearchResult
from support.memories import NOW, a_fact, a_rule, an_episode

OLD = NOW - timedelta(days=9)


def contents(*memories: Fact | Rule, scoped: bool = True) -> list[str]:
    """The texts that are left, in their order."""
    found = [SearchResult(memory=memory, scores=Scores()) for memory in memories]
    return [each.memory.content for each in folded(found, scoped=scoped)]


@pytest.mark.requirement("RCL-03.1")
def test_one_text_is_shown_once() -> None:
    """Whatever its spaces and capitals; facts about two subjects say two things."""
    assert contents(a_rule(content="Ask first"), a_rule(id=UUID(int=2), content="ask  first")) == [
        "Ask first"
    ]
    assert contents(a_fact(subject="a"), a_fact(subject="b")) == ["listens on 8080"] * 2


@pytest.mark.requirement("TRU-01.1")
@pytest.mark.parametrize(
    ("one", "other"),
    [("likes", "allergic_to"), ("min", "max"), ("reads", "writes"), ("sends to", "receives from")],
)
def test_another_relation_says_another_thing(one: str, other: str) -> None:
    """An allergy is never hidden behind a wish for the same thing."""
    facts = [a_fact(id=UUID(int=place), predicate=name) for place, name in enumerate((one, other))]
    assert len(contents(*facts)) == len(contents(*facts, scoped=False)) == 2


def test_equal_episodes_are_two_events() -> None:
    """A rule that repeats an episode stands beside them."""
    text = "Ask first"
    found = [an_episode(content=text), an_episode(id=UUID(int=2), content=text), a_rule(content=text)]
    assert len(folded([SearchResult(memory=each, scores=Scores()) for each in found], scoped=False)) == 3


@pytest.mark.requirement("RCL-03.1")
@pytest.mark.parametrize("own_at", [NOW, OLD])
def test_of_one_key_the_newest_fact_is_shown(own_at: object) -> None:
    """A scope's own and a global one disagree."""
    own = a_fact(content="own", scope="ops", created_at=own_at)
    common = a_fact(id=UUID(int=2), content="global", created_at=NOW - timedelta(days=1))

    assert contents(own, common) == contents(common, own) == (["own"] if own_at == NOW else ["global"])
    assert len(contents(own, common, scoped=False)) == 2


@pytest.mark.requirement("RCL-03.1")
def test_spellings_of_one_key_are_one_key() -> None:
    """Case, separators and a leading article do not tell keys apart."""
    old = a_fact(subject="staging db", predicate="uses_port", content="old", created_at=OLD)
    new = a_fact(
        id=UUID(int=2), subject="The staging DB", predicate="uses port", content="new", created_at=NOW
    )
    assert contents(old, new) == ["new"]
    assert len(contents(old, new, scoped=False)) == 2


@pytest.mark.requirement("RCL-03.1")
def test_of_facts_as_old_the_scope_s_own_is_shown() -> None:
    """It was stored for such prompts."""
    assert contents(a_fact(content="global"), a_fact(id=UUID(int=2), content="own", scope="ops")) == ["own"]
