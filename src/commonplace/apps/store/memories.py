"""Memories of apps: their rows and their changes.

Every change writes the row and its history in the transaction of the given statements.
:mod:`~commonplace.apps.rules.compaction_decision` decides what changes.
"""

from collections.abc import Sequence

from commonplace.apps.model.bounds import MAX_MEMORIES
from commonplace.apps.model.memories import ALL_ROWS, Author, Change, ChangeKind, Digest, DigestDraft
from commonplace.apps.store.statements import AppStatements
from commonplace.core.clock import format_timestamp


async def get(sql: AppStatements, memory_id: int) -> Digest:
    """Return one memory.

    Raises:
        NotFoundError: No memory has this id.
    """
    return Digest.existing(await sql.get_memory(id=memory_id), memory_id)


async def visible(
    sql: AppStatements, app_id: str, *, user_id: str | None = None, limit: int = MAX_MEMORIES
) -> list[Digest]:
    """Return the memories that a conversation of an app can see, newest first; empty for an unknown app.

    These are the app's own memories and those shared with it, from the common spaces and from the user's space.
    """
    return Digest.from_rows(await sql.visible(app_id=app_id, user_id=user_id, limit=limit))


async def of_app(sql: AppStatements, app_id: str, *, limit: int = ALL_ROWS, offset: int = 0) -> list[Digest]:
    """Return an app's own memories from all its spaces, newest first."""
    return Digest.from_rows(await sql.memories_of(app_id=app_id, limit=limit, offset=offset))


async def space(sql: AppStatements, app_id: str, user_id: str | None) -> list[Digest]:
    """Return the memories of a space, oldest first."""
    return Digest.from_rows(await sql.space(app_id=app_id, user_id=user_id))


async def history(sql: AppStatements, memory_id: int) -> list[Change]:
    """Return the changes of a memory, oldest first; a deleted memory keeps its history."""
    return Change.from_rows(await sql.changes_of(memory_id=memory_id))


async def create(
    sql: AppStatements, draft: DigestDraft, author: Author, kind: ChangeKind = ChangeKind.CREATED
) -> Digest | None:
    """Store a memory; ``None`` if the app has a memory of the same conversation."""
    row = await sql.insert_memory(
        app_id=draft.app_id,
        user_id=draft.user_id,
        content=draft.content,
        created_at=format_timestamp(draft.created_at),
        updated_at=format_timestamp(draft.updated_at),
        source_conversation_id=draft.source_conversation_id,
        metadata=draft.metadata.to_json(),
    )
    if row is None:
        return None
    memory = Digest.from_row(row)
    await record(sql, memory, kind, author, after=memory.content)
    return memory


async def edit(
    sql: AppStatements,
    target: Digest,
    content: str,
    author: Author,
    *,
    gone: Digest | None = None,
    kind: ChangeKind = ChangeKind.MERGED,
) -> Digest:
    """Change the text of a memory, and return the memory; ``gone`` is merged into it."""
    metadata = target.metadata
    if gone is not None:
        metadata = metadata.merged_with(gone.metadata, gone.source_conversation_id)
        await remove(sql, gone, author)
    row = await sql.update_memory(
        id=target.id,
        content=content,
        updated_at=format_timestamp(author.now),
        metadata=metadata.to_json(),
    )
    await record(sql, target, kind, author, before=target.content, after=content)
    return Digest.existing(row, target.id)


async def remove(sql: AppStatements, memory: Digest, author: Author) -> None:
    """Remove a memory to make room for another; the history keeps its text, so that the removal can be undone."""
    await sql.delete_memory(id=memory.id)
    await record(sql, memory, ChangeKind.COMPACTED, author, before=memory.content)


async def delete(sql: AppStatements, memories: Sequence[Digest], author: Author) -> None:
    """Delete memories permanently, including their texts in the history."""
    for memory in memories:
        await sql.delete_memory(id=memory.id)
        await sql.forget_texts(memory_id=memory.id)
        await record(sql, memory, ChangeKind.DELETED, author)


async def record(
    sql: AppStatements,
    memory: Digest,
    kind: ChangeKind,
    author: Author,
    *,
    before: str | None = None,
    after: str | None = None,
) -> None:
    """Add a change to the history of a memory."""
    await sql.record_change(
        memory_id=memory.id,
        app_id=memory.app_id,
        kind=kind,
        actor=author.actor,
        before=before,
        after=after,
        reason=author.reason,
        moment=format_timestamp(author.now),
    )
