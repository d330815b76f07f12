"""Conversations of apps and their messages."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, ClassVar, Literal

from pydantic import ConfigDict, Field

from commonplace.apps.model.bounds import MAX_MESSAGE_CHARS, MAX_MESSAGES, MAX_REASON_CHARS
from commonplace.core.choices import require_items
from commonplace.core.errors import InvalidInputError
from commonplace.core.secrets import mask_secrets
from commonplace.core.text import clean_text, require_text
from commonplace.storage.rows import Noun

"""The number of messages that one call adds."""

Speaker = Literal["user", "assistant"]


class ConversationStatus(StrEnum):
    """The status of a conversation."""

    ACTIVE = "active"
    ENDED = "ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message of a conversation."""

    # REST, MCP and the command line read this declaration, and refuse other roles, fields and lengths.
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    role: Speaker
    content: Annotated[
        str,
        Field(
            max_length=MAX_MESSAGE_CHARS,
            description="the text; secrets are masked before the message is stored",
        ),
    ]


Messages = Annotated[list[Message], Field(min_length=1, max_length=MAX_MESSAGES)]
"""The messages of one call, in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemMessage:
    """The block of memories as a message for a model; it is no part of the conversation."""

    content: str
    role: Literal["system"] = "system"


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation(Noun):
    """One row of ``conversations``.

    Attributes:
        conversation_id: Unique among all apps.
        user_id: The user whose space receives its memory; ``None`` for the app's common space.
        last_role: The role of the last message; ``None`` before the first message.
        memories_shown: The number of memories that its model saw; ``None`` until its context was built.
    """

    conversation_id: str
    app_id: str
    user_id: str | None
    status: ConversationStatus
    end_reason: str | None
    last_role: Speaker | None
    message_count: int
    memories_shown: int | None
    started_at: datetime
    ended_at: datetime | None

    @property
    def unanswered(self) -> bool:
        """Whether the user waits for an answer."""
        return self.status is ConversationStatus.ACTIVE and self.last_role == "user"


def require_message(role: object, content: object) -> Message:
    """Return a message with its secrets masked, or refuse it.

    Raises:
        InvalidInputError: The role is neither ``user`` nor ``assistant``, or the content is not text.
    """
    if role not in ("user", "assistant"):
        raise InvalidInputError("role", "user or assistant", role)
    if not isinstance(content, str) or len(content) > MAX_MESSAGE_CHARS:
        got = f"{len(content)} characters" if isinstance(content, str) else content
        raise InvalidInputError("content", f"text of at most {MAX_MESSAGE_CHARS} characters", got)
    return Message(role="user" if role == "user" else "assistant", content=mask_secrets(clean_text(content)))


def require_messages(messages: object) -> list[Message]:
    """Return messages with their secrets masked, or refuse them; see :func:`require_message`."""
    given = require_items(messages, field="messages")
    if not all(isinstance(each, Message) for each in given):
        raise InvalidInputError("messages", "a list of Message", messages)
    return [require_message(each.role, each.content) for each in given]


def require_reason(reason: object) -> str:
    """Return the reason why a conversation ended, or refuse it.

    Raises:
        InvalidInputError: The reason is not text of 1 to 500 characters.
    """
    return require_text(reason, field="reason", max_chars=MAX_REASON_CHARS)
