"""Steps of an answer: its actions, checked and with vectors, before a transaction is opened.

An impossible step becomes a message. Messages name the position in the answer and never repeat its text, because the
text may contain the refused secret.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final, TypeVar, assert_never
from uuid import UUID

import asyncpg

from commonplace.core.errors import InvalidInputError, SecretRefusedError
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge.consolidation.known import Known
from commonplace.knowledge.consolidation.prompt import KnownFact, KnownRule
from commonplace.knowledge.consolidation.settlement import settled
from commonplace.knowledge.consolidation.step_kinds import (
    Confirm,
    EpisodeGroup,
    Retract,
    Step,
    Steps,
    StoreFact,
    StoreRule,
)
from commonplace.knowledge.memories.rules import RuleDraft, checked_rule
from commonplace.knowledge.model.bounds import DEFAULT_IMPORTANCE
from commonplace.knowledge.model.consolidation_results import (
    Action,
    ConsolidationResult,
    ProposedFact,
    ProposedRule,
    Retraction,
)
from commonplace.knowledge.model.fact_drafts import FactDraft, checked_fact, fact_heading
from commonplace.knowledge.model.kinds import GLOBAL_SCOPE, MemoryType
from commonplace.knowledge.model.permanence import Permanence
from commonplace.knowledge.rules.fact_periods import with_end, with_period
from commonplace.knowledge.rules.periods import Period
from commonplace.knowledge.store.unit_of_work import unit_of_work
from commonplace.knowledge.store.vectors import EmbeddedText, embed_memories
from commonplace.language.relative_days import with_dates

USER: Final = "the user"
"""The subject of what people say of themselves if no name is known, as the skill says."""

_LABEL: Final = re.compile(r"\s*(?:the\s+)?(?:user|asked|human|i|me)\s*:?\s*", re.IGNORECASE)
"""Labels of speakers in transcripts, which models take for subjects."""

_Known = TypeVar("_Known", KnownFact, KnownRule)


async def prepare(
    pool: asyncpg.Pool, engine: EmbeddingEngine, result: ConsolidationResult, group: EpisodeGroup
) -> Steps:
    """Check each action of an answer, keep siblings apart, and compute the vectors of all actions together.

    Raises:
        EmbeddingError: The embedding model cannot be used.
    """
    steps: list[Step] = []
    errors: list[str] = []
    for place, action in result.in_order():
        try:
            steps.append(_step(place, action, group))
        except InvalidInputError as error:
            errors.append(f"{place}: {_without_text(error)}")
    steps = settled(steps, await _decided_apart(pool, steps), group)
    return Steps(steps=await _with_vectors(engine, steps), errors=tuple(errors))


async def _decided_apart(pool: asyncpg.Pool, steps: Sequence[Step]) -> set[str]:
    """Return the positions of new facts that a person has already decided to keep beside the known fact."""
    facts = [step for step in steps if isinstance(step, StoreFact) and step.target_id is None]
    if not facts:
        return set()
    async with unit_of_work(pool, readonly=True) as sql:
        rows = await sql.decided_apart(
            places=[step.place for step in facts],
            scopes=[step.draft.scope for step in facts],
            subjects=[step.draft.subject for step in facts],
            predicates=[step.draft.predicate for step in facts],
            contents=[step.draft.content for step in facts],
        )
    return {row["place"] for row in rows}


def _without_text(error: InvalidInputError) -> str:
    if isinstance(error, SecretRefusedError):
        return str(error)
    return f"{error.field}: expected {error.expected}"


def _step(place: str, action: Action, group: EpisodeGroup) -> Step:
    """Return the step of an action, without vectors.

    Raises:
        InvalidInputError: The action cannot be stored, or names a memory that the model was not shown.
    """
    match action:
        case UUID():
            return Confirm(place=place, memory_type=_type_of(action, group.known, "id"), memory_id=action)
        case Retraction():
            return Retract(
                place=place,
                memory_type=_type_of(action.target_id, group.known, "target_id"),
                memory_id=action.target_id,
                evidence=group.evidence(action.evidence),
            )
        case ProposedRule():
            return _rule(place, action, group, _target(action.target_id, group.known.rules, "rule"))
        case ProposedFact():
            return _fact(place, action, group, _target(action.target_id, group.known.facts, "fact"))
        case _:
            assert_never(action)


def _type_of(memory_id: UUID, known: Known, field: str) -> MemoryType:
    if memory_id in known.facts:
        return MemoryType.FACT
    if memory_id in known.rules:
        return MemoryType.RULE
    raise InvalidInputError(field, "the id of a fact or rule that the model was shown", memory_id)


def _target(target_id: UUID | None, shown: Mapping[UUID, _Known], kind: str) -> _Known | None:
    """Return the memory that an action replaces, or ``None``."""
    if target_id is None:
        return None
    if target_id not in shown:
        raise InvalidInputError("target_id", f"the id of a {kind} that the model was shown", target_id)
    return shown[target_id]


def _own_scope(group: EpisodeGroup) -> str:
    """Return the scope of new memories, the butler's name.

    Raises:
        InvalidInputError: The butler has the name of the global scope, into which no run may write.
    """
    if group.butler == GLOBAL_SCOPE:
        raise InvalidInputError(
            "butler", f"a name other than {GLOBAL_SCOPE}, the scope of all butlers", group.butler
        )
    return group.butler


def _rule(place: str, rule: ProposedRule, group: EpisodeGroup, target: KnownRule | None) -> StoreRule:
    evidence = group.evidence(rule.evidence)
    inherited = () if target is None else target.tags
    draft = RuleDraft(
        content=_with_agreed_dates(rule.content, group.said(evidence)),
        scope=_own_scope(group) if target is None else target.scope,
        tags=inherited if rule.tags is None else rule.tags,
        source_butler=group.butler,
        source_episode_id=evidence[-1],
    )
    return StoreRule(
        place=place,
        draft=checked_rule(draft),
        evidence=evidence,
        target_id=rule.target_id,
        decay_rate=group.rule_decay_rate,
    )


def _dated(draft: FactDraft, said_at: Sequence[datetime]) -> tuple[FactDraft, Period | None]:
    """Return a draft with the period and the days that its content names, and the period, if its episodes agree.

    The content fills only those ends of the period that the answer leaves open. A permanent fact has no end.
    """
    if draft.permanence == Permanence.PERMANENT:
        return replace(draft, content=_with_agreed_dates(draft.content, said_at)), None
    ends = [with_end(draft, moment) for moment in (min(said_at), max(said_at))]
    draft = ends[0] if ends[0] == ends[1] else draft
    (first, early), (last, late) = with_period(draft, min(said_at)), with_period(draft, max(said_at))
    return (first, early) if (early, first.content) == (late, last.content) else (draft, None)


def _with_agreed_dates(content: str, said_at: Sequence[datetime]) -> str:
    """Return a text with the dates of words such as "tomorrow", if its episodes agree on them."""
    first, last = with_dates(content, min(said_at)), with_dates(content, max(said_at))
    return first if first == last else content


def _fact(place: str, fact: ProposedFact, group: EpisodeGroup, target: KnownFact | None) -> StoreFact:
    evidence = group.evidence(fact.evidence)
    permanence, importance, tags = fact.permanence, fact.importance, fact.tags
    if target is not None:
        permanence = permanence or target.permanence
        importance = target.importance if importance is None else importance
        tags = target.tags if tags is None else tags
    draft = FactDraft(
        subject=USER if _LABEL.fullmatch(fact.subject) else fact.subject,
        predicate=fact.predicate,
        content=fact.content,
        importance=DEFAULT_IMPORTANCE if importance is None else importance,
        permanence=permanence or Permanence.STANDARD,
        scope=_own_scope(group) if target is None else target.scope,
        tags=tags,
        # The entity is part of the key by which the new fact supersedes its target.
        entity_id=None if target is None else target.entity_id,
        source_butler=group.butler,
        source_episode_id=evidence[-1],
        valid_from=fact.valid_from,
        valid_to=fact.valid_to,
    )
    dated, period = _dated(draft, group.said(evidence))
    draft = checked_fact(dated)
    return StoreFact(
        place=place,
        draft=draft,
        said=draft.predicate,
        said_subject=draft.subject,
        evidence=evidence,
        said_at=group.said_by(fact.evidence),
        period=period,
        earlier=fact.was,
        target_id=fact.target_id,
    )


async def _with_vectors(engine: EmbeddingEngine, steps: Sequence[Step]) -> tuple[Step, ...]:
    """Return the steps with the vectors of new memories, which are computed together."""
    texts = {
        step.place: EmbeddedText(
            content=step.draft.content,
            heading=fact_heading(step.draft) if isinstance(step, StoreFact) else "",
        )
        for step in steps
        if isinstance(step, StoreFact | StoreRule)
    }
    if not texts:
        return tuple(steps)
    embeddings = await embed_memories(engine, list(texts.values()))
    numbers = {place: number for number, place in enumerate(texts)}
    return tuple(
        replace(step, embeddings=embeddings.only(numbers[step.place]))
        if isinstance(step, StoreFact | StoreRule)
        else step
        for step in steps
    )
