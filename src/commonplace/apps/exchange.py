"""Export and import of memories as a JSON document (APP-16.3)."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Annotated, Any, Final, Literal, cast

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
)

from commonplace.apps import memories
from commonplace.apps.digests.digest import tidy_content
from commonplace.apps.memories import MAX_MEMORIES, Author, ChangeKind, Draft, Memory, Metadata
from commonplace.apps.names import require_id
from commonplace.apps.receipts import ImportReceipt, Refusal
from commonplace.apps.registry import App, get_app
from commonplace.apps.statements import AppStatements
from commonplace.apps.store import memories_lock
from commonplace.core.clock import format_timestamp, in_utc
from commonplace.core.errors import InvalidInputError
from commonplace.core.faults import invalid_input
from commonplace.core.request_context import current_actor
from commonplace.core.secrets import HIGH_ENTROPY, SecretFinding, find_secret, find_secret_in_json
from commonplace.core.text import clean_text
from commonplace.storage.store import Store

FORMAT: Final = "commonplace-app-memories"
MAX_METADATA_CHARS: Final = 64 * 1024
"""The limit of one memory's metadata as JSON; the same as in knowledge memory."""


def _require_time(value: object) -> object:
    """Refuse numbers and their text, which pydantic takes for seconds since 1970."""
    if not isinstance(value, str) or ":" not in value:
        raise InvalidInputError("moment", "a time such as 2026-11-22T14:05:00Z", value)
    return value


_Moment = Annotated[
    AwareDatetime, BeforeValidator(_require_time), AfterValidator(partial(in_utc, field="moment"))
]


class ExportedMemory(BaseModel):
    """A memory in a document, with the names of the specification's interface.

    A misspelt field is refused: without its ``userId``, the memory of one user would be shown to all.
    """

    model_config = ConfigDict(populate_by_name=True, extra="forbid")

    id: int | None = Field(default=None, description="ignored: the imported memory gets another id")
    content: str = Field(min_length=1)
    created_at: _Moment = Field(alias="createdAt")
    updated_at: _Moment = Field(alias="updatedAt")
    source_conversation_id: str | None = Field(default=None, alias="sourceConversationId")
    user_id: str | None = Field(default=None, alias="userId")
    metadata: dict[str, Any] = Field(default_factory=dict)

    @field_validator("source_conversation_id", "user_id")
    @classmethod
    def _is_id(cls, value: str | None) -> str | None:
        return None if value is None else require_id(value, field="id")


class Document(BaseModel):
    """A document of exported memories."""

    format: Literal["commonplace-app-memories"] = FORMAT
    version: Literal[1] = 1
    memories: list[ExportedMemory]


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """The memories of an app from all its spaces, newest first."""

    app: App
    memories: tuple[Memory, ...]
    exported_at: datetime

    def as_json(self) -> dict[str, Any]:
        """Return the JSON document for an import."""
        return {
            "format": FORMAT,
            "version": 1,
            "exportedAt": format_timestamp(self.exported_at),
            "app": {"appId": self.app.app_id, "name": self.app.name},
            "memories": [_as_exported(memory) for memory in self.memories],
        }


def as_document(memory: Memory) -> dict[str, Any]:
    """Return a memory as an export does, and the flags for which no prompt shows it."""
    return _as_exported(memory) | {"flags": list(memory.flags)}


def _as_exported(memory: Memory) -> dict[str, Any]:
    """Return a memory with the names of the specification's interface; times are ISO 8601 with ``Z``."""
    return {
        "id": memory.id,
        "content": memory.content,
        "createdAt": format_timestamp(memory.created_at),
        "updatedAt": format_timestamp(memory.updated_at),
        "sourceConversationId": memory.source_conversation_id,
        "userId": memory.user_id,
        "metadata": memory.metadata.as_dict(),
    }


def read_document(document: Mapping[str, Any]) -> Document:
    """Return the validated document.

    Raises:
        InvalidInputError: The document is not an export; the error names the first fault.
    """
    try:
        return Document.model_validate(document)
    except ValidationError as error:
        raise invalid_input(error.errors()[0], whole="document") from None


async def import_memories(store: Store[AppStatements], app_id: str, document: Document) -> ImportReceipt:
    """Add the memories of a document, from any app, to an app; existing memories do not change.

    A memory that the app has (the same conversation, or the same text and time) counts as known. The import refuses a
    memory whose text, metadata or ids look like a secret, that has too much metadata, or whose space is full. It
    shortens text that is too long, and the receipt lists these memories.

    Raises:
        NotFoundError: No app has this id.
    """
    added: list[Memory] = []
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
            if isinstance(taken, Memory):
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
) -> Memory | str | None:
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
    draft = Draft(
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
