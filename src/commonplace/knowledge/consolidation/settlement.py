"""Settling the facts of an answer: keys, beginnings and earlier values. Pure.

:mod:`~commonplace.knowledge.rules.claims` decides which facts replace others and which stay beside them.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from commonplace.knowledge.consolidation.known import Known
from commonplace.knowledge.consolidation.prompt import KnownFact
from commonplace.knowledge.consolidation.step_kinds import EpisodeGroup, Step, StoreFact
from commonplace.knowledge.model.consolidation_results import EarlierValue
from commonplace.knowledge.model.fact_drafts import FactDraft
from commonplace.knowledge.model.kinds import Moment
from commonplace.knowledge.rules import siblings
from commonplace.knowledge.rules.claims import Claim, KnownClaim, settle
from commonplace.knowledge.rules.restatements import say_the_same, says_no_more

_DAY: Final = timedelta(days=1)


def settled(steps: Sequence[Step], decided_apart: Collection[str], group: EpisodeGroup) -> list[Step]:
    """Return the steps with the keys and beginnings of their facts, and with further steps for earlier values.

    Args:
        steps: The steps of an answer.
        decided_apart: The positions of new facts that a person has already decided to keep beside the known fact.
        group: The input for the answer.
    """
    facts = [step for step in steps if isinstance(step, StoreFact)]
    known = [_known_claim(fact) for fact in group.known.facts.values()]
    settled_claims = settle([_claim(step) for step in facts], known)
    decisions, followed = iter(settled_claims), {each.follows for each in settled_claims}
    result: list[Step] = []
    used: dict[str, str] = {}
    done: dict[int, StoreFact] = {}
    for step in steps:
        if not isinstance(step, StoreFact):
            result.append(step)
            continue
        decision = next(decisions)
        fact = facts[decision.place]
        before = None if decision.follows is None else done[decision.follows]
        draft = replace(
            _with_beginning(fact, decision.valid_from, group.known),
            subject=decision.subject,
            predicate=decision.predicate if before is None else before.draft.predicate,
        )
        is_apart = decision.is_sibling or fact.place in decided_apart
        if is_apart and before is None:
            draft = _with_own_key(draft, used)
        used[draft.key] = siblings.plain(draft.content)
        fact = replace(
            fact,
            draft=draft,
            target_id=decision.target_id,
            is_apart=is_apart,
            follows=before is not None,
            is_change=before is not None or fact.target_id is not None or decision.place in followed,
        )
        done[decision.place] = fact
        result += _with_earlier(fact, before, group)
    return result


def _claim(step: StoreFact) -> Claim:
    draft = step.draft
    ends = _moment(draft.valid_to) or (step.period and step.period.valid_to)
    return Claim(
        scope=draft.scope,
        subject=draft.subject,
        predicate=draft.predicate,
        content=draft.content,
        said_at=step.said_at,
        valid_from=_moment(draft.valid_from),
        valid_to=ends,
        target_id=step.target_id,
        was=tuple(each.content for each in step.earlier),
    )


def _known_claim(fact: KnownFact) -> KnownClaim:
    return KnownClaim(
        id=fact.id,
        scope=fact.scope,
        subject=fact.subject,
        predicate=fact.predicate,
        content=fact.content,
        began_at=fact.began_at,
        valid_to=fact.valid_to,
    )


def _with_beginning(step: StoreFact, valid_from: datetime | None, known: Known) -> FactDraft:
    """Return the draft of a step with a beginning.

    One that says what its target says has begun with it, which is only written down if it has an end now.
    """
    draft = step.draft
    target = None if step.target_id is None else known.facts.get(step.target_id)
    is_repeated = target is not None and siblings.plain(target.content) == siblings.plain(draft.content)
    end = _moment(draft.valid_to)
    if draft.valid_from is None and target is not None and is_repeated and end and end > target.began_at:
        return replace(draft, valid_from=target.began_at)
    if draft.valid_from is not None or is_repeated or (valid_from and end and end <= valid_from):
        return draft
    return replace(draft, valid_from=valid_from)


def _with_own_key(draft: FactDraft, used: Mapping[str, str]) -> FactDraft:
    """Return a fact with its value in the predicate, and a number if another fact of the answer has the same key."""
    content, number = siblings.plain(draft.content), 1
    valued = siblings.with_value(draft.subject, draft.predicate, draft.content)
    own = replace(draft, predicate=valued)
    while used.get(own.key, content) != content:
        number += 1
        own = replace(draft, predicate=f"{valued}_{number}")
    return own


def _with_earlier(fact: StoreFact, before: StoreFact | None, group: EpisodeGroup) -> Iterator[StoreFact]:
    """Yield steps for the values that a fact had before and that nothing else holds, and its own step.

    An earlier value that says when it began, after the known fact did, takes the place of the known fact. A value
    without a known beginning held at least from the first episode on, or on the day before it ended. The
    known fact among the earlier values ends on the day that is given there, if it ended before the change.
    """
    known = _known_fact(fact, group.known)
    changed_at = _moment(fact.draft.valid_from) or group.last_at
    contents: dict[str, Moment | None] = {fact.draft.content: None}
    if before is not None:
        contents[before.draft.content] = before.draft.valid_from
    if known is not None:
        contents[known.content] = known.began_at
    target_id = fact.target_id
    ended = None if known is None else _with_own_end(fact, known, changed_at)
    if ended is not None:
        yield ended
        target_id = None
    earlier = [each for each in fact.earlier if not _is_held(each, contents, fact.draft)]
    ends = [*(each.valid_from for each in earlier[1:]), None]
    for number, (value, end) in enumerate(zip(earlier, ends, strict=False), start=1):
        began = value.valid_from
        takes_over = known is not None and began is not None and began > known.began_at
        valid_to = value.valid_to or end or changed_at
        draft = replace(
            fact.draft,
            content=value.content,
            valid_from=began
            if began is not None and began < valid_to
            else min(group.first_at, valid_to - _DAY),
            valid_to=None if takes_over else valid_to,
        )
        yield replace(
            fact,
            place=f"{fact.place}, earlier value {number}",
            draft=draft,
            earlier=(),
            period=None,
            target_id=target_id if takes_over else None,
        )
        target_id = None if takes_over else target_id
    yield replace(fact, target_id=target_id)


def _with_own_end(fact: StoreFact, known: KnownFact, changed_at: datetime) -> StoreFact | None:
    """Return the step by which the known fact ends before the change, if an earlier value says so."""
    draft = fact.draft
    if (draft.scope, draft.subject, draft.predicate) != (known.scope, known.subject, known.predicate):
        return None
    about = f"{draft.subject} {draft.predicate}"
    ends = (
        each.valid_to
        for each in fact.earlier
        if each.valid_to is not None
        and known.began_at < each.valid_to < changed_at
        and say_the_same(each.content, known.content, about=about)
    )
    end = next(ends, None)
    return end and replace(
        fact,
        place=f"{fact.place}, end of the known fact",
        draft=replace(draft, content=known.content, valid_from=known.began_at, valid_to=end),
        earlier=(),
        period=None,
        target_id=known.id,
    )


def _known_fact(fact: StoreFact, known: Known) -> KnownFact | None:
    """Return the known fact that a step replaces."""
    if fact.target_id is not None:
        return known.facts.get(fact.target_id)
    return next(
        (
            each
            for each in known.facts.values()
            if (each.scope, each.subject, each.predicate)
            == (fact.draft.scope, fact.draft.subject, fact.draft.predicate)
        ),
        None,
    )


def _is_held(value: EarlierValue, began: Mapping[str, Moment | None], draft: FactDraft) -> bool:
    """Return whether some content says an earlier value; what began later returns to a value that held before.

    The new content may name the earlier value beside its own: "db-4, no longer db-2".
    """
    about = f"{draft.subject} {draft.predicate}"
    return any(
        (
            says_no_more(content, value.content, about=about)
            if content == draft.content
            else say_the_same(value.content, content, about=about)
        )
        and (value.valid_from is None or (moment is not None and value.valid_from < moment + _DAY))
        for content, at in began.items()
        for moment in (_moment(at),)
    )


def _moment(value: Moment | None) -> datetime | None:
    """Return a moment of a checked draft."""
    return value if isinstance(value, datetime) else None
