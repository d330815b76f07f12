"""Storage of facts: each key has one active fact, which a new fact supersedes."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from commonplace.core.errors import InvalidInputError
from commonplace.core.instructions import find_flags
from commonplace.core.sources import Source, at_least
from commonplace.knowledge.entities.subjects import Subjects, find_subjects, link_subjects, plain_type
from commonplace.knowledge.model import inputs
from commonplace.knowledge.model.fact_drafts import (
    FactDraft,
    all_keys,
    as_history,
    checked_fact,
    fact_text,
    with_period,
)
from commonplace.knowledge.model.kinds import DEFAULT_IMPORTANCE, GLOBAL_SCOPE, MemoryType, Moment
from commonplace.knowledge.model.permanence import DECAY_RATES, Permanence
from commonplace.knowledge.model.search_text import search_text
from commonplace.knowledge.rules.periods import Period
from commonplace.knowledge.statements import KnowledgeStatements
from commonplace.knowledge.store.draft_rows import columns, known_sources
from commonplace.knowledge.store.session import KnowledgeSession
from commonplace.knowledge.store.traced import traced
from commonplace.knowledge.store.unit_of_work import of_kind
from commonplace.knowledge.store.vectors import Embeddings, embed
from commonplace.storage.rows import Noun

LEAST_IMPORTANCE: Final = 8.0
"""The importance from which a superseded fact is reviewed; permanent and pinned facts are always reviewed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NearFact(Noun):
    """An active fact whose key is another spelling of the key of a new fact.

    See :mod:`~commonplace.knowledge.model.keys`.
    """

    id: UUID
    subject: str
    predicate: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FactReceipt:
    """The outcome of storing a fact.

    Attributes:
        id: The id of the new fact.
        superseded_id: The fact with the same key that was replaced, if any.
        entity_id: The entity of the fact, if any, given or named by the subject.
        period: The period that was read from the words of the fact, if any.
        superseded_text: The text of the fact that was replaced, if any.
        superseded_until: When the replaced fact stops being true, if it still holds because the new fact begins later.
        review_id: The review in which a person may keep both facts, because the replaced fact matters.
        current_id: The fact with the same key that stays current, because the period of the new fact has ended; the new
            fact is kept as history.
        current_text: The text of the fact that stays current, if any.
        contradicts_id: The more trusted fact with the same key; the new fact is held until a person confirms or forgets
            it.
        flags: The reasons why the text looks like an instruction; blocks leave the fact out until a person confirms it.
        near: The active fact of the scope whose key is another spelling of the new key, if a fact was stored alone and
            replaced none. Both facts are current.
    """

    id: UUID
    superseded_id: UUID | None
    period: Period | None = None
    contradicts_id: UUID | None = None
    flags: tuple[str, ...] = ()
    entity_id: UUID | None = None
    superseded_text: str | None = None
    superseded_until: datetime | None = None
    review_id: int | None = None
    current_id: UUID | None = None
    current_text: str | None = None
    near: NearFact | None = None


