"""Supersession: which facts a new fact replaces, and what it takes over from them. Pure.

A store locks and reads the active facts, :func:`decide_supersession` decides, and one statement writes the placements.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Final
from uuid import UUID

from commonplace.core.sources import RANKS, Source, least_trusted
from commonplace.knowledge.model.bounds import DEFAULT_IMPORTANCE
from commonplace.knowledge.model.fact_drafts import FactDraft
from commonplace.knowledge.model.kinds import PINNED, Moment, Validity
from commonplace.knowledge.model.permanence import DECAY_RATES, Permanence
from commonplace.knowledge.rules.fact_periods import during
from commonplace.knowledge.rules.periods import Period

LEAST_IMPORTANCE: Final = 8.0
"""The importance from which a superseded fact is reviewed; permanent and pinned facts are always reviewed."""

_Key = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveFact:
    """An active fact, as far as a decision needs it.

    Attributes:
        words: The content without differences of case and blanks, as the database compares it.
        began_at: ``valid_from``, else when the fact was stored.
        valid_to: When the fact stops being true, if an end is known.
    """

    id: UUID
    content: str
    words: str
    trust: Source
    is_flagged: bool
    importance: float
    permanence: Permanence
    decay_rate: float
    tags: tuple[str, ...]
    began_at: datetime
    valid_to: datetime | None
    reference_count: int
    last_referenced_at: datetime | None
    last_confirmed_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A draft to store, with what the store has read for it under lock.

    Attributes:
        id: The id of the new fact.
        draft: A checked draft with its entity.
        words: Its content without differences of case and blanks, as the database compares it.
        flags: The reasons why its text looks like an instruction.
        session_source: The source of what the transaction writes.
        episode_trust: The trust of its source episode, if it has one.
        said_at: When its source episode happened, if it has one.
        period: The period that its words name and that the draft does not have yet, if any.
        active: The active fact of its key in the database.
        unlinked: The active facts about its subject that should have its entity, and cannot, because ``active`` has it.
        target: The active fact that the draft replaces, whatever its key, if any.
        is_change: Whether the draft is known to take the place of ``active``, so it is no exception for its period.
        same_ids: The facts that say the same as the draft in other words.
    """

    id: UUID
    draft: FactDraft
    words: str
    session_source: Source
    flags: tuple[str, ...] = ()
    episode_trust: Source | None = None
    said_at: datetime | None = None
    period: Period | None = None
    active: ActiveFact | None = None
    unlinked: tuple[ActiveFact, ...] = ()
    target: ActiveFact | None = None
    is_change: bool = False
    same_ids: tuple[UUID, ...] = ()


class DraftOutcome(StrEnum):
    """The outcomes of a draft, beside the active fact of its key."""

    NEW = "new"
    REPEATED = "repeated"
    HISTORY = "history"
    HELD = "held"
    REPLACED = "replaced"


_TAKES_KEY: Final = frozenset({DraftOutcome.NEW, DraftOutcome.REPEATED, DraftOutcome.REPLACED})
_VALIDITIES: Final = {DraftOutcome.HISTORY: Validity.SUPERSEDED, DraftOutcome.HELD: Validity.HELD}


@dataclass(frozen=True, slots=True, kw_only=True)
class FactEnding:
    """The end of a fact that a new fact supersedes.

    Attributes:
        review_reason: Why a person may decide to keep both facts, if the ended fact matters.
    """

    id: UUID
    valid_to: datetime
    review_reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """The decision about a draft.

    Attributes:
        draft: The draft as it is stored, with what it inherits.
        outcome: The row of the table that decided.
        active: The active fact of its key before it, of the database or of an earlier draft.
        validity: The state in which the fact is stored.
        source: Where the statement comes from.
        trust: How far the fact is trusted.
        endings: The facts that it supersedes, that of its key first.
        flags: The reasons why the text looks like an instruction.
        active_until: When ``active`` stops being true, if it is superseded and still holds, because the draft begins
            later.
        is_reworded: Whether it repeats ``active`` in other words.
    """

    id: UUID
    draft: FactDraft
    outcome: DraftOutcome
    active: ActiveFact | None
    validity: Validity
    source: Source
    trust: Source
    decay_rate: float
    last_confirmed_at: datetime
    flags: tuple[str, ...] = ()
    reference_count: int = 0
    last_referenced_at: datetime | None = None
    endings: tuple[FactEnding, ...] = ()
    active_until: datetime | None = None
    is_reworded: bool = False

    @property
    def takes_key(self) -> bool:
        """Whether the fact becomes the active fact of its key."""
        return self.outcome in _TAKES_KEY

    @property
    def created_as(self) -> Validity:
        """The state in which the fact begins, before a later draft of the same batch supersedes it."""
        return _VALIDITIES.get(self.outcome, Validity.ACTIVE)

    @property
    def supersedes_id(self) -> UUID | None:
        """The first of the facts that this fact supersedes, if any."""
        return self.endings[0].id if self.endings else None

    @property
    def superseded_id(self) -> UUID | None:
        """The fact of the same key that this fact replaces, if any."""
        return self._beside(DraftOutcome.REPEATED, DraftOutcome.REPLACED)

    @property
    def contradicts_id(self) -> UUID | None:
        """The fact because of which this fact is held, if any."""
        return self._beside(DraftOutcome.HELD)

    @property
    def current_id(self) -> UUID | None:
        """The fact that stays current, because this fact is history, if any."""
        return self._beside(DraftOutcome.HISTORY)

    def _beside(self, *outcomes: DraftOutcome) -> UUID | None:
        return self.active.id if self.active is not None and self.outcome in outcomes else None


