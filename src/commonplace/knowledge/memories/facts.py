"""Storage of facts: each key has one active fact, which a new fact supersedes."""

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Any, Final
from uuid import UUID

from commonplace.core.errors import InvalidInputError
from commonplace.core.sources import Source
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge.entities.registry import merged_error
from commonplace.knowledge.entities.subjects import Subjects, find_subjects, link_subjects, plain_type
from commonplace.knowledge.memories.fact_receipts import FactReceipt, receipt_of, with_hints
from commonplace.knowledge.memories.replaced import find_replaced, no_longer_holds, oppose
from commonplace.knowledge.model import inputs
from commonplace.knowledge.model.bounds import DEFAULT_IMPORTANCE
from commonplace.knowledge.model.fact_drafts import FactDraft, all_keys, checked_fact, fact_heading, fact_text
from commonplace.knowledge.model.kinds import GLOBAL_SCOPE, MemoryType, Moment, Validity
from commonplace.knowledge.model.permanence import Permanence
from commonplace.knowledge.model.search_text import search_text
from commonplace.knowledge.rules.claims import Claim, in_time
from commonplace.knowledge.rules.fact_periods import with_period
from commonplace.knowledge.rules.near_facts import MOST_NEAR, Meeting, SubjectFact, meeting
from commonplace.knowledge.rules.periods import Period
from commonplace.knowledge.rules.supersession import ActiveFact, Candidate, Placement, decide_supersession
from commonplace.knowledge.store.draft_rows import columns, known_sources
from commonplace.knowledge.store.passages import store_passages
from commonplace.knowledge.store.session import KnowledgeSession
from commonplace.knowledge.store.statements import KnowledgeStatements
from commonplace.knowledge.store.traced import traced
from commonplace.knowledge.store.vectors import EmbeddedText, Embeddings, embed_memories
from commonplace.storage.database import Columns
from commonplace.storage.rows import read_row

_READ_BY: Final = ("content", "scope", "subject", "predicate", "entity_id", "source_episode_id")
"""The columns by which the facts that drafts may supersede are read."""

_DECIDED: Final = (
    *("source", "trust", "decay_rate", "validity", "created_as", "supersedes_id", "contradicts_id"),
    *("reference_count", "last_referenced_at", "last_confirmed_at"),
)
"""The columns that a placement decides."""

_INHERITED: Final = ("importance", "permanence", "valid_from", "valid_to")
"""Columns of the draft of a placement. Tags and metadata are inherited too, as JSON."""


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
        replaces: UUID | str | None = None,
        allow_secrets: bool = False,
        compares: bool = True,
    ) -> FactReceipt:
        """Store a fact, which supersedes the active fact with the same key, and the fact that it names."""
        times = self._session.times
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
            valid_from=inputs.optional_stored_moment(valid_from, field="valid_from", times=times),
            valid_to=inputs.optional_stored_moment(valid_to, field="valid_to", at_end=True, times=times),
            source=source,
        )
        draft, period = with_period(draft, self._session.local_now())
        (receipt,) = await self._store(
            [draft], period=period, replaces=replaces, allow_secrets=allow_secrets, compares=compares
        )
        return receipt

    async def store_many(
        self, drafts: Sequence[FactDraft], *, allow_secrets: bool = False
    ) -> list[FactReceipt]:
        """Store up to 5,000 facts, all or none, with one embedding call and one statement."""
        return await self._store(drafts, allow_secrets=allow_secrets, compares=False)

    async def _store(
        self,
        drafts: Sequence[FactDraft],
        *,
        period: Period | None = None,
        replaces: UUID | str | None = None,
        allow_secrets: bool,
        compares: bool,
    ) -> list[FactReceipt]:
        """Store facts.

        Only a single fact names a period with its words, replaces a fact that is named, or is compared with others.
        """
        if not drafts:
            return []
        facts = [checked_fact(draft, allow_secrets=allow_secrets) for draft in inputs.require_batch(drafts)]
        embeddings = await embed_facts(self._session.engine, facts)
        async with traced(self._session, "upsert_memory") as note, self._session.writing() as sql:
            now = self._session.clock()
            target_id = None
            if replaces is not None:
                target_id = (await find_replaced(sql, replaces, MemoryType.FACT, now=now)).id
            facts, found = await with_entities(sql, facts)
            await sql.serialise_fact_keys(keys=all_keys(facts))
            near = await _near_facts(sql, facts[0], embeddings) if len(facts) == 1 else []
            met = Meeting()
            if compares and target_id is None and near and _is_open(facts[0], period):
                met = await asyncio.to_thread(meeting, facts[0], near)
            own_keys = {each.id for each in near if each.has_own_key}
            placements = await insert_facts(
                sql,
                facts,
                embeddings,
                found=found,
                now=now,
                period=period,
                target_id=target_id or met.target_of(own_keys),
                is_change=target_id is not None,
                same_ids=met.same,
            )
            reviews = await queue_reviews(sql, placements, now=now)
            receipts = [receipt_of(each, reviews) for each in placements]
            if len(facts) == 1:
                opposed = await _opposed(sql, placements[0], met, now=now)
                receipts = [with_hints(facts[0], replace(receipts[0], opposed_ids=opposed), period, near)]
            return note(receipts)