class Facts:
    """Storing of facts."""

    def __init__(self, session: KnowledgeSession) -> None:
        self._session = session

    async def store(
        self,
        *,
        subject: str,
        predicate: str,
        content: str,
        importance: float = DEFAULT_IMPORTANCE,
        permanence: str = Permanence.STANDARD,
        scope: str = GLOBAL_SCOPE,
        tags: Sequence[str] | None = None,
        entity_id: UUID | str | None = None,
        source_butler: str | None = None,
        source_episode_id: UUID | str | None = None,
        metadata: Mapping[str, Any] | None = None,
        valid_from: Moment | None = None,
        valid_to: Moment | None = None,
        source: str | None = None,
        allow_secrets: bool = False,
    ) -> FactReceipt:
        """Store a fact, which supersedes the active fact with the same key."""
        draft = FactDraft(
            subject=subject,
            predicate=predicate,
            content=content,
            importance=importance,
            permanence=permanence,
            scope=scope,
            tags=tags,
            entity_id=entity_id,
            source_butler=source_butler,
            source_episode_id=source_episode_id,
            metadata=metadata,
            valid_from=valid_from,
            valid_to=valid_to,
            source=source,
        )
        draft, period = with_period(draft, self._session.clock())
        (receipt,) = await self._store([draft], period=period, allow_secrets=allow_secrets)
        return receipt

    async def store_many(
        self, drafts: Sequence[FactDraft], *, allow_secrets: bool = False
    ) -> list[FactReceipt]:
        """Store up to 5,000 facts, all or none, with one embedding call and one statement."""
        return await self._store(drafts, allow_secrets=allow_secrets)

    async def _store(
        self, drafts: Sequence[FactDraft], *, period: Period | None = None, allow_secrets: bool
    ) -> list[FactReceipt]:
        """Store facts; the period is the one that the words of a single fact name."""
        if not drafts:
            return []
        facts = [checked_fact(draft, allow_secrets=allow_secrets) for draft in inputs.require_batch(drafts)]
        embeddings = await embed(self._session.engine, [fact_text(fact) for fact in facts])
        async with traced(self._session, "upsert_memory") as note, self._session.writing() as sql:
            facts, found = await with_entities(sql, facts)
            await sql.serialise_fact_keys(keys=all_keys(facts))
            now = self._session.clock()
            facts = [await as_history(sql, fact, period, now) for fact in facts]
            receipts = await insert_facts(sql, facts, embeddings, found=found, now=now)
            receipts = [await _reviewed(sql, receipt, now) for receipt in receipts]
            if len(facts) == 1:
                receipts = [await _hinted(sql, facts[0], receipts[0], period)]
            return note(receipts)


async def with_entities(
    sql: KnowledgeStatements, facts: Sequence[FactDraft]
) -> tuple[list[FactDraft], Subjects]:
    """Return facts with the entities that their subjects name, and the entities of all subjects.

    Args:
        sql: A transaction that has serialised no keys yet.
        facts: From :func:`checked_fact`.
    """
    makers = {
        fact.subject: kind
        for fact in facts
        if fact.entity_id is None and (kind := plain_type(fact.subject, fact.predicate)) is not None
    }
    found = await find_subjects(sql, {fact.subject for fact in facts}, makers)
    entities = found.entities
    linked = [replace(fact, entity_id=fact.entity_id or entities.get(fact.subject)) for fact in facts]
    return linked, found


async def insert_facts(
    sql: KnowledgeStatements,
    facts: Sequence[FactDraft],
    embeddings: Embeddings,
    *,
    found: Subjects,
    now: datetime,
) -> list[FactReceipt]:
    """Insert facts within an open transaction that has serialised their keys, and return receipts in order.

    Args:
        sql: The transaction.
        facts: From :func:`with_entities`, at least one.
        embeddings: The vectors of the :func:`fact_text` of each fact.
        found: The entities of the subjects; active facts about such a subject are linked first.
        now: The present.

    Raises:
        InvalidInputError: A fact names an entity or episode that does not exist; roll back the transaction or
            savepoint.
    """
    if len(facts) > 1 and _depend_on_order(facts, now):
        return [
            receipt
            for place, fact in enumerate(facts)
            for receipt in await insert_facts(sql, [fact], embeddings.only(place), found=found, now=now)
        ]
    await _require_entities(sql, {UUID(str(fact.entity_id)) for fact in facts if fact.entity_id})
    named = {
        (fact.scope, fact.subject, fact.predicate): number
        for number, fact in enumerate(facts)
        if fact.entity_id is not None and str(fact.entity_id) == str(found.entities.get(fact.subject))
    }
    left = await link_subjects(sql, named, found) if named else {}
    with known_sources(facts):
        stored = await sql.insert_facts(
            **columns(facts, [fact_text(fact) for fact in facts], embeddings),
            decay_rate=[DECAY_RATES[Permanence(fact.permanence)] for fact in facts],
            default_importance=DEFAULT_IMPORTANCE,
            default_permanence=Permanence.STANDARD,
            now=now,
        )
    for key, rivals in left.items():
        row = stored[named[key]] if key in named else None
        if row is None or row["contradicts_id"] or row["current_id"] or row["flags"]:
            continue
        own = await of_kind(MemoryType.FACT, sql).read(id=row["id"])
        if own is None:
            continue
        trust = Source(own["trust"])
        for rival in rivals:
            if trust in at_least(rival.trust):
                await sql.supersede_fact(id=rival.id, by_id=row["id"], now=now)
    return [
        FactReceipt(
            id=row["id"],
            superseded_id=row["supersedes_id"],
            entity_id=None if fact.entity_id is None else UUID(str(fact.entity_id)),
            contradicts_id=row["contradicts_id"],
            flags=tuple(row["flags"]),
            superseded_text=row["superseded_text"],
            superseded_until=row["superseded_until"],
            current_id=row["current_id"],
            current_text=row["current_text"],
        )
        for row, fact in zip(stored, facts, strict=True)
    ]