def decide_supersession(candidates: Sequence[Candidate], now: datetime) -> list[Placement]:
    """Decide what becomes of each draft and of the active facts. The first row that applies decides.

    ======== =========================================== ======================================== ===================
    outcome  the active fact of the key                  the draft                                is stored
    ======== =========================================== ======================================== ===================
    new      does not exist                              any                                      active
    repeated has the same words, or says the same and    any                                      active, inherits
             may give way
    history  has other words, and ends after the draft   has a period that is over, unless it is  superseded
                                                         a change that began after the active
    history  has other words, or an unlinked fact has,   has words that name a period that is     superseded, with the
             and began when the period was over          over                                     period
    held     has other words and is more trusted         any                                      held
    held     has other words and no flags                has flags, and is not from a person      held
    replaced has other words                             any other                                active
    ======== =========================================== ======================================== ===================

    A draft with a *target* is held if the target may not give way by the rows for *held*, whatever the key, unless both
    say the same: then both stand. If its own key has no active fact, the target stands in the place of that fact.

    The active fact stays as it is beside history and held drafts. A repeated or replaced fact is superseded:

    - It ends where the draft begins, but not before it began itself, and not after its own end.
    - *Beginning*: a draft that names no beginning begins at its source episode, if it has one and the active fact was
      not confirmed since, else now.
    - *Future*: if the draft begins later, the active fact holds until then, and the receipt says so.
    - *Pinned*: the draft is pinned if the active fact is. A new value is as important as the old one.
    - A person may decide to keep both if the active fact has other words and is permanent, important or pinned.

    A repeated draft *inherits* from the active fact:

    ========================= ======================================= ================================================
    field                     the draft is as trusted, or more        the active fact is more trusted
    ========================= ======================================= ================================================
    references                inherited                               inherited
    last confirmation         the later one                           the later one
    tags                      inherited if the draft has none         inherited if the draft has none
    importance                inherited if the draft has the default  inherited
    permanence and decay rate inherited if the draft has the default  inherited
    beginning                 inherited if the draft has none, and    inherited
                              does not end before it
    end                       that of the draft                       inherited
    trust                     that of the draft                       inherited
    ========================= ======================================= ================================================

    So repeated words cannot end or weaken a trusted fact. A draft is as trusted as the least trusted of the session,
    its own source and its episode.

    A draft that takes the key (new, repeated, replaced) also supersedes:

    - its *target*, from where the draft begins; a person may keep both as above;
    - *unlinked* facts that are not more trusted, if the draft has no flags, since the draft was said, or from now on if
      it names its beginning.

    Drafts with one key form a *chain*: each is decided as if the drafts before it were stored.

    Args:
        candidates: The drafts in their order. Candidates with one key have the same ``active`` and ``unlinked``.
        now: The present.

    Source: KNW-02.2, KNW-05.2, LIF-05.2, FLR-04.
    """
    placements: dict[UUID, Placement] = {}
    chains: dict[_Key, Candidate] = {}
    gone: set[UUID] = set()
    for candidate in map(_without_trusted_wording, candidates):
        key = _key(candidate.draft)
        before = chains.get(key)
        active = candidate.active if before is None else _as_active(before, placements[before.id], now)
        placement = _placed(candidate, active, now)
        if placement.takes_key:
            gone.update(each.id for each in placement.endings)
            others = [each for each in _others(candidate, placement) if each.id not in gone]
            if others:
                gone.update(each.id for each in others)
                ends = [
                    _ending(each, candidate, _end_of_other(each, candidate, placement, now))
                    for each in others
                ]
                placement = replace(placement, endings=(*placement.endings, *ends))
            if before is not None:
                placements[before.id] = _superseded(placements[before.id], placement.endings[0])
            chains[key] = candidate
        placements[candidate.id] = placement
    return list(placements.values())


