"""The conversations of apps, and their transcripts."""

from commonplace.apps.model.conversations import Conversation, Message
from commonplace.apps.store import conversations
from commonplace.apps.store.apps import get_app
from commonplace.apps.store.statements import AppStatements
from commonplace.core.errors import NotFoundError
from commonplace.storage.store import Store


class AppConversations:
    """The stored conversations of apps; the memory itself begins and ends them."""

    def __init__(self, store: Store[AppStatements]) -> None:
        self._store = store

    async def get(self, conversation_id: str, *, app_id: str | None = None) -> Conversation:
        """Return a conversation.

        Raises:
            NotFoundError: No conversation has this id, or the conversation belongs to another app than ``app_id``.
        """
        async with self._store.reading() as sql:
            conversation = await conversations.get(sql, conversation_id)
        if app_id is not None and conversation.app_id != app_id:
            raise NotFoundError("conversation", conversation_id)
        return conversation

    async def delete(self, conversation_id: str) -> Conversation:
        """Delete the transcript of an ended conversation, and return the conversation.

        The memory stays; a waiting digest is dropped.

        Raises:
            NotFoundError: No conversation has this id.
            InvalidInputError: The conversation has not ended.
        """
        async with self._store.writing() as sql:
            deleted = await conversations.delete(sql, conversation_id)
            await sql.drop_open_digest(
                conversation_id=conversation_id,
                reason="the conversation was deleted",
                moment=self._store.moment(),
            )
        return deleted

    async def messages(self, conversation_id: str) -> list[Message]:
        """Return the messages of a conversation in order, as they are stored, with their secrets masked."""
        async with self._store.reading() as sql:
            return await conversations.messages_of(sql, conversation_id)

    async def list(self, app_id: str, *, limit: int = 50) -> list[Conversation]:
        """Return the ended conversations of an app, the last ended first.

        Raises:
            NotFoundError: No app has this id.
        """
        async with self._store.reading() as sql:
            await get_app(sql, app_id)
            return await conversations.completed(sql, app_id=app_id, user_id=None, limit=limit)
