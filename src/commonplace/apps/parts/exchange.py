"""Digests as other devices of the same owner have them."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Final

from commonplace.apps.model.memories import Author, ChangeKind, Digest, DigestDraft, Metadata
from commonplace.apps.store import memories
from commonplace.apps.store.locks import memories_lock
from commonplace.apps.store.statements import AppStatements
from commonplace.core.clock import format_timestamp
from commonplace.core.errors import ConflictError
from commonplace.core.request_context import current_actor
from commonplace.storage.database import Columns
from commonplace.storage.store import Store

Fields = Mapping[str, Any]
"""The fields of a digest: values of JSON."""

NAME_CHARS: Final = 32


class AppExchange:
    """Digests by the names that they have on every device: ``memory.exchange``."""

    def __init__(self, store: Store[AppStatements]) -> None:
        self._store = store

    async def read(self) -> Mapping[str, Fields]:
        """Return the fields of every digest by its name."""
        rows = await self._store.reads.exchanged_memories(app_id=None)
        return {_name_of(row): _fields_of(row) for row in rows}

    async def ids(self) -> Mapping[str, int]:
        """Return the id of every digest by its name."""
        rows = await self._store.reads.exchanged_memories(app_id=None)
        return {_name_of(row): row["id"] for row in rows}

    async def write(
        self, name: str, fields: Fields | None, *, seen: Fields | None, others: Sequence[Fields] = ()
    ) -> Fields | None:
        """Write a digest, or delete it permanently, and return the fields that it shows then.

        An app may have an eleventh digest then, until its next compaction.

        Args:
            name: What it is called on every device.
            fields: What it should show; ``None`` to delete it.
            seen: What it showed when it was last read; ``None`` if it was not there.
            others: The fields of changes whose text lost; the history keeps their texts.

        Raises:
            ConflictError: It shows something else by now; nothing was written.
        """
        of = fields or seen
        if of is None:
            return None
        app_id = of["app"]
        async with self._store.writing(memories_lock(app_id)) as sql:
            row = await _row_of(sql, app_id, name)
            now = None if row is None else _fields_of(row)
            if now not in (seen, fields):
                raise ConflictError("name", "A digest changed here meanwhile.", name)
            if now == fields and not others:
                return now
            author = Author(actor=current_actor(), now=self._store.now(), reason="Synced.")
            if row is not None:
                digest = Digest.from_row(row)
                await _change(sql, digest, fields, author)
            elif fields is not None:
                await _insert(sql, fields, author)
            row = await _row_of(sql, app_id, name)
            if row is None:
                return None
            await _keep_texts(sql, Digest.from_row(row), others, author)
            return _fields_of(row)


async def _insert(sql: AppStatements, fields: Fields, author: Author) -> None:
    """Insert a digest; its app is installed if it is not known here."""
    if await sql.get_app(app_id=fields["app"]) is None:
        moment = format_timestamp(author.now)
        await sql.register_app(app_id=fields["app"], name=fields["app_name"], moment=moment)
    draft = DigestDraft(
        app_id=fields["app"],
        user_id=fields["user"],
        content=fields["text"],
        source_conversation_id=fields["conversation"],
        metadata=Metadata.from_json(json.dumps(fields["metadata"])),
        created_at=datetime.fromisoformat(fields["created_at"]),
        updated_at=datetime.fromisoformat(fields["updated_at"]),
    )
    await memories.create(sql, draft, author, ChangeKind.IMPORTED)


async def _change(sql: AppStatements, digest: Digest, fields: Fields | None, author: Author) -> None:
    """Write the text of a digest, or delete it."""
    if fields is None:
        await memories.delete(sql, [digest], author)
        return
    await sql.update_memory(
        id=digest.id,
        content=fields["text"],
        updated_at=format_timestamp(datetime.fromisoformat(fields["updated_at"])),
        metadata=Metadata.from_json(json.dumps(fields["metadata"])).to_json(),
    )
    if digest.content != fields["text"]:
        await memories.record(
            sql, digest, ChangeKind.EDITED, author, before=digest.content, after=fields["text"]
        )


async def _keep_texts(sql: AppStatements, digest: Digest, others: Sequence[Fields], author: Author) -> None:
    """Keep the texts of other devices that lost in the history of a digest."""
    history = await memories.history(sql, digest.id) if others else []
    known = {digest.content, *(each.before for each in history), *(each.after for each in history)}
    for text in sorted({each["text"] for each in others} - known):
        await memories.record(sql, digest, ChangeKind.EDITED, author, before=text, after=digest.content)


async def _row_of(sql: AppStatements, app_id: str, name: str) -> Columns | None:
    rows = await sql.exchanged_memories(app_id=app_id)
    return next((row for row in rows if _name_of(row) == name), None)


def _name_of(row: Columns) -> str:
    """Return what a digest is called on every device: by its conversation, else by its space and its time."""
    digest = Digest.from_row(row)
    by = digest.source_conversation_id or [digest.user_id, _moment(digest.created_at)]
    parts = json.dumps([digest.app_id, by], ensure_ascii=False)
    return sha256(parts.encode()).hexdigest()[:NAME_CHARS]


def _fields_of(row: Columns) -> dict[str, Any]:
    digest = Digest.from_row(row)
    return {
        "app": digest.app_id,
        "app_name": row["app_name"],
        "user": digest.user_id,
        "conversation": digest.source_conversation_id,
        "text": digest.content,
        "metadata": digest.metadata.as_dict(),
        "created_at": _moment(digest.created_at),
        "updated_at": _moment(digest.updated_at),
    }


def _moment(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="microseconds")