def _without_trusted_wording(candidate: Candidate) -> Candidate:
    """Return a candidate without a target that says the same and may not give way."""
    target = candidate.target
    if target is None or target.id not in candidate.same_ids or not _withstands(target, candidate):
        return candidate
    return replace(candidate, target=None)


def _key(draft: FactDraft) -> _Key:
    entity = "" if draft.entity_id is None else str(draft.entity_id)
    return draft.scope, draft.predicate, entity, "" if entity else draft.subject


def _placed(candidate: Candidate, active: ActiveFact | None, now: datetime) -> Placement:
    """Return the placement of a draft beside the active fact of its key and its target, by the rows of the table."""
    target, source = candidate.target, _source(candidate)
    is_barred = target is not None and target != active and _withstands(target, candidate)
    active = target if is_barred else active or target
    draft = _begun(candidate, active, now)
    placement = Placement(
        id=candidate.id,
        draft=draft,
        outcome=DraftOutcome.NEW,
        active=active,
        validity=Validity.ACTIVE,
        source=source,
        trust=source,
        decay_rate=DECAY_RATES[Permanence(draft.permanence)],
        last_confirmed_at=_confirmed_at(candidate, now),
        flags=candidate.flags,
    )
    if active is None:
        return placement
    if is_barred:
        return replace(placement, outcome=DraftOutcome.HELD, validity=Validity.HELD)
    begins_at = _moment(draft.valid_from) or now
    if candidate.words == active.words or (
        active.id in candidate.same_ids and not _withstands(active, candidate)
    ):
        repeated = _inheriting(replace(placement, draft=candidate.draft), active)
        repeated = replace(repeated, is_reworded=candidate.words != active.words)
        return _replacing(repeated, active, _ending(active, candidate, begins_at), now)
    past = _as_history(candidate, active, now)
    if past is not None:
        return replace(placement, draft=past, outcome=DraftOutcome.HISTORY, validity=Validity.SUPERSEDED)
    if _withstands(active, candidate):
        return replace(placement, outcome=DraftOutcome.HELD, validity=Validity.HELD)
    placement = replace(placement, outcome=DraftOutcome.REPLACED)
    return _replacing(placement, active, _ending(active, candidate, begins_at), now)


def _confirmed_at(candidate: Candidate, now: datetime) -> datetime:
    """Return when a draft was last said to hold."""
    return min(now, _moment(candidate.draft.last_confirmed_at) or now)


def _begun(candidate: Candidate, active: ActiveFact | None, now: datetime) -> FactDraft:
    """Return the draft with its beginning: it has held since it was said, unless it names a period.

    A draft that is older than the last confirmation of the active fact begins now, because that fact held then.
    """
    draft, said_at = candidate.draft, min(now, candidate.said_at or now)
    end = _moment(draft.valid_to)
    is_known = draft.valid_from is not None or said_at == now or (end is not None and end <= said_at)
    if is_known or (active is not None and said_at <= (active.last_confirmed_at or active.began_at)):
        return draft
    return replace(draft, valid_from=said_at)


def _as_history(candidate: Candidate, active: ActiveFact, now: datetime) -> FactDraft | None:
    """Return the draft of a fact of the past, with its period, or ``None`` if the draft is about the present."""
    draft = candidate.draft
    if _is_later(active, candidate, now) or any(
        _is_later(each, candidate, now) for each in candidate.unlinked
    ):
        draft = draft if candidate.period is None else during(draft, candidate.period)
    begins, end = _moment(draft.valid_from), _moment(draft.valid_to)
    if candidate.is_change and draft is candidate.draft and begins is not None and begins > active.began_at:
        return None
    is_over = end is not None and end <= now and (active.valid_to is None or end < active.valid_to)
    return draft if is_over else None


def _is_later(fact: ActiveFact, candidate: Candidate, now: datetime) -> bool:
    """Return whether a fact with other words began when the period that the words of a draft name was over."""
    end = None if candidate.period is None else candidate.period.valid_to
    return end is not None and end <= now and end <= fact.began_at and fact.words != candidate.words


