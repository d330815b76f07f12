"""The rows of conversations and their messages."""

from collections.abc import Sequence
from datetime import datetime

from commonplace.apps.model.conversations import Conversation, ConversationStatus, Message
from commonplace.apps.model.names import optional_user, require_id
from commonplace.apps.store.statements import AppStatements
from commonplace.core.clock import format_timestamp
from commonplace.core.errors import ConflictError, InvalidInputError
from commonplace.core.quoting import quoted
from commonplace.storage.rows import read_row


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
        InvalidInputError: There are no messages.
        ConflictError: The conversation has ended.
    """
    if not messages:
        raise InvalidInputError("messages", "at least one message", messages)
    moment = format_timestamp(now)
    row = await sql.note_messages(
        conversation_id=conversation_id, role=messages[-1].role, moment=moment, added=len(messages)
    )
    if row is None:
        ended = await get(sql, conversation_id)
        raise ended_error(ended.conversation_id)
    for message in messages:
        await sql.insert_message(
            conversation_id=conversation_id, role=message.role, content=message.content, moment=moment
        )
    return Conversation.from_row(row)


def ended_error(conversation_id: str) -> ConflictError:
    """Return the error for a change that needs an active conversation."""
    message = (
        f"The conversation {quoted(conversation_id)} has ended. Begin a new conversation with another id."
    )
    return ConflictError("conversation_id", message, conversation_id)


def active_error(conversation_id: str) -> ConflictError:
    """Return the error for a change that needs an ended conversation."""
    message = f"The conversation {quoted(conversation_id)} is still active. End it first."
    return ConflictError("conversation_id", message, conversation_id)


async def messages_of(sql: AppStatements, conversation_id: str) -> list[Message]:
    """Return the messages of a conversation in order; empty for an unknown conversation."""
    rows = await sql.messages_of(conversation_id=conversation_id)
    return [read_row(Message, row) for row in rows]


async def end(sql: AppStatements, conversation_id: str, reason: str, now: datetime) -> Conversation | None:
    """End a conversation and return it; ``None`` if no active conversation has this id."""
    row = await sql.end_conversation(
        conversation_id=conversation_id, reason=reason, moment=format_timestamp(now)
    )
    return None if row is None else Conversation.from_row(row)


async def delete(sql: AppStatements, conversation_id: str) -> Conversation:
    """Delete an ended conversation with its messages, and return it.

    Raises:
        NotFoundError: No conversation has this id.
        ConflictError: The conversation is active.
    """
    conversation = await get(sql, conversation_id)
    if conversation.status is not ConversationStatus.ENDED:
        raise active_error(conversation_id)
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
