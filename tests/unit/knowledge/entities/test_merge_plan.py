"""What a merge does to facts, and that it can be taken back."""

import json
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.core.json_values import json_safe
from commonplace.knowledge.rules.merge_plan import (
    FactChange,
    FactState,
    MergedFields,
    plan_merge,
    plan_unmerge,
)

SOURCE, TARGET = UUID(int=1), UUID(int=2)
OTHER_VALIDITIES = ("superseded", "expired", "retracted")


def fact(
    number: int,
    entity: UUID,
    predicate: str = "likes",
    *,
    confidence: float = 1.0,
    validity: str = "active",
    scope: str = "global",
    supersedes: UUID | None = None,
) -> FactState:
    """Return a fact."""
    place = MergedFields(entity_id=entity, validity=validity, supersedes_id=supersedes)
    return FactState(
        id=UUID(int=number), place=place, scope=scope, predicate=predicate, confidence=confidence
    )


def applied(facts: list[FactState], changes: tuple[FactChange, ...]) -> list[FactState]:
    """Return facts after changes."""
    after = {change.fact_id: change.after for change in changes}
    return [
        FactState(
            id=each.id,
            place=after.get(each.id, each.place),
            scope=each.scope,
            predicate=each.predicate,
            confidence=each.confidence,
        )
        for each in facts
    ]


@st.composite
def facts_of_two(draw: st.DrawFn) -> list[FactState]:
    """Facts of both entities as the database allows them: one active for a scope and predicate of each."""
    facts: list[FactState] = []
    taken: set[tuple[UUID, str, str]] = set()
    for number in range(10, 10 + draw(st.integers(0, 14))):
        entity = draw(st.sampled_from((SOURCE, TARGET)))
        scope, predicate = draw(st.sampled_from("gh")), draw(st.sampled_from("xyz"))
        key = (entity, scope, predicate)
        validity = draw(st.sampled_from(("active", *OTHER_VALIDITIES)))
        if validity == "active" and key in taken:
            validity = "superseded"
        taken |= {key} if validity == "active" else set()
        older = draw(st.sampled_from((None, *(each.id for each in facts))))
        confidence = draw(st.sampled_from((0.2, 0.5, 1.0)))
        facts.append(
            fact(
                number,
                entity,
                predicate,
                scope=scope,
                validity=validity,
                confidence=confidence,
                supersedes=older,
            )
        )
    return facts


@pytest.mark.requirement("KNW-18.2")
@pytest.mark.parametrize(("mine", "theirs", "wins"), [(0.9, 0.5, True), (0.5, 0.5, False), (0.4, 0.5, False)])
def test_the_more_confident_fact_stays(mine: float, theirs: float, *, wins: bool) -> None:
    """The source's only if it is more confident; the loser is superseded by the winner, both on the target."""
    facts = [fact(10, SOURCE, confidence=mine), fact(11, TARGET, confidence=theirs)]
    plan = plan_merge(SOURCE, TARGET, facts)
    ours, rival = (each.place for each in applied(facts, plan.changes))
    winner, loser = (ours, rival) if wins else (rival, ours)
    assert (winner.validity, loser.validity) == ("active", "superseded")
    assert winner.supersedes_id == (facts[1].id if wins else facts[0].id)
    assert ours.entity_id == rival.entity_id == TARGET
    assert (plan.repointed, len(plan.supersessions), plan.history) == (int(wins), 1, 0)


@pytest.mark.requirement("KNW-18.1")
@given(facts=facts_of_two())
def test_a_merge_leaves_one_active_fact_a_key_and_nothing_behind(facts: list[FactState]) -> None:
    """Every fact is the target's, no key has two active facts, and none that had one has none."""
    plan = plan_merge(SOURCE, TARGET, facts)
    after = applied(facts, plan.changes)
    assert all(each.place.entity_id == TARGET for each in after)
    keys = [(each.scope, each.predicate) for each in after if each.is_active]
    assert len(keys) == len(set(keys))
    assert set(keys) == {(each.scope, each.predicate) for each in facts if each.is_active}
    active = [each for each in facts if each.is_active]
    assert len(active) - len(keys) == len(plan.supersessions)
    best = {
        key: max(each.confidence for each in active if (each.scope, each.predicate) == key) for key in keys
    }
    assert all(best[each.scope, each.predicate] == each.confidence for each in after if each.is_active)


@given(facts=facts_of_two())
def test_taking_a_merge_back_gives_the_facts_of_before(facts: list[FactState]) -> None:
    """Merge and unmerge together change nothing; the record survives JSON."""
    plan = plan_merge(SOURCE, TARGET, facts)
    record = [FactChange.from_json(json.loads(json.dumps(json_safe(change)))) for change in plan.changes]
    back = plan_unmerge(record, applied(facts, plan.changes))
    assert (back.kept, back.conflicts) == ((), ())
    assert applied(applied(facts, plan.changes), back.changes) == facts


def test_what_was_changed_since_stays() -> None:
    """A loser that was retracted later stays retracted, and goes home; a fact that is gone is named."""
    facts = [fact(10, SOURCE, confidence=0.4), fact(11, TARGET), fact(12, SOURCE, "owns")]
    plan = plan_merge(SOURCE, TARGET, facts)
    later = applied(facts, plan.changes)[:2]
    later[0] = fact(10, TARGET, confidence=0.4, validity="retracted")
    back = plan_unmerge(plan.changes, later)
    home, rival = applied(later, back.changes)
    assert home.place == MergedFields(entity_id=SOURCE, validity="retracted", supersedes_id=None)
    assert rival.place == facts[1].place
    assert back.kept == (f"validity of fact {facts[0].id}", f"fact {facts[2].id} no longer exists")
    assert back.conflicts == ()


def test_a_fact_stored_since_is_in_the_way() -> None:
    """The target's fact cannot come back where a newer one holds its key."""
    facts = [fact(10, SOURCE, confidence=0.9), fact(11, TARGET, confidence=0.5)]
    plan = plan_merge(SOURCE, TARGET, facts)
    winner, loser = applied(facts, plan.changes)
    superseded = fact(
        10, TARGET, confidence=0.9, validity="superseded", supersedes=winner.place.supersedes_id
    )
    newer = fact(12, TARGET, supersedes=winner.id)
    back = plan_unmerge(plan.changes, [superseded, loser, newer])
    (reason,) = back.conflicts
    assert str(newer.id) in reason
    assert str(loser.id) in reason
