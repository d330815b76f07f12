"""Conversations of apps and their messages."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final, Literal

from commonplace.apps.names import optional_user, require_id
from commonplace.apps.statements import AppStatements
from commonplace.core.choices import require_items
from commonplace.core.clock import format_timestamp
from commonplace.core.errors import InvalidInputError
from commonplace.core.secrets import mask_secrets
from commonplace.core.text import clean_text, require_text
from commonplace.storage.rows import Noun, read_row

MAX_MESSAGE_CHARS: Final = 1_000_000
MAX_REASON_CHARS: Final = 500

Speaker = Literal["user", "assistant"]
Role = Literal["system", "user", "assistant"]


class ConversationStatus(StrEnum):
    """The status of a conversation."""

    ACTIVE = "active"
    ENDED = "ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message; the role ``system`` marks only context for a model."""

    role: Role
    content: str


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


async def get(sql: AppStatements, conversation_id: str) -> Conversation:
    """Return a conversation.

    Raises:
        NotFoundError: No conversation has this id.
    """
    return Conversation.existing(await sql.get_conversation(conversation_id=conversation_id), conversation_id)


async def begin(
    sql: AppStatements, *, app_id: str, conversation_id: str, user_id: str | None, now: datetime
) -> Conversation:
    """Begin a conversation, or return the conversation with this id.

    Raises:
        InvalidInputError: Another app or user has this conversation id, or an id is malformed.
    """
    key, user = require_id(conversation_id, field="conversation_id"), optional_user(user_id)
    row = await sql.insert_conversation(
        conversation_id=key, app_id=app_id, user_id=user, moment=format_timestamp(now)
    )
    conversation = await get(sql, key) if row is None else Conversation.from_row(row)
    if (conversation.app_id, conversation.user_id) != (app_id, user):
        raise InvalidInputError("conversation_id", "an id that no other app or user uses", conversation_id)
    return conversation


async def say(
    sql: AppStatements, conversation_id: str, messages: Sequence[Message], now: datetime
) -> Conversation:
    """Add messages to an active conversation in order, and return the conversation.

    Raises:
        NotFoundError: No conversation has this id.
        InvalidInputError: The conversation has ended, or there are no messages.
    """
    if not messages:
        raise InvalidInputError("messages", "at least one message", messages)
    moment = format_timestamp(now)
    row = await sql.note_messages(
        conversation_id=conversation_id, role=messages[-1].role, moment=moment, added=len(messages)
    )
    if row is None:
        ended = await get(sql, conversation_id)
        raise InvalidInputError("conversation_id", "an active conversation", ended.conversation_id)
    for message in messages:
        await sql.insert_message(
            conversation_id=conversation_id, role=message.role, content=message.content, moment=moment
        )
    return Conversation.from_row(row)


async def messages_of(sql: AppStatements, conversation_id: str) -> list[Message]:
    """Return the messages of a conversation in order; empty for an unknown conversation."""
    rows = await sql.messages_of(conversation_id=conversation_id)
    return [read_row(Message, row) for row in rows]


async def end(sql: AppStatements, conversation_id: str, reason: str, now: datetime) -> Conversation | None:
    """End a conversation and return it; ``None`` if it had ended before.

    Raises:
        NotFoundError: No conversation has this id.
    """
    row = await sql.end_conversation(
        conversation_id=conversation_id, reason=reason, moment=format_timestamp(now)
    )
    if row is None:
        await get(sql, conversation_id)
        return None
    return Conversation.from_row(row)


async def delete(sql: AppStatements, conversation_id: str) -> Conversation:
    """Delete an ended conversation with its messages, and return it.

    Raises:
        NotFoundError: No conversation has this id.
        InvalidInputError: The conversation is active.
    """
    conversation = await get(sql, conversation_id)
    if conversation.status is not ConversationStatus.ENDED:
        raise InvalidInputError("conversation_id", "an ended conversation", conversation_id)
    await sql.delete_conversation(conversation_id=conversation_id)
    return conversation


async def unanswered(sql: AppStatements, *, app_id: str | None, limit: int) -> list[Conversation]:
    """Return active conversations whose last message is the user's, the longest waiting first."""
    return Conversation.from_rows(await sql.unanswered(app_id=app_id, limit=limit))


async def completed(
    sql: AppStatements, *, app_id: str, user_id: str | None, limit: int
) -> list[Conversation]:
    """Return ended conversations of an app, or of one of its users, the last ended first."""
    return Conversation.from_rows(await sql.completed(app_id=app_id, user_id=user_id, limit=limit))


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
