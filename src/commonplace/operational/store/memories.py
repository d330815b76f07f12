"""Memories of operational memory: their rows and their changes.

Every change writes the row and its history in the transaction of the given statements.
:mod:`~commonplace.operational.lessons.lifecycle` decides what changes.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from commonplace.core.clock import format_timestamp
from commonplace.core.confidence import is_active
from commonplace.core.text import clean_text
from commonplace.operational.model.markers import MemoryCategory
from commonplace.operational.model.memories import Author, Change, ChangeKind, Lesson, MemoryFilter, state_of
from commonplace.operational.store.statements import OperationalStatements
from commonplace.storage.database import containing


async def get(sql: OperationalStatements, memory_id: int) -> Lesson:
    """Return one memory.

    Raises:
        NotFoundError: No memory has this id.
    """
    return Lesson.existing(await sql.get_memory(id=memory_id), memory_id)


async def lock(sql: OperationalStatements, memory_id: int) -> Lesson:
    """Return one memory and lock it, so that no other process changes it until the transaction ends.

    To avoid deadlocks, lock several memories in ascending order of their ids.

    Raises:
        NotFoundError: No memory has this id.
    """
    return Lesson.existing(await sql.lock_memory(id=memory_id), memory_id)


async def find(sql: OperationalStatements, wanted: MemoryFilter) -> list[Lesson]:
    """Return the memories that match a filter, in the order of the filter."""
    page: dict[str, Any] = {
        "active": None if wanted.active is None else int(wanted.active),
        "limit": wanted.limit,
        "offset": wanted.offset,
    }
    if wanted.service is not None or wanted.general or wanted.search is not None:
        rows = await sql.narrowed_memories(**_conditions(wanted), sort=wanted.sort, **page)
        return Lesson.from_rows(rows)
    in_order = {
        "service": sql.memories_by_service,
        "confidence": sql.memories_by_confidence,
        "recency": sql.memories_by_recency,
    }[wanted.sort]
    return Lesson.from_rows(await in_order(category=wanted.category, **page))


async def count(sql: OperationalStatements, wanted: MemoryFilter) -> Mapping[bool, int]:
    """Return how many active and inactive memories match a filter, ignoring its field ``active``."""
    rows = await sql.count_memories(**_conditions(wanted))
    return {bool(row["active"]): row["count"] for row in rows}


def _conditions(wanted: MemoryFilter) -> dict[str, Any]:
    return {
        "service": None if wanted.service is None else clean_text(wanted.service),
        "general": int(wanted.general),
        "category": wanted.category,
        "search": None if wanted.search is None else containing(clean_text(wanted.search).lower()),
    }


async def lock_candidates(
    sql: OperationalStatements, service: str | None, category: MemoryCategory
) -> list[Lesson]:
    """Return the active memories of one service and category, oldest first, and lock them; see :func:`lock`."""
    return Lesson.from_rows(await sql.lock_candidates(service=service, category=category))


async def history(sql: OperationalStatements, memory_id: int) -> list[Change]:
    """Return the changes of a memory, oldest first; a deleted memory keeps its history."""
    return Change.from_rows(await sql.changes_of(memory_id=memory_id))


async def session_changed(
    sql: OperationalStatements, memory: Lesson, kinds: tuple[ChangeKind, ChangeKind], session_id: int | None
) -> bool:
    """Return whether a session has already changed a memory in one of two ways; operators have no session."""
    if session_id is None:
        return False
    kind, other = kinds
    return bool(
        await sql.session_changed(memory_id=memory.id, kind=kind, other_kind=other, session_id=session_id)
    )


async def seen_since(sql: OperationalStatements, memory: Lesson, moment: datetime) -> bool:
    """Return whether a session saw a memory again, or an operator edited it, after a time."""
    return bool(await sql.seen_since(memory_id=memory.id, moment=format_timestamp(moment)))


async def create(
    sql: OperationalStatements,
    *,
    service: str | None,
    category: MemoryCategory,
    observation: str,
    confidence: float,
    author: Author,
    seen_at: datetime | None = None,
    weeks_charged: int = 0,
    lost: float = 0.0,
) -> Lesson:
    """Add a memory; the author's ``related_id`` is the memory that it corrects or refines.

    ``seen_at`` is when it was last seen, by default now; its confidence contains the decay of ``weeks_charged`` weeks
    since then, which took ``lost`` of it.
    """
    row = await sql.insert_memory(
        service=service,
        category=category,
        observation=observation,
        confidence=confidence,
        active=int(is_active(confidence)),
        moment=format_timestamp(seen_at or author.now),
        session_id=author.session_id,
        tier=author.tier,
    )
    memory = Lesson.from_row(row)
    if weeks_charged:
        counted_from = format_timestamp(memory.updated_at)
        await sql.charge_decay(
            memory_id=memory.id, counted_from=counted_from, weeks_charged=weeks_charged, lost=lost
        )
    await _record(sql, memory.id, ChangeKind.CREATED, author, after=state_of(memory))
    return memory


async def replace(
    sql: OperationalStatements,
    before: Lesson,
    after: Lesson,
    kind: ChangeKind,
    author: Author,
    *,
    wording: str | None = None,
) -> Lesson:
    """Write the mutable fields of a memory: observation, confidence, active, ``updated_at``.

    ``before`` is the memory as locked in this transaction. ``wording`` is the emitted text, which is stored if the
    memory is worded differently.

    Returns:
        The memory after the change.

    Raises:
        NotFoundError: No memory has this id.
    """
    row = await sql.update_memory(
        id=after.id,
        observation=after.observation,
        confidence=after.confidence,
        active=int(after.active),
        updated_at=format_timestamp(after.updated_at),
    )
    changed_memory = Lesson.existing(row, after.id)
    old, new = state_of(before), state_of(after)
    changed = [key for key in new if new[key] != old[key]]
    await _record(
        sql,
        after.id,
        kind,
        author,
        before={key: old[key] for key in changed},
        after={key: new[key] for key in changed},
        wording=None if wording in {before.observation, after.observation} else wording,
    )
    return changed_memory


async def delete(sql: OperationalStatements, ids: Sequence[int], author: Author) -> list[int]:
    """Delete memories permanently, including their texts in the history, and return the ids that existed."""
    deleted: list[int] = []
    for memory_id in sorted(set(ids)):
        if await sql.delete_memory(id=memory_id) is None:
            continue
        await sql.forget_texts(memory_id=memory_id)
        await _record(sql, memory_id, ChangeKind.DELETED, author)
        deleted.append(memory_id)
    return deleted


async def _record(
    sql: OperationalStatements,
    memory_id: int,
    kind: ChangeKind,
    author: Author,
    *,
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
    wording: str | None = None,
) -> None:
    await sql.record_change(
        memory_id=memory_id,
        kind=kind,
        actor=author.actor,
        session_id=author.session_id,
        before=None if before is None else json.dumps(before, ensure_ascii=False),
        after=None if after is None else json.dumps(after, ensure_ascii=False),
        reason=author.reason,
        wording=wording,
        related_id=author.related_id,
        moment=format_timestamp(author.now),
    )