async def embed_facts(engine: EmbeddingEngine, facts: Sequence[FactDraft]) -> Embeddings:
    """Compute the vectors of the :func:`fact_text` of each fact, and of the passages of long facts.

    Raises:
        EmbeddingError: The model cannot be found or used.
    """
    return await embed_memories(
        engine, [EmbeddedText(content=fact.content, heading=fact_heading(fact)) for fact in facts]
    )


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
    period: Period | None = None,
    target_id: UUID | None = None,
    is_change: bool = False,
    same_ids: tuple[UUID, ...] = (),
) -> list[Placement]:
    """Insert facts within an open transaction that has serialised their keys, and return their placements in order.

    Args:
        sql: The transaction.
        facts: From :func:`with_entities`, at least one.
        embeddings: From :func:`embed_facts`.
        found: The entities of the subjects; active facts about such a subject are linked first.
        now: The present.
        period: The period that the words of a single fact name.
        target_id: The active fact that a single fact replaces, whatever its key.
        is_change: Whether a single fact is known to take the place of the active fact of its key.
        same_ids: The facts that say the same as a single fact in other words.

    Raises:
        InvalidInputError: A fact names an entity or episode that does not exist; roll back the transaction or
            savepoint.
        ConflictError: The target is not active any more; roll back likewise.
    """
    await _require_entities(sql, {UUID(str(fact.entity_id)) for fact in facts if fact.entity_id})
    naming = [
        fact.entity_id is not None and fact.entity_id == found.entities.get(fact.subject) for fact in facts
    ]
    if any(naming):
        keys = {
            (fact.scope, fact.subject, fact.predicate)
            for fact, names in zip(facts, naming, strict=True)
            if names
        }
        await link_subjects(sql, keys, found)
    values = columns(facts, [fact_text(fact) for fact in facts], embeddings)
    rows: Sequence[Columns] = await sql.lock_active_facts(
        **{name: values[name] for name in _READ_BY}, names_entity=naming, target_id=[target_id] * len(facts)
    )
    beside = [list(group) for _, group in groupby(rows, key=itemgetter("place"))]
    candidates = [
        replace(
            _candidate(fact, each, fact_id, flags=tuple(json.loads(flags)), period=period),
            is_change=is_change,
            same_ids=same_ids,
        )
        for fact, each, fact_id, flags in zip(facts, beside, values["id"], values["flags"], strict=True)
    ]
    target = candidates[0].target
    if is_change and target_id is not None and target is None:
        raise no_longer_holds(MemoryType.FACT, target_id)
    placements = _decided(candidates, now)
    with known_sources(facts):
        await sql.insert_facts(**values | _decided_columns(placements), now=now)
    await store_passages(sql, MemoryType.FACT, values["id"], embeddings)
    if target is not None and placements[0].contradicts_id not in {None, target.id}:
        await oppose(sql, MemoryType.FACT, placements[0].id, target.id, now=now)
    return placements


def _decided(candidates: Sequence[Candidate], now: datetime) -> list[Placement]:
    """Return the placements of candidates in their order; of one key, the candidate that is later in time wins."""
    claims = [_claim(each.draft) for each in candidates]
    placements = decide_supersession([candidates[place] for place in in_time(claims)], now)
    by_id = {each.id: each for each in placements}
    return [by_id[each.id] for each in candidates]


def _claim(draft: FactDraft) -> Claim:
    """Return the claim of a checked draft."""
    begins, ends = (
        each if isinstance(each, datetime) else None for each in (draft.valid_from, draft.valid_to)
    )
    return Claim(
        scope=draft.scope,
        subject=draft.subject if draft.entity_id is None else str(draft.entity_id),
        predicate=draft.predicate,
        content=draft.content,
        valid_from=begins,
        valid_to=ends,
    )