def _inheriting(placement: Placement, active: ActiveFact) -> Placement:
    """Return the placement of a draft in the words of the active fact, with what it inherits."""
    draft, is_outranked = placement.draft, _outranks(active, placement.source)
    end = _moment(draft.valid_to)
    ends_before = end is not None and end <= active.began_at
    is_default = draft.permanence == Permanence.STANDARD
    inherited = replace(
        draft,
        importance=active.importance
        if is_outranked or draft.importance == DEFAULT_IMPORTANCE
        else draft.importance,
        permanence=active.permanence if is_outranked or is_default else draft.permanence,
        tags=draft.tags or list(active.tags),
        valid_from=active.began_at
        if is_outranked or (draft.valid_from is None and not ends_before)
        else draft.valid_from,
        valid_to=active.valid_to if is_outranked else end,
    )
    return replace(
        placement,
        draft=inherited,
        outcome=DraftOutcome.REPEATED,
        trust=active.trust if is_outranked else placement.trust,
        decay_rate=active.decay_rate if is_outranked or is_default else placement.decay_rate,
        reference_count=active.reference_count,
        last_referenced_at=active.last_referenced_at,
        last_confirmed_at=max(
            placement.last_confirmed_at, active.last_confirmed_at or placement.last_confirmed_at
        ),
    )


def _replacing(placement: Placement, active: ActiveFact, ending: FactEnding, now: datetime) -> Placement:
    """Return a placement that supersedes the active fact of its key."""
    draft = placement.draft
    tags = list(draft.tags or ())
    if PINNED in active.tags and PINNED not in tags:
        draft = replace(draft, tags=[*tags, PINNED])
    # The database ends a superseded fact now if its end does not change (trigger facts_ended).
    holds = active.began_at <= now < ending.valid_to != active.valid_to
    return replace(placement, draft=draft, endings=(ending,), active_until=ending.valid_to if holds else None)


def _others(candidate: Candidate, placement: Placement) -> Iterable[ActiveFact]:
    """Return the facts of other keys that a draft supersedes when it takes its own key."""
    if not candidate.flags:
        yield from (each for each in candidate.unlinked if not _outranks(each, placement.trust))
    if candidate.target is not None:
        yield candidate.target


def _end_of_other(fact: ActiveFact, candidate: Candidate, placement: Placement, now: datetime) -> datetime:
    """Return when a fact of another key ends."""
    named = candidate.draft.valid_from
    if named is not None:
        return (_moment(named) or now) if fact is candidate.target else now
    return now if placement.outcome is DraftOutcome.REPEATED else _moment(placement.draft.valid_from) or now


def _ending(fact: ActiveFact, candidate: Candidate, at: datetime) -> FactEnding:
    """Return the end of a fact that a draft supersedes from a moment on.

    The fact does not end before it began, and not after its own end.
    """
    end = max(at, fact.began_at)
    return FactEnding(
        id=fact.id,
        valid_to=end if fact.valid_to is None else min(end, fact.valid_to),
        review_reason=None
        if fact.words == candidate.words or fact.id in candidate.same_ids or fact in candidate.unlinked
        else _review_reason(fact),
    )


def _review_reason(fact: ActiveFact) -> str | None:
    if fact.permanence is Permanence.PERMANENT:
        return "the old fact is permanent"
    if fact.importance >= LEAST_IMPORTANCE:
        return "the old fact is important"
    return "the old fact is pinned" if PINNED in fact.tags else None


def _superseded(placement: Placement, ending: FactEnding) -> Placement:
    """Return the placement of a fact that a later draft of the same batch supersedes."""
    draft = replace(placement.draft, valid_to=ending.valid_to)
    return replace(placement, draft=draft, validity=Validity.SUPERSEDED)


def _as_active(candidate: Candidate, placement: Placement, now: datetime) -> ActiveFact:
    """Return the active fact that a placement stores, for the next draft with its key."""
    draft = placement.draft
    return ActiveFact(
        id=placement.id,
        content=draft.content,
        words=candidate.words,
        trust=placement.trust,
        is_flagged=bool(candidate.flags),
        importance=draft.importance,
        permanence=Permanence(draft.permanence),
        decay_rate=placement.decay_rate,
        tags=tuple(draft.tags or ()),
        began_at=_moment(draft.valid_from) or now,
        valid_to=_moment(draft.valid_to),
        reference_count=placement.reference_count,
        last_referenced_at=placement.last_referenced_at,
        last_confirmed_at=placement.last_confirmed_at,
    )


def _source(candidate: Candidate) -> Source:
    return least_trusted(candidate.session_source, candidate.draft.source, candidate.episode_trust)


def _withstands(fact: ActiveFact, candidate: Candidate) -> bool:
    """Return whether a draft in other words may not replace a fact: its source is less trusted, or it has flags."""
    source = _source(candidate)
    has_flags = bool(candidate.flags) and not fact.is_flagged and source is not Source.PERSON
    return has_flags or _outranks(fact, source)


def _outranks(fact: ActiveFact, source: Source) -> bool:
    return RANKS[fact.trust] > RANKS[source]


def _moment(value: Moment | None) -> datetime | None:
    """Return a moment of a checked draft."""
    return value if isinstance(value, datetime) else None
