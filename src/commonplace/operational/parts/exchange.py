"""Memories as other devices of the same owner have them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from commonplace.core.clock import format_timestamp
from commonplace.core.confidence import is_active
from commonplace.core.errors import ConflictError
from commonplace.core.request_context import current_actor
from commonplace.operational.model.markers import MemoryCategory
from commonplace.operational.model.memories import Author, ChangeKind, Lesson
from commonplace.operational.rules import decay
from commonplace.operational.rules.exchange import (
    Fields,
    fields_of,
    first_text_of,
    memory_name,
    moment_of,
    undecayed_confidence,
)
from commonplace.operational.rules.wordings import wordings
from commonplace.operational.store import memories
from commonplace.operational.store.statements import OperationalStatements
from commonplace.storage.database import Columns
from commonplace.storage.store import Store


class OperationalExchange:
    """Memories by the names that they have on every device: ``memory.exchange``."""

    def __init__(self, store: Store[OperationalStatements], grace: timedelta) -> None:
        self._store = store
        self._grace = grace

    async def read(self) -> Mapping[str, Fields]:
        """Return the fields of every memory by its name."""
        rows = await self._store.reads.exchanged_memories(category=None, service=None)
        return {name: shown for name, (_, shown) in _by_name(rows).items()}

    async def ids(self) -> Mapping[str, int]:
        """Return the id of every memory by its name."""
        rows = await self._store.reads.exchanged_memories(category=None, service=None)
        return {name: memory_id for name, (memory_id, _) in _by_name(rows).items()}

    async def write(
        self, name: str, fields: Fields | None, *, seen: Fields | None, others: Sequence[Fields] = ()
    ) -> Fields | None:
        """Write a memory, or delete it permanently, and return the fields that it shows then.

        Args:
            name: What it is called on every device.
            fields: What it should show; ``None`` to delete it.
            seen: What it showed when it was last read; ``None`` if it was not there.
            others: The fields of changes whose text lost; their texts become wordings of the memory.

        Raises:
            ConflictError: It shows something else by now; nothing was written.
        """
        of = fields or seen
        if of is None:
            return None
        async with self._store.writing() as sql:
            by_name = await self._by_name(sql, of)
            memory_id, now = by_name.get(name, (None, None))
            if now not in (seen, fields):
                raise ConflictError("name", "A lesson changed here meanwhile.", name)
            author = Author(actor=current_actor(), now=self._store.now(), tier=of["tier"], reason="Synced.")
            if fields is None:
                if memory_id is not None:
                    await memories.delete(sql, [memory_id], author)
                return None
            if memory_id is None:
                memory_id = await _insert(sql, fields, author)
                await sql.point_corrections(name=name, related_id=memory_id)
            await self._update(
                sql, memory_id, fields, author, corrected_by=by_name.get(fields["corrected_by"])
            )
            await _keep_wordings(sql, memory_id, others, author)
            entry = (await self._by_name(sql, fields)).get(name)
            return None if entry is None else entry[1]  # It is the first of its name if that one was deleted.

    async def _by_name(self, sql: OperationalStatements, of: Fields) -> dict[str, tuple[int, dict[str, Any]]]:
        rows = await sql.exchanged_memories(category=of["category"], service=of["service"])
        return _by_name(rows)

    async def _update(
        self,
        sql: OperationalStatements,
        memory_id: int,
        fields: Fields,
        author: Author,
        *,
        corrected_by: tuple[int, dict[str, Any]] | None,
    ) -> None:
        before = await memories.lock(sql, memory_id)
        updated_at = moment_of(fields, "reinforced_at")
        weeks = decay.weeks_stale(updated_at, author.now, self._grace)
        undecayed = undecayed_confidence(fields)
        confidence = decay.decayed(undecayed, weeks)
        after = replace(
            before,
            observation=fields["text"],
            confidence=confidence,
            active=is_active(confidence) and not fields["is_retired"],
            updated_at=updated_at,
        )
        row = await _row_of(sql, fields, memory_id)
        is_doubted = fields["contradicted"] > row["contradicted"] + row["contradicted_elsewhere"]
        if is_doubted:
            by = author.because(author.reason, corrected_by[0] if corrected_by else None)
            await memories.replace(sql, before, after, ChangeKind.CONTRADICTED, by)
        elif after != before:
            await memories.replace(sql, before, after, ChangeKind.EDITED, author)
        await sql.charge_decay(
            memory_id=memory_id,
            counted_from=format_timestamp(updated_at),
            weeks_charged=weeks,
            lost=undecayed - confidence,
        )
        row = await _row_of(sql, fields, memory_id)
        await sql.put_counts(
            memory_id=memory_id,
            reinforced=fields["reinforced"] - row["reinforced"],
            contradicted=fields["contradicted"] - row["contradicted"],
            corrected_by=fields["corrected_by"],
            known_until=row["last_change"],
        )
        created_at = format_timestamp(moment_of(fields, "created_at"))
        await sql.set_created(memory_id=memory_id, created_at=created_at)


async def _row_of(sql: OperationalStatements, fields: Fields, memory_id: int) -> Columns:
    rows = await sql.exchanged_memories(category=fields["category"], service=fields["service"])
    return next(row for row in rows if row["id"] == memory_id)


async def _insert(sql: OperationalStatements, fields: Fields, author: Author) -> int:
    """Insert a memory with its first text, which gives it its name."""
    created = await memories.create(
        sql,
        service=fields["service"],
        category=MemoryCategory(fields["category"]),
        observation=fields["first_text"],
        confidence=undecayed_confidence(fields),
        author=author,
        seen_at=moment_of(fields, "reinforced_at"),
    )
    return created.id


async def _keep_wordings(
    sql: OperationalStatements, memory_id: int, others: Sequence[Fields], author: Author
) -> None:
    """Keep the texts of other devices that lost as wordings of a memory."""
    memory: Lesson = await memories.lock(sql, memory_id)
    texts = {each.text for each in wordings(await memories.history(sql, memory_id))}
    for text in sorted({each["text"] for each in others} - texts):
        await memories.replace(sql, memory, memory, ChangeKind.REPEATED, author, wording=text)


def _by_name(rows: Sequence[Columns]) -> dict[str, tuple[int, dict[str, Any]]]:
    """Return the id and the fields of memories by name; those that were learned with one text are numbered."""
    counts = Counter[str]()
    names: dict[int, str] = {}
    for row in rows:
        name = memory_name(row["category"], row["service"], first_text_of(row))
        counts[name] += 1
        names[row["id"]] = name if counts[name] == 1 else f"{name}-{counts[name]}"
    return {
        names[row["id"]]: (row["id"], fields_of(row, corrected_by=names.get(row["corrected_by"])))
        for row in rows
    }
