"""Import of memories from a JSON document (APP-16.3)."""

import json
from collections.abc import Iterator
from typing import cast

from commonplace.apps.model.bounds import MAX_MEMORIES
from commonplace.apps.model.exchange import MAX_METADATA_CHARS, Document, ExportedMemory
from commonplace.apps.model.memories import Author, ChangeKind, Digest, DigestDraft, Metadata
from commonplace.apps.model.receipts import ImportReceipt, Refusal
from commonplace.apps.rules.digest_text import tidy_content
from commonplace.apps.store import memories
from commonplace.apps.store.apps import get_app
from commonplace.apps.store.locks import memories_lock
from commonplace.apps.store.statements import AppStatements
from commonplace.core.request_context import current_actor
from commonplace.core.secret_labels import SecretFinding
from commonplace.core.secrets import HIGH_ENTROPY, find_secret, find_secret_in_json
from commonplace.core.text import clean_text
from commonplace.storage.store import Store


async def import_memories(store: Store[AppStatements], app_id: str, document: Document) -> ImportReceipt:
    """Add the memories of a document, from any app, to an app; existing memories do not change.

    A memory that the app has (the same conversation, or the same text and time) counts as known. The import refuses a
    memory whose text, metadata or ids look like a secret, that has too much metadata, or whose space is full. It
    shortens text that is too long, and the receipt lists these memories.

    Raises:
        NotFoundError: No app has this id.
    """
    added: list[Digest] = []
    refused: list[Refusal] = []
    shortened: list[int] = []
    known = 0
    async with store.writing(memories_lock(app_id)) as sql:
        await get_app(sql, app_id)
        author = Author(actor=current_actor(), now=store.now())
        # Oldest first, so that ids rise with time, as they do for new memories. A document lists memories newest first;
        # the reversed order keeps that among equal times.
        places = reversed(range(len(document.memories)))
        order = sorted(places, key=lambda place: document.memories[place].created_at)
        for place in order:
            taken = await _import_one(sql, app_id, document.memories[place], author)
            if isinstance(taken, Digest):
                added.append(taken)
                if _is_shorter(taken.content, document.memories[place].content):
                    shortened.append(place)
            elif taken is None:
                known += 1
            else:
                refused.append(Refusal(index=place, reason=taken))
    refused.sort(key=lambda refusal: refusal.index)
    return ImportReceipt(
        app_id=app_id,
        added=tuple(added),
        known=known,
        refused=tuple(refused),
        shortened=tuple(sorted(shortened)),
    )


async def _import_one(
    sql: AppStatements, app_id: str, exported: ExportedMemory, author: Author
) -> Digest | str | None:
    """Return the added memory, ``None`` for a known memory, or the reason for a refusal."""
    digest = tidy_content(exported.content)
    if digest.content is None or digest.secrets:
        return f"looks like a secret ({digest.secrets[0]})" if digest.secrets else "has no text"
    metadata = json.dumps(exported.metadata, ensure_ascii=False)
    if len(metadata) > MAX_METADATA_CHARS:
        return f"has {len(metadata)} characters of metadata, more than {MAX_METADATA_CHARS}"
    secret = _secret_beside_content(exported)
    if secret is not None:
        return f"looks like a secret in its metadata or ids ({secret.kind})"
    draft = DigestDraft(
        app_id=app_id,
        user_id=exported.user_id,
        content=digest.content,
        source_conversation_id=exported.source_conversation_id,
        metadata=Metadata.from_json(metadata),
        created_at=exported.created_at,
        updated_at=exported.updated_at,
    )
    held = await memories.space(sql, app_id, draft.user_id)
    if any((one.content, one.created_at) == (draft.content, draft.created_at) for one in held):
        return None
    if len(held) >= MAX_MEMORIES:
        return f"the space already holds {MAX_MEMORIES} memories"
    return await memories.create(sql, draft, author, ChangeKind.IMPORTED)


def _is_shorter(kept: str, given: str) -> bool:
    """Return whether more than whitespace was lost."""
    return "".join(kept.split()) != "".join(clean_text(given).split())


def _secret_beside_content(exported: ExportedMemory) -> SecretFinding | None:
    """Return the first finding in metadata or ids; ids, including those of related conversations, may look random."""
    related = exported.metadata.get("relatedConversations")
    ids = (exported.source_conversation_id or "", exported.user_id or "", *_texts(related))
    found = [finding for text in ids if (finding := find_secret(text)) and finding.kind != HIGH_ENTROPY]
    rest = {key: value for key, value in exported.metadata.items() if key != "relatedConversations"}
    return next(iter(found), None) or find_secret_in_json(rest)


def _texts(value: object) -> Iterator[str]:
    """Yield every key and string in a JSON value, in no particular order."""
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            left += [part for item in cast("dict[str, object]", one).items() for part in item]
        elif isinstance(one, list):
            left += cast("list[object]", one)
