"""The steps of an answer: its actions, checked and with vectors, before a transaction is opened.

A step that cannot be done becomes a message. Messages name the place in the answer and never repeat its text, because
the text may hold the secret that is refused.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, assert_never
from uuid import UUID

import asyncpg

from commonplace.core.errors import InvalidInputError, SecretRefusedError
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge.consolidation.known import Known
from commonplace.knowledge.consolidation.results import ConsolidationResult, NewFact, NewRule, UpdatedFact
from commonplace.knowledge.facts import FactDraft, checked_fact, fact_text
from commonplace.knowledge.inputs import MemoryType
from commonplace.knowledge.rules import RuleDraft, checked_rule
from commonplace.knowledge.unit_of_work import unit_of_work
from commonplace.knowledge.vectors import Embeddings, embed
from commonplace.storage.database import Row


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreFact:
    """Store a fact that was learned from the episodes ``evidence``; it replaces ``target_id``, if given.

    ``place`` is the place in the answer, ``draft`` the result of :func:`~commonplace.knowledge.facts.checked_fact`.
    """

    place: str
    draft: FactDraft
    evidence: tuple[UUID, ...]
    embeddings: Embeddings
    target_id: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreRule:
    """Store a rule that was learned from the episodes ``evidence``."""

    place: str
    draft: RuleDraft
    evidence: tuple[UUID, ...]
    embeddings: Embeddings


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirm:
    """Confirm a fact or rule."""

    place: str
    memory_type: MemoryType
    memory_id: UUID


Step = StoreFact | StoreRule | Confirm
Action = NewFact | NewRule | UUID
_NO_VECTORS: Final = Embeddings(vectors=[], model="", version="")


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """Steps in order, and messages about invalid entries of the answer."""

    steps: tuple[Step, ...]
    errors: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The input of an answer: the butler, its episodes, and the known facts and rules that the model was shown."""

    butler: str
    episode_ids: tuple[UUID, ...]
    known: Known

    def evidence(self, given: Sequence[UUID]) -> tuple[UUID, ...]:
        """Return the episodes of the group that an entry names, or all episodes of the group."""
        own = set(self.episode_ids)
        return tuple(each for each in dict.fromkeys(given) if each in own) or self.episode_ids


async def prepare(
    pool: asyncpg.Pool, engine: EmbeddingEngine, result: ConsolidationResult, group: Group
) -> Steps:
    """Check each action of an answer, and compute the vectors of all actions together.

    Raises:
        EmbeddingError: The embedding model cannot be used.
        TenantUnsetError: No request context is set.
        StorageUnavailableError: The server cannot be reached.
    """
    named = {update.target_id for update in result.updated_facts}
    targets = await _targets(pool, named & group.known.facts.keys())
    steps: list[Step] = []
    errors: list[str] = []
    for place, action in _actions(result):
        try:
            steps.append(_step(place, action, group, targets))
        except InvalidInputError as error:
            errors.append(f"{place}: {_without_text(error)}")
    return Steps(steps=await _with_vectors(engine, steps), errors=tuple(errors))


def _without_text(error: InvalidInputError) -> str:
    if isinstance(error, SecretRefusedError):
        return str(error)
    return f"{error.field}: expected {error.expected}"


async def _targets(pool: asyncpg.Pool, ids: set[UUID]) -> dict[UUID, Row]:
    if not ids:
        return {}
    async with unit_of_work(pool, readonly=True) as sql:
        return {row["id"]: row for row in await sql.fact_targets(ids=sorted(ids))}


def _actions(result: ConsolidationResult) -> Iterator[tuple[str, Action]]:
    """Yield each action with its place among the readable actions of its kind, in the order of application."""
    for name, actions in (
        ("new fact", result.new_facts),
        ("updated fact", result.updated_facts),
        ("new rule", result.new_rules),
        ("confirmation", result.confirmations),
    ):
        for number, action in enumerate(actions, start=1):
            yield f"{name} {number}", action


def _step(place: str, action: Action, group: Group, targets: Mapping[UUID, Row]) -> Step:
    """Return the step of an action, without vectors.

    Raises:
        InvalidInputError: The action cannot be stored, or names a memory that the model was not shown.
    """
    match action:
        case UUID():
            return _confirmation(place, action, group.known)
        case NewRule():
            return _rule(place, action, group)
        case UpdatedFact():
            target = targets.get(action.target_id)
            if target is None:
                raise InvalidInputError(
                    "target_id", "the id of a fact that the model was shown", action.target_id
                )
            return _fact(place, action, group, scope=target["scope"], target=target)
        case NewFact():
            return _fact(place, action, group, scope=group.butler)
        case _:
            assert_never(action)


def _confirmation(place: str, memory_id: UUID, known: Known) -> Confirm:
    if memory_id in known.facts:
        return Confirm(place=place, memory_type=MemoryType.FACT, memory_id=memory_id)
    if memory_id in known.rules:
        return Confirm(place=place, memory_type=MemoryType.RULE, memory_id=memory_id)
    raise InvalidInputError("id", "the id of a fact or rule that the model was shown", memory_id)


def _rule(place: str, rule: NewRule, group: Group) -> StoreRule:
    evidence = group.evidence(rule.evidence)
    draft = RuleDraft(
        content=rule.content,
        scope=group.butler,
        tags=rule.tags,
        source_butler=group.butler,
        source_episode_id=evidence[-1],
    )
    return StoreRule(place=place, draft=checked_rule(draft), evidence=evidence, embeddings=_NO_VECTORS)


def _fact(place: str, fact: NewFact, group: Group, *, scope: str, target: Row | None = None) -> StoreFact:
    evidence = group.evidence(fact.evidence)
    draft = FactDraft(
        subject=fact.subject,
        predicate=fact.predicate,
        content=fact.content,
        importance=fact.importance,
        permanence=fact.permanence,
        scope=scope,
        tags=fact.tags,
        # The entity is part of the key by which the new fact supersedes its target.
        entity_id=None if target is None else target["entity_id"],
        source_butler=group.butler,
        source_episode_id=evidence[-1],
    )
    return StoreFact(
        place=place,
        draft=checked_fact(draft),
        evidence=evidence,
        embeddings=_NO_VECTORS,
        target_id=None if target is None else target["id"],
    )


async def _with_vectors(engine: EmbeddingEngine, steps: Sequence[Step]) -> tuple[Step, ...]:
    """Return the steps with the vectors of new memories, which are computed together."""
    texts = {
        step.place: fact_text(step.draft) if isinstance(step, StoreFact) else step.draft.content
        for step in steps
        if not isinstance(step, Confirm)
    }
    if not texts:
        return tuple(steps)
    embeddings = await embed(engine, list(texts.values()))
    numbers = {place: number for number, place in enumerate(texts)}
    return tuple(
        step if isinstance(step, Confirm) else replace(step, embeddings=embeddings.only(numbers[step.place]))
        for step in steps
    )