def _candidate(
    fact: FactDraft, rows: Sequence[Columns], fact_id: UUID, *, flags: tuple[str, ...], period: Period | None
) -> Candidate:
    """Return a draft with the rows of ``lock_active_facts`` about it."""
    first = rows[0]
    known = [(row["role"], read_row(ActiveFact, row)) for row in rows if row["id"] is not None]
    by_role = dict(known)
    return Candidate(
        id=fact_id,
        draft=fact,
        words=first["draft_words"],
        session_source=Source(first["session_source"]),
        episode_trust=first["episode_trust"] and Source(first["episode_trust"]),
        said_at=first["said_at"],
        flags=flags,
        period=period,
        active=by_role.get("active"),
        unlinked=tuple(each for role, each in known if role == "unlinked"),
        target=by_role.get("target"),
    )


def _decided_columns(placements: Sequence[Placement]) -> dict[str, Any]:
    """Return the parameters of ``insert_facts`` that were decided, as one list for each column."""
    ended = [(each.id, placement.id, each.valid_to) for placement in placements for each in placement.endings]
    ended_id, ended_by, ended_at = map(list, zip(*ended, strict=True)) if ended else ([], [], [])
    return {
        **{name: [getattr(each, name) for each in placements] for name in _DECIDED},
        **{name: [getattr(each.draft, name) for each in placements] for name in _INHERITED},
        "tags": [inputs.json_text(each.draft.tags) for each in placements],
        "metadata": [inputs.json_text(each.draft.metadata) for each in placements],
        "ended_id": ended_id,
        "ended_by": ended_by,
        "ended_at": ended_at,
    }


async def queue_reviews(
    sql: KnowledgeStatements, placements: Iterable[Placement], *, now: datetime, run_id: UUID | None = None
) -> dict[tuple[UUID, UUID], int]:
    """Queue new facts and the facts that they superseded, where a person may decide to keep both.

    Args:
        sql: The transaction that inserted the facts.
        placements: From :func:`insert_facts`.
        now: The present.
        run_id: The run that stored the new facts, if any.

    Returns:
        The ids of the reviews by superseded and new fact. A pair does not wait if a person decided about the two texts
        before.
    """
    pairs = [
        (ending.id, placement.id, ending.review_reason)
        for placement in placements
        for ending in placement.endings
        if ending.review_reason is not None
    ]
    if not pairs:
        return {}
    old_ids, new_ids, reasons = map(list, zip(*pairs, strict=True))
    rows = await sql.queue_reviews(run_id=run_id, old_ids=old_ids, new_ids=new_ids, reasons=reasons, now=now)
    return {(row["old_id"], row["new_id"]): row["id"] for row in rows}


async def _near_facts(sql: KnowledgeStatements, fact: FactDraft, embeddings: Embeddings) -> list[SubjectFact]:
    """Return the active facts about the subject of a single fact, those of its key and of near keys first."""
    rows = await sql.near_facts(
        scope=fact.scope,
        subject=fact.subject,
        predicate=fact.predicate,
        entity_id=fact.entity_id and UUID(str(fact.entity_id)),
        subject_text=search_text(fact.subject),
        key_text=search_text(f"{fact.subject} {fact.predicate}"),
        embedding=embeddings.vectors[0],
        version=embeddings.version,
        limit=MOST_NEAR,
    )
    return SubjectFact.from_rows(rows)


def _is_open(fact: FactDraft, period: Period | None) -> bool:
    """Return whether a fact has no known end."""
    return fact.valid_to is None and (period is None or period.valid_to is None)


async def _opposed(
    sql: KnowledgeStatements, placement: Placement, met: Meeting, *, now: datetime
) -> tuple[UUID, ...]:
    """Link a fact that is active to the facts that it may contradict, and return their ids."""
    if placement.validity is not Validity.ACTIVE:
        return ()
    for each in met.opposed:
        await oppose(sql, MemoryType.FACT, placement.id, each, now=now)
    return met.opposed


async def _require_entities(sql: KnowledgeStatements, ids: set[UUID]) -> None:
    if not ids:
        return
    found = {row["id"]: row["merged_into"] for row in await sql.lock_entities(ids=list(ids))}
    for entity_id in sorted(ids):
        if entity_id not in found:
            expected = "the id of an entity, and this one does not exist"
            raise InvalidInputError("entity_id", expected, str(entity_id))
        if found[entity_id] is not None:
            raise merged_error("entity_id", entity_id, found[entity_id])
