"""Each row of the table of :func:`decide_supersession`."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from commonplace.core.sources import Source
from commonplace.knowledge.model.fact_drafts import FactDraft
from commonplace.knowledge.model.kinds import Validity
from commonplace.knowledge.model.permanence import DECAY_RATES, Permanence
from commonplace.knowledge.rules.periods import Period
from commonplace.knowledge.rules.supersession import (
    ActiveFact,
    Candidate,
    DraftOutcome,
    Placement,
    decide_supersession,
)

pytestmark = pytest.mark.requirement("FLR-04.1")

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
BEGAN = NOW - timedelta(days=100)
PAST = NOW - timedelta(days=10)
FUTURE = NOW + timedelta(days=10)
OLD, NEW = UUID(int=1), UUID(int=2)
FLAGS = ("addresses_model",)


def active_fact(**changed: Any) -> ActiveFact:  # noqa: ANN401 - of any field
    """Return an active fact of an agent that began 100 days ago; some fields may be changed."""
    values: dict[str, Any] = {
        "id": OLD,
        "content": "Acme",
        "words": "acme",
        "trust": Source.AGENT,
        "is_flagged": False,
        "importance": 5.0,
        "permanence": Permanence.STANDARD,
        "decay_rate": 0.008,
        "tags": (),
        "began_at": BEGAN,
        "valid_to": None,
        "reference_count": 3,
        "last_referenced_at": PAST,
        "last_confirmed_at": BEGAN,
    }
    return ActiveFact(**values | changed)


ACTIVE = active_fact()
PERSONS = active_fact(trust=Source.PERSON)
UNLINKED = active_fact(id=UUID(int=7), words="gamma")


def candidate(words: str = "beta", *, number: int = 2, **changed: Any) -> Candidate:  # noqa: ANN401 - of any field
    """Return a candidate of an agent; fields of the draft and of the candidate may be changed."""
    of_draft = {name: changed.pop(name) for name in changed.keys() & set(FactDraft.__dataclass_fields__)}
    draft = FactDraft(subject="Ann", predicate="works_at", content=words.title(), **{"tags": [], **of_draft})
    values: dict[str, Any] = {
        "id": UUID(int=number),
        "draft": draft,
        "words": words,
        "session_source": Source.AGENT,
    }
    return Candidate(**values | changed)


def decide(words: str = "beta", **changed: Any) -> Placement:  # noqa: ANN401 - of any field
    """Return the placement of a single candidate."""
    (placement,) = decide_supersession([candidate(words, **changed)], NOW)
    return placement


def test_the_first_fact_of_a_key_is_new() -> None:
    """It is stored as the draft says."""
    placement = decide(valid_from=PAST, importance=9.0, permanence="stable", tags=["a"])
    assert (placement.outcome, placement.validity, placement.endings) == (
        DraftOutcome.NEW,
        Validity.ACTIVE,
        (),
    )
    assert (
        placement.draft == candidate(valid_from=PAST, importance=9.0, permanence="stable", tags=["a"]).draft
    )
    assert (placement.decay_rate, placement.reference_count) == (DECAY_RATES[Permanence.STABLE], 0)
    assert (placement.last_confirmed_at, placement.last_referenced_at) == (NOW, None)
    assert (placement.supersedes_id, placement.contradicts_id, placement.current_id) == (None, None, None)


def test_other_words_replace_the_active_fact_and_inherit_nothing() -> None:
    """The active fact ends now."""
    placement = decide(active=active_fact(importance=7.0, tags=("a",), permanence=Permanence.STABLE))
    assert (placement.outcome, placement.validity) == (DraftOutcome.REPLACED, Validity.ACTIVE)
    assert (placement.superseded_id, placement.supersedes_id) == (OLD, OLD)
    assert [(each.id, each.valid_to, each.review_reason) for each in placement.endings] == [(OLD, NOW, None)]
    assert placement.draft == candidate().draft
    assert (placement.reference_count, placement.active_until) == (0, None)


@pytest.mark.parametrize(
    ("began_at", "own_end", "begins", "end"),
    [
        (BEGAN, None, None, NOW),
        (BEGAN, None, PAST, PAST),
        (BEGAN, PAST, None, PAST),
        (PAST, None, BEGAN, PAST),
        (BEGAN, FUTURE, None, NOW),
    ],
)
def test_the_active_fact_ends_where_the_draft_begins(
    began_at: datetime, own_end: datetime | None, begins: datetime | None, end: datetime
) -> None:
    """But not before it began itself, and not after its own end."""
    placement = decide(active=active_fact(began_at=began_at, valid_to=own_end), valid_from=begins)
    assert [each.valid_to for each in placement.endings] == [end]
    assert placement.active_until is None


@pytest.mark.parametrize("words", ["acme", "beta"])
def test_the_active_fact_holds_until_a_draft_of_the_future_begins(words: str) -> None:
    """The receipt says until when, unless the active fact has not begun itself."""
    placement = decide(words, active=ACTIVE, valid_from=FUTURE)
    assert (placement.endings[0].valid_to, placement.active_until) == (FUTURE, FUTURE)
    later = decide(words, active=active_fact(began_at=NOW + timedelta(days=1)), valid_from=FUTURE)
    assert (later.endings[0].valid_to, later.active_until) == (FUTURE, None)


@pytest.mark.parametrize("own_end", [None, NOW, FUTURE])
def test_a_draft_whose_period_ends_before_the_active_fact_is_history(own_end: datetime | None) -> None:
    """The active fact stays as it is, whatever the trust."""
    placement = decide(active=active_fact(trust=Source.PERSON, valid_to=own_end), valid_to=PAST)
    assert (placement.outcome, placement.validity) == (DraftOutcome.HISTORY, Validity.SUPERSEDED)
    assert (placement.current_id, placement.endings, placement.draft.valid_to) == (OLD, (), PAST)


def test_a_later_period_of_the_past_replaces_an_earlier_one() -> None:
    """A period that is over is no history if the active fact ended before."""
    placement = decide(active=active_fact(valid_to=PAST - timedelta(days=1)), valid_to=PAST)
    assert placement.outcome is DraftOutcome.REPLACED
    assert decide(active=active_fact(valid_to=PAST), valid_to=PAST).outcome is DraftOutcome.REPLACED


SAID = Period(words="until 2024", valid_from=None, valid_to=PAST)


@pytest.mark.parametrize(
    ("changed", "outcome"),
    [
        ({"active": active_fact(began_at=PAST)}, DraftOutcome.HISTORY),
        ({"active": ACTIVE}, DraftOutcome.REPLACED),
        ({"active": ACTIVE, "unlinked": (replace(UNLINKED, began_at=PAST),)}, DraftOutcome.HISTORY),
        ({"active": active_fact(began_at=PAST, words="beta")}, DraftOutcome.REPEATED),
        ({}, DraftOutcome.NEW),
    ],
)
def test_words_about_the_past_are_history_beside_a_fact_that_began_later(
    changed: dict[str, Any], outcome: DraftOutcome
) -> None:
    """Only then the draft gets the period, because searches find no fact whose period is over."""
    placement = decide(period=SAID, **changed)
    assert placement.outcome is outcome
    is_history = outcome is DraftOutcome.HISTORY
    assert placement.draft.valid_to == (PAST if is_history else None)
    assert (placement.draft.metadata or {}) == ({"period_words": "until 2024"} if is_history else {})


@pytest.mark.parametrize(
    ("active", "changed", "is_held"),
    [
        (PERSONS, {}, True),
        (ACTIVE, {"source": Source.WEB}, True),
        (ACTIVE, {"episode_trust": Source.WEB}, True),
        (ACTIVE, {"session_source": Source.PERSON, "episode_trust": Source.TOOL}, True),
        (ACTIVE, {"source": Source.PERSON}, False),
        (PERSONS, {"session_source": Source.PERSON}, False),
        (active_fact(trust=Source.WEB), {}, False),
        (ACTIVE, {"flags": FLAGS}, True),
        (active_fact(is_flagged=True), {"flags": FLAGS}, False),
        (ACTIVE, {"flags": FLAGS, "session_source": Source.PERSON}, False),
    ],
)
def test_a_less_trusted_or_flagged_draft_is_held(
    active: ActiveFact, changed: dict[str, Any], *, is_held: bool
) -> None:
    """Beside the active fact, which stays as it is. The least trusted of the sources of a draft counts."""
    placement = decide(active=active, **changed)
    if is_held:
        assert (placement.outcome, placement.validity) == (DraftOutcome.HELD, Validity.HELD)
        assert (placement.contradicts_id, placement.endings) == (OLD, ())
    else:
        assert placement.outcome is DraftOutcome.REPLACED


@pytest.mark.parametrize(("words", "tags"), [("beta", []), ("beta", ["a"]), ("acme", ["a"])])
def test_a_fact_stays_pinned(words: str, tags: list[str]) -> None:
    """The new value of a pinned fact is as important as the old one."""
    placement = decide(words, active=active_fact(tags=("health", "pinned")), tags=tags)
    assert placement.draft.tags == [*tags, "pinned"]
    assert decide(words, active=active_fact(tags=("pinned",)), tags=["pinned"]).draft.tags == ["pinned"]


EARNED = active_fact(
    importance=9.0, permanence=Permanence.PERMANENT, decay_rate=0.0, tags=("health",), valid_to=FUTURE
)


def test_the_same_words_inherit_where_the_draft_has_the_defaults() -> None:
    """References and beginning in any case; the end is that of the draft."""
    placement = decide("acme", active=EARNED)
    assert (placement.outcome, placement.superseded_id) == (DraftOutcome.REPEATED, OLD)
    draft = placement.draft
    assert (draft.importance, draft.permanence, draft.tags) == (9.0, Permanence.PERMANENT, ["health"])
    assert (draft.valid_from, draft.valid_to, placement.decay_rate) == (BEGAN, None, 0.0)
    assert (placement.reference_count, placement.last_referenced_at) == (3, PAST)
    assert (placement.last_confirmed_at, placement.trust) == (NOW, Source.AGENT)
    assert placement.endings[0].valid_to == NOW


def test_the_same_words_keep_what_the_draft_states() -> None:
    """Its own values, except the references."""
    stated: dict[str, Any] = {"importance": 2.0, "permanence": "volatile", "tags": ["a"], "valid_from": PAST}
    placement = decide("acme", active=EARNED, **stated)
    assert placement.draft == candidate("acme", **stated).draft
    assert (placement.decay_rate, placement.reference_count) == (DECAY_RATES[Permanence.VOLATILE], 3)


def test_the_same_words_do_not_end_before_they_begin() -> None:
    """A draft that ends before the active fact began does not inherit that beginning."""
    draft = decide("acme", active=ACTIVE, valid_to=BEGAN).draft
    assert (draft.valid_from, draft.valid_to) == (None, BEGAN)


def test_repeated_words_cannot_end_or_weaken_a_trusted_fact() -> None:
    """They inherit all but the tags, which do not weaken it."""
    trusted = replace(EARNED, trust=Source.PERSON)
    stated: dict[str, Any] = {"importance": 0.0, "permanence": "ephemeral", "tags": ["a"]}
    placement = decide("acme", active=trusted, **stated, valid_from=PAST, valid_to=NOW, flags=FLAGS)
    draft = placement.draft
    assert (draft.importance, draft.permanence, draft.tags) == (9.0, Permanence.PERMANENT, ["a"])
    assert (draft.valid_from, draft.valid_to, placement.decay_rate) == (BEGAN, FUTURE, 0.0)
    assert (placement.source, placement.trust) == (Source.AGENT, Source.PERSON)


@pytest.mark.parametrize(
    ("matters", "reason"),
    [
        ({"permanence": Permanence.PERMANENT, "importance": 9.0}, "the old fact is permanent"),
        ({"importance": 8.0, "tags": ("pinned",)}, "the old fact is important"),
        ({"tags": ("pinned",)}, "the old fact is pinned"),
        ({"importance": 7.9}, None),
    ],
)
def test_a_person_may_keep_a_replaced_fact_that_matters(matters: dict[str, Any], reason: str | None) -> None:
    """Not if it says the same."""
    assert [each.review_reason for each in decide(active=active_fact(**matters)).endings] == [reason]
    assert [each.review_reason for each in decide("acme", active=active_fact(**matters)).endings] == [None]


@pytest.mark.parametrize(
    ("trust", "changed", "is_superseded"),
    [
        (Source.AGENT, {}, True),
        (Source.WEB, {}, True),
        (Source.PERSON, {}, False),
        (Source.PERSON, {"active": PERSONS, "words": "acme"}, True),
        (Source.AGENT, {"active": active_fact(is_flagged=True), "flags": FLAGS}, False),
        (Source.AGENT, {"active": PERSONS}, False),
        (Source.AGENT, {"valid_to": PAST}, False),
    ],
)
def test_an_unlinked_fact_that_is_not_more_trusted_is_superseded_too(
    trust: Source, changed: dict[str, Any], *, is_superseded: bool
) -> None:
    """By a draft that takes the key and has no flags, and without a review."""
    unlinked = replace(UNLINKED, trust=trust, importance=9.0)
    placement = decide(**{"active": ACTIVE, **changed}, unlinked=(unlinked,))
    ends = [each for each in placement.endings if each.id == unlinked.id]
    assert [(each.valid_to, each.review_reason) for each in ends] == ([(NOW, None)] if is_superseded else [])


def test_a_draft_replaces_its_target_unless_it_is_held_or_history() -> None:
    """From where the draft begins, beside the active fact of its own key."""
    target = active_fact(id=UUID(int=8), importance=9.0)
    alone = decide(target=target, valid_from=PAST)
    assert [(each.id, each.valid_to) for each in alone.endings] == [(target.id, PAST)]
    assert [each.valid_to for each in decide(target=target).endings] == [NOW]
    assert (alone.supersedes_id, alone.superseded_id) == (target.id, target.id)
    assert alone.endings[0].review_reason == "the old fact is important"
    both = decide(target=target, active=ACTIVE)
    assert [each.id for each in both.endings] == [OLD, target.id]
    assert [each.id for each in decide(target=ACTIVE, active=ACTIVE).endings] == [OLD]
    assert decide(target=target, active=PERSONS).endings == ()
    assert decide(target=target, active=ACTIVE, valid_to=PAST).endings == ()


@pytest.mark.requirement("JDG-07.3", "LIF-05.1")
@pytest.mark.parametrize("active", [None, ACTIVE])
def test_a_draft_is_held_beside_a_target_that_may_not_give_way(active: ActiveFact | None) -> None:
    """Also in the words of the target, which say something else under another key."""
    trusted = replace(PERSONS, id=UUID(int=8), words="alpha")
    for words in ("alpha", "omega"):
        held = decide(target=replace(trusted, words=words), active=active)
        assert (held.outcome, held.contradicts_id, held.endings) == (DraftOutcome.HELD, trusted.id, ())
        assert held.trust is Source.AGENT
    plain = active_fact(id=UUID(int=8))
    assert decide(target=plain, active=active, flags=FLAGS).contradicts_id == plain.id


@pytest.mark.requirement("JDG-06.4", "LIF-05.1")
@pytest.mark.parametrize("is_target", [False, True])
def test_a_draft_in_other_words_repeats_a_fact_that_may_give_way(*, is_target: bool) -> None:
    """Without a review; beside a more trusted target both stand, and under its key the draft is held."""
    fact = active_fact(id=UUID(int=8), importance=9.0)
    role = "target" if is_target else "active"
    beside: dict[str, Any] = {role: fact, "same_ids": (fact.id,)}
    repeated = decide(**beside)
    assert (repeated.outcome, repeated.is_reworded, repeated.superseded_id) == ("repeated", True, fact.id)
    assert [each.review_reason for each in repeated.endings] == [None]
    assert repeated.draft.importance == 9.0
    for kept in (
        decide(**dict(beside, **{role: replace(fact, trust=Source.PERSON)})),
        decide(**beside, flags=FLAGS),
    ):
        assert kept.outcome is (DraftOutcome.NEW if is_target else DraftOutcome.HELD)
        assert kept.endings == ()


def chain(*candidates: Candidate) -> list[Placement]:
    """Return the placements of candidates with one key."""
    return decide_supersession(candidates, NOW)


def test_drafts_with_one_key_form_a_chain() -> None:
    """Each supersedes the one before; all but the last begin as active facts and are stored as they end."""
    first, second, third = chain(
        candidate("beta", active=ACTIVE, valid_from=PAST),
        candidate("gamma", number=3, active=ACTIVE),
        candidate("delta", number=4, active=ACTIVE, valid_from=FUTURE),
    )
    assert [each.supersedes_id for each in (first, second, third)] == [OLD, first.id, second.id]
    assert [each.validity for each in (first, second, third)] == ["superseded", "superseded", "active"]
    assert {each.created_as for each in (first, second, third)} == {Validity.ACTIVE}
    assert [each.draft.valid_to for each in (first, second, third)] == [NOW, FUTURE, None]
    assert (third.active_until, third.active) == (FUTURE, next_sees(second))


def next_sees(placement: Placement) -> ActiveFact:
    """Return the active fact that the next draft of a chain sees."""
    return active_fact(
        id=placement.id,
        content=placement.draft.content,
        words=placement.draft.content.lower(),
        began_at=NOW,
        reference_count=0,
        last_referenced_at=None,
        last_confirmed_at=NOW,
    )


def test_a_chain_inherits_from_draft_to_draft() -> None:
    """What the first draft inherited or stated passes to the same words after it, and ends with other words."""
    repeated, again, other, back = chain(
        candidate("acme", active=EARNED),
        candidate("acme", number=3, active=EARNED, tags=["pinned"]),
        candidate("beta", number=4, active=EARNED),
        candidate("acme", number=5, active=EARNED),
    )
    assert [each.reference_count for each in (repeated, again, other, back)] == [3, 3, 0, 0]
    assert [each.draft.importance for each in (again, other, back)] == [9.0, 5.0, 5.0]
    assert [each.draft.tags for each in (again, other, back)] == [["pinned"]] * 3
    assert other.endings[0].review_reason == "the old fact is permanent"


def test_a_chain_skips_held_and_history_drafts() -> None:
    """They are compared with the draft that took the key before, and later drafts do not supersede them."""
    ours, theirs, past, last = chain(
        candidate("ours"),
        candidate("theirs", number=3, source=Source.WEB),
        candidate("past", number=4, valid_to=PAST),
        candidate("last", number=5),
    )
    assert (theirs.contradicts_id, past.current_id, last.superseded_id) == (ours.id, ours.id, ours.id)
    assert [each.validity for each in (ours, theirs, past, last)] == [
        Validity.SUPERSEDED,
        Validity.HELD,
        Validity.SUPERSEDED,
        Validity.ACTIVE,
    ]


def test_an_unlinked_fact_is_superseded_once_in_a_chain() -> None:
    """By the first draft that may supersede it."""
    placements = chain(
        candidate("beta", active=ACTIVE, unlinked=(replace(UNLINKED, trust=Source.AGENT),)),
        candidate("delta", number=3, active=ACTIVE, unlinked=(replace(UNLINKED, trust=Source.AGENT),)),
    )
    assert [[each.id for each in placement.endings] for placement in placements] == [
        [OLD, UNLINKED.id],
        [NEW],
    ]


@pytest.mark.parametrize(
    "other",
    [
        {"scope": "ops"},
        {"predicate": "lives_in"},
        {"subject": "Bob"},
        {"entity_id": UUID(int=9)},
    ],
)
def test_drafts_with_other_keys_do_not_meet(other: dict[str, Any]) -> None:
    """A key is scope, predicate, and entity or else subject."""
    one = candidate("beta")
    draft = replace(one.draft, **other)
    first, second = chain(one, replace(one, id=UUID(int=3), draft=draft))
    assert (first.validity, second.outcome) == (Validity.ACTIVE, DraftOutcome.NEW)


def test_drafts_of_one_entity_meet_under_any_subject() -> None:
    """The entity replaces the subject in the key."""
    one = candidate("beta", entity_id=UUID(int=9))
    _, second = chain(one, replace(candidate("gamma", number=3), draft=replace(one.draft, subject="Annie")))
    assert second.superseded_id == one.id


@pytest.mark.requirement("TRU-03.1")
@pytest.mark.parametrize(
    ("said_at", "changed", "begins", "ends"),
    [
        (PAST, {}, PAST, PAST),
        (None, {"last_confirmed_at": PAST}, None, NOW),
        (FUTURE, {}, None, NOW),
        (None, {}, None, NOW),
        (BEGAN - timedelta(days=1), {}, None, NOW),
        (PAST, {"valid_from": NOW - timedelta(days=3)}, NOW - timedelta(days=3), NOW - timedelta(days=3)),
        (PAST, {"valid_to": FUTURE}, PAST, PAST),
    ],
)
def test_a_fact_holds_since_it_was_said(
    said_at: datetime | None, changed: dict[str, Any], begins: datetime | None, ends: datetime
) -> None:
    """Not since it was learned, unless it is older than what it replaces, or says itself when it begins."""
    placement = decide(active=ACTIVE, unlinked=(UNLINKED,), said_at=said_at, **changed)
    assert placement.draft.valid_from == begins
    assert placement.endings[0].valid_to == ends
    others = NOW if "valid_from" in changed else ends
    assert [each.valid_to for each in placement.endings[1:]] == [others]
    alone = decide(said_at=said_at, **changed)
    assert alone.draft.valid_from == (begins or (said_at if said_at != FUTURE else None))


@pytest.mark.requirement("TRU-03.1")
def test_a_fact_said_before_the_last_confirmation_of_another_begins_now() -> None:
    """The other one held in the meantime."""
    confirmed = active_fact(last_confirmed_at=PAST + timedelta(days=1))
    placement = decide(active=confirmed, said_at=PAST)
    assert (placement.draft.valid_from, placement.endings[0].valid_to) == (None, NOW)


@pytest.mark.requirement("TRU-03.3")
def test_decay_counts_from_the_confirmation_that_a_draft_names() -> None:
    """The same words confirmed earlier do not take back a later confirmation, nor the beginning."""
    assert decide(said_at=PAST).last_confirmed_at == NOW, "learning a fact confirms it"
    assert decide(last_confirmed_at=PAST).last_confirmed_at == PAST
    assert decide(last_confirmed_at=FUTURE).last_confirmed_at == NOW
    again = decide("acme", active=ACTIVE, said_at=PAST, last_confirmed_at=PAST)
    assert (again.last_confirmed_at, again.draft.valid_from) == (PAST, BEGAN)
    confirmed = active_fact(last_confirmed_at=PAST + timedelta(days=1))
    again = decide("acme", active=confirmed, last_confirmed_at=PAST)
    assert again.last_confirmed_at == PAST + timedelta(days=1)


@pytest.mark.requirement("TRU-04.1")
def test_a_change_takes_the_place_of_the_active_fact_though_its_period_is_over() -> None:
    """An exception for a period leaves the active fact; so does a change that began before it."""
    days = {"active": active_fact(began_at=PAST - timedelta(days=5)), "valid_to": NOW - timedelta(days=1)}
    change = decide(**days, valid_from=PAST, is_change=True)
    assert (change.outcome, change.endings[0].valid_to) == (DraftOutcome.REPLACED, PAST)
    assert decide(**days, valid_from=PAST).outcome is DraftOutcome.HISTORY
    assert decide(**days, valid_from=PAST - timedelta(days=9), is_change=True).outcome is DraftOutcome.HISTORY
