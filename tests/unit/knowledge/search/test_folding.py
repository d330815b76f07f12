"""Repetitions folded."""

from datetime import timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.core.sources import Source
from commonplace.knowledge.model.kinds import Fact, Rule
from commonplace.knowledge.model.search_results import Scores, SearchResult
from commonplace.knowledge.rules.deduplication import folded, never_folds
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


def stands(*memories: Fact | Rule, scoped: bool = True) -> dict[int, set[int]]:
    """For each result, the numbers of the memories that it stands for."""
    found = [SearchResult(memory=memory, scores=Scores()) for memory in memories]
    return {
        each.memory.id.int: {other.id.int for other in each.stands_for}
        for each in folded(found, scoped=scoped)
    }


@pytest.mark.requirement("TRU-01.3")
def test_a_result_names_the_memories_that_it_stands_for() -> None:
    """Those with equal words, and those with another value of its key; once, however often results are folded."""
    rules = [a_rule(id=UUID(int=number), content="Ask first") for number in (1, 2)]
    own = a_fact(id=UUID(int=3), content="attic", scope="ops")
    common = a_fact(id=UUID(int=4), content="cellar", created_at=OLD)
    assert stands(*rules, common, own) == {1: {2}, 3: {4}}
    found = [SearchResult(memory=each, scores=Scores()) for each in (*rules, common, own)]
    twice = folded([*folded(found, scoped=True), found[1]], scoped=True)
    assert [each.to_json().get("stands_for") for each in twice] == [
        [{"id": str(UUID(int=2)), "scope": "global", "content": "Ask first"}],
        [{"id": str(UUID(int=4)), "scope": "global", "content": "cellar"}],
    ]


@pytest.mark.requirement("TRU-01.4")
@pytest.mark.parametrize(
    "safety",
    [
        {"predicate": "allergic_to", "content": "peanuts"},
        {"predicate": "allergy", "content": "none known"},
        {"predicate": "Unverträglichkeit", "content": "Laktose"},
        {"predicate": "es", "content": "alérgica a los frutos secos"},
        {"predicate": "deploys", "content": "Never on Fridays"},
        {"predicate": "ports", "content": "8080 must not be exposed"},
        {"predicate": "interdit", "content": "les noix"},
        {"predicate": "zugang", "content": "Darf nicht in den Serverraum"},
        {"predicate": "acesso", "content": "é proibido"},
        {"content": "cellar", "tags": ["pinned"]},
    ],
)
@pytest.mark.parametrize("scoped", [True, False])
def test_pinned_facts_and_facts_of_safety_are_never_folded(
    safety: dict[str, object], *, scoped: bool
) -> None:
    """Whatever is newer, nearer or worded in the same way."""
    safe = a_fact(id=UUID(int=1), created_at=OLD, **safety)
    newer = a_fact(id=UUID(int=2), scope="ops", **{**safety, "content": "attic", "tags": []})
    equal = a_fact(id=UUID(int=3), scope="ops", **{**safety, "tags": []})
    assert 1 in stands(newer, equal, safe, scoped=scoped)
    assert 1 in stands(safe, newer, equal, scoped=scoped)


@pytest.mark.requirement("TRU-01.4")
def test_a_fact_of_safety_has_no_line_beside_a_more_trusted_one() -> None:
    """So that an agent's "no allergies" never stands beside what a person said."""
    said = a_fact(id=UUID(int=1), predicate="allergy", content="peanuts", trust=Source.PERSON)
    poison = a_fact(id=UUID(int=2), predicate="allergy", content="none", trust=Source.WEB, tags=["pinned"])
    assert stands(poison, said, scoped=True) == {1: {2}}
    assert stands(said, poison, scoped=False) == {1: set(), 2: set()}


@pytest.mark.parametrize("content", ["listens on 8080", "likes peanuts", "max 3 retries", "lives in Rome"])
def test_other_facts_are_no_facts_of_safety(content: str) -> None:
    """They fold as before."""
    assert not never_folds(a_fact(content=content))


MEMORIES = st.builds(
    lambda number, subject, predicate, content, scope, tags: a_fact(
        id=UUID(int=number), subject=subject, predicate=predicate, content=content, scope=scope, tags=tags
    ),
    st.integers(1, 10**9),
    st.sampled_from(["Ines", "the Ines", "tent"]),
    st.sampled_from(["likes", "allergic_to", "place"]),
    st.sampled_from(["peanuts", "Peanuts ", "cellar", "never"]),
    st.sampled_from(["global", "ops"]),
    st.sampled_from([[], ["pinned"]]),
)


@pytest.mark.requirement("TRU-01.3", "TRU-01.4")
@given(st.lists(MEMORIES, max_size=8, unique_by=lambda fact: fact.id), st.booleans())
def test_no_memory_vanishes(memories: list[Fact], scoped: bool) -> None:  # noqa: FBT001 - hypothesis passes by place
    """Each has a result or is named by one; those that never fold have a result."""
    lines = stands(*memories, scoped=scoped)
    named = [number for numbers in lines.values() for number in numbers]
    assert sorted([*lines, *named]) == sorted(each.id.int for each in memories)
    assert {each.id.int for each in memories if never_folds(each)} <= lines.keys()