async def queue_review(
    sql: KnowledgeStatements, *, old_id: UUID, new_id: UUID, now: datetime, run_id: UUID | None = None
) -> int | None:
    """Queue a fact and the fact that it superseded if that one is permanent, important or pinned.

    Args:
        sql: The transaction that superseded the old fact.
        old_id: The superseded fact.
        new_id: The fact that superseded it.
        now: The present.
        run_id: The run that stored the new fact, if any.

    Returns:
        The id of the review, or ``None`` if the pair does not wait: the old fact does not matter, has the same words,
        or a person decided about the two texts before.
    """
    return await sql.queue_review(
        run_id=run_id, old_id=old_id, new_id=new_id, least_importance=LEAST_IMPORTANCE, now=now
    )


async def _reviewed(sql: KnowledgeStatements, receipt: FactReceipt, now: datetime) -> FactReceipt:
    """Return a receipt with the review of the replaced fact, if a person may decide to keep both."""
    if receipt.superseded_id is None:
        return receipt
    waits = await queue_review(sql, old_id=receipt.superseded_id, new_id=receipt.id, now=now)
    return replace(receipt, review_id=waits)


async def _hinted(
    sql: KnowledgeStatements, fact: FactDraft, receipt: FactReceipt, period: Period | None
) -> FactReceipt:
    """Return the receipt of a single fact with its period, if that was stored, and with the fact of a near key."""
    is_dated = fact.valid_from is not None or fact.valid_to is not None
    near = None
    if receipt.superseded_id is None:
        near = await sql.near_fact(id=receipt.id, search_text=search_text(f"{fact.subject} {fact.predicate}"))
    return replace(receipt, period=period if is_dated else None, near=near and NearFact.from_row(near))


def _depend_on_order(facts: Sequence[FactDraft], now: datetime) -> bool:
    """Return whether a fact may be held, or kept as history, because of another fact with its key."""
    keys = Counter(fact.key for fact in facts)
    rivals = [fact for fact in facts if keys[fact.key] > 1]
    if any(isinstance(fact.valid_to, datetime) and fact.valid_to <= now for fact in rivals):
        return True
    return len({(fact.source, bool(find_flags(fact_text(fact)))) for fact in rivals}) > 1


async def _require_entities(sql: KnowledgeStatements, ids: set[UUID]) -> None:
    if not ids:
        return
    found = {row["id"]: row["merged_into"] for row in await sql.lock_entities(ids=list(ids))}
    for entity_id in sorted(ids):
        if entity_id not in found:
            expected = "the id of an entity, and this one does not exist"
            raise InvalidInputError("entity_id", expected, str(entity_id))
        if found[entity_id] is not None:
            expected = f"the entity that this one was merged into, {found[entity_id]}"
            raise InvalidInputError("entity_id", expected, str(entity_id))
