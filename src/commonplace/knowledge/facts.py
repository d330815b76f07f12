"""Storing facts: one active fact for each key; a new fact supersedes the fact before it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID, uuid4

import asyncpg

from commonplace.core.clock import Clock, utc_now
from commonplace.core.errors import InvalidInputError
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge import inputs
from commonplace.knowledge.kinds import DEFAULT_IMPORTANCE, GLOBAL_SCOPE
from commonplace.knowledge.lifecycle.permanence import DECAY_RATES, Permanence, require_permanence
from commonplace.knowledge.search_text import search_text
from commonplace.knowledge.unit_of_work import require_context, unit_of_work
from commonplace.knowledge.vectors import Embeddings, embed
from commonplace.storage.database import Statements

RESERVED_METADATA: Final = frozenset({"status"})
"""``status`` marks a fading fact. Source: KNW-02."""

_SEPARATOR: Final = "\x1f"


@dataclass(frozen=True, slots=True, kw_only=True)
class FactDraft:
    """A fact to store.

    Attributes:
        subject: The person or thing, 1 to 256 characters. With predicate and scope, the key of the fact.
        predicate: The attribute or relation, such as ``lives_in``, 1 to 256 characters.
        content: The statement, 1 to 1,000,000 characters.
        importance: 0.0 to 10.0.
        permanence: How long the fact is expected to hold: a
            :class:`~commonplace.knowledge.lifecycle.permanence.Permanence`.
        scope: ``"global"``, or the butler that the fact is for.
        tags: At most 50, of at most 100 characters.
        entity_id: The entity of the subject; replaces the subject in the key.
        source_butler: The butler that learned the fact.
        source_episode_id: The episode that the fact was learned from.
        metadata: A JSON object without the key ``status``.
    """

    subject: str
    predicate: str
    content: str
    importance: float = DEFAULT_IMPORTANCE
    permanence: str = Permanence.STANDARD
    scope: str = GLOBAL_SCOPE
    tags: Sequence[str] | None = None
    entity_id: UUID | str | None = None
    source_butler: str | None = None
    source_episode_id: UUID | str | None = None
    metadata: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FactReceipt:
    """The outcome of storing a fact; ``superseded_id`` is the fact of the same key that it replaced, if any."""

    id: UUID
    superseded_id: UUID | None


async def store_fact(
    pool: asyncpg.Pool,
    engine: EmbeddingEngine,
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
    allow_secrets: bool = False,
    clock: Clock = utc_now,
) -> UUID:
    """Store a fact and return its id; see :class:`FactDraft` and :func:`store_facts`.

    Source: KNW-05.2, KNW-05.3.
    """
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
    )
    (receipt,) = await store_facts(pool, engine, [draft], allow_secrets=allow_secrets, clock=clock)
    return receipt.id


async def store_facts(
    pool: asyncpg.Pool,
    engine: EmbeddingEngine,
    drafts: Sequence[FactDraft],
    *,
    allow_secrets: bool = False,
    clock: Clock = utc_now,
) -> list[FactReceipt]:
    """Store up to 5,000 facts with one computation of vectors and one statement, all or none.

    A fact supersedes the active fact of its key, ``(scope, subject, predicate)`` or ``(scope, entity, predicate)``;
    of two drafts with one key the later supersedes the earlier.

    Returns:
        A receipt for each draft, in the order of the drafts.

    Raises:
        InvalidInputError: A value of a draft is invalid, or names an entity or episode that does not exist; the
            message names the field.
        SecretRefusedError: A text looks like a secret, and ``allow_secrets`` is not set.
        TenantUnsetError: No request context is set.
        EmbeddingError: The model cannot be used.
        StorageUnavailableError: The server cannot be reached.

    Source: KNW-02.2, KNW-05.2, R-KNW-3.
    """
    require_context()
    if not drafts:
        return []
    rows = [fact_row(draft, allow_secrets=allow_secrets) for draft in inputs.require_batch(drafts)]
    embeddings = await embed(engine, [fact_text(row) for row in rows])
    async with unit_of_work(pool) as sql:
        await sql.serialise_fact_keys(keys=[fact_key(row) for row in rows])
        return await insert_facts(sql, rows, embeddings, now=clock())


def fact_row(draft: FactDraft, *, allow_secrets: bool = False) -> dict[str, Any]:
    """Return the checked columns of a draft, with a new id.

    Raises:
        InvalidInputError: A value of the draft is invalid; the message names the field.
        SecretRefusedError: A text looks like a secret, and ``allow_secrets`` is not set.
    """
    permanence = require_permanence(draft.permanence)
    metadata = inputs.require_metadata(
        draft.metadata, reserved=RESERVED_METADATA, allow_secrets=allow_secrets
    )
    return {
        "id": uuid4(),
        "subject": inputs.require_key(draft.subject, field="subject", allow_secrets=allow_secrets),
        "predicate": inputs.require_key(draft.predicate, field="predicate", allow_secrets=allow_secrets),
        "content": inputs.require_content(draft.content, allow_secrets=allow_secrets),
        "importance": inputs.require_importance(draft.importance),
        "decay_rate": DECAY_RATES[permanence],
        "permanence": permanence,
        "source_butler": inputs.optional_scope(
            draft.source_butler, field="source_butler", allow_secrets=allow_secrets
        ),
        "source_episode_id": inputs.optional_id(draft.source_episode_id, field="source_episode_id"),
        "entity_id": inputs.optional_id(draft.entity_id, field="entity_id"),
        "scope": inputs.require_scope(draft.scope, allow_secrets=allow_secrets),
        "tags": inputs.json_text(inputs.require_tags(draft.tags, allow_secrets=allow_secrets)),
        "metadata": inputs.json_text(metadata),
    }


def fact_text(row: Mapping[str, Any]) -> str:
    """Return the text that a fact is found by and that its vector is computed from."""
    return f"{row['subject']} {row['predicate']} {row['content']}"


def fact_key(row: Mapping[str, Any]) -> str:
    """Return the key of a fact for ``serialise_fact_keys``, which runs once before facts are inserted."""
    return _SEPARATOR.join((row["scope"], row["predicate"], str(row["entity_id"] or row["subject"])))


async def insert_facts(
    sql: Statements, rows: Sequence[Mapping[str, Any]], embeddings: Embeddings, *, now: datetime
) -> list[FactReceipt]:
    """Insert facts within an open transaction that has serialised their keys.

    Args:
        sql: The transaction.
        rows: From :func:`fact_row`, at least one.
        embeddings: Of the :func:`fact_text` of each row.
        now: The present.

    Returns:
        A receipt for each row, in the order of the rows.

    Raises:
        InvalidInputError: A row names an entity or episode that does not exist; roll back the transaction or savepoint.
    """
    await _require_entities(sql, {row["entity_id"] for row in rows} - {None})
    try:
        stored = await sql.insert_facts(
            **inputs.by_column(rows),
            search_text=[search_text(fact_text(row)) for row in rows],
            embedding=embeddings.vectors,
            model=embeddings.model,
            version=embeddings.version,
            now=now,
        )
    except asyncpg.ForeignKeyViolationError:
        sources = sorted({str(row["source_episode_id"]) for row in rows if row["source_episode_id"]})
        raise InvalidInputError("source_episode_id", "the id of an existing episode", sources) from None
    return [FactReceipt(id=row["id"], superseded_id=row["supersedes_id"]) for row in stored]


async def _require_entities(sql: Statements, ids: set[UUID]) -> None:
    if not ids:
        return
    found = {row["id"]: row["merged_into"] for row in await sql.lock_entities(ids=list(ids))}
    for entity_id in sorted(ids):
        if entity_id not in found:
            raise InvalidInputError(
                "entity_id", "the id of an entity, and this one does not exist", str(entity_id)
            )
        if found[entity_id] is not None:
            raise InvalidInputError(
                "entity_id", f"the entity that this one was merged into, {found[entity_id]}", str(entity_id)
            )
