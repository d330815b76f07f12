"""The JSON document of exported memories (APP-16.3)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Annotated, Any, Final, Literal

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

from commonplace.apps.model.apps import App
from commonplace.apps.model.memories import Digest
from commonplace.apps.model.names import require_id
from commonplace.core.clock import format_timestamp, in_utc
from commonplace.core.errors import InvalidInputError
from commonplace.core.faults import invalid_input

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
    memories: tuple[Digest, ...]
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


def as_document(memory: Digest) -> dict[str, Any]:
    """Return a memory as an export does, and the flags for which no prompt shows it."""
    return _as_exported(memory) | {"flags": list(memory.flags)}


def _as_exported(memory: Digest) -> dict[str, Any]:
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
