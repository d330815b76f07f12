"""Memories in the context of a model: the block of an app, and the three places where it enters.

Source: APP-06, APP-07.
"""

import logging
from collections.abc import Sequence

from commonplace.apps.model.apps import App
from commonplace.apps.model.bounds import MAX_MEMORIES
from commonplace.apps.model.context import Focus, InjectionPoint
from commonplace.apps.model.conversations import Conversation, ConversationStatus, Message, SystemMessage
from commonplace.apps.model.counts import Counts
from commonplace.apps.model.memories import ALL_ROWS, Digest
from commonplace.apps.rules.context_block import format_memories, shown_to_user
from commonplace.apps.store import conversations, memories
from commonplace.apps.store.apps import get_app
from commonplace.apps.store.statements import AppStatements
from commonplace.core.errors import ConflictError
from commonplace.core.pages import require_page
from commonplace.core.quarantine import Quarantine
from commonplace.core.quoting import quoted
from commonplace.storage.store import Store

log = logging.getLogger(__name__)


class Injection:
    """Puts memories into the context of conversations."""

    def __init__(self, store: Store[AppStatements], counts: Counts, quarantine: Quarantine) -> None:
        self._store = store
        self._counts = counts
        self._quarantine = quarantine

    async def visible(
        self, app_id: str, *, user_id: str | None = None, limit: int = MAX_MEMORIES
    ) -> list[Digest]:
        """Return the memories that a conversation of an app can see, newest first; empty for an unknown app.

        With ``user_id``, the user's memories and the common ones have half of the places each; see
        :func:`~commonplace.apps.rules.context_block.shown_to_user`.
        """
        require_page(limit)
        async with self._store.reading() as sql:
            most = limit if user_id is None else ALL_ROWS
            candidates = await memories.visible(sql, app_id, user_id=user_id, limit=most)
        if len(candidates) > limit:
            candidates = shown_to_user(candidates, limit)
        self._counts.retrievals += 1
        log.debug("retrieved %d memories for app %s", len(candidates), app_id, extra={"app_id": app_id})
        return self._quarantine.watch(candidates)

    async def shown(self, app_id: str, *, user_id: str | None = None) -> list[Digest]:
        """Return the memories that a conversation of an app can see, newest first, without those in quarantine."""
        candidates = await self.visible(app_id, user_id=user_id)
        return [one for one in candidates if not self._quarantine.holds(one.content, one.metadata.flags)]

    def block(self, app: App, shown: Sequence[Digest]) -> str:
        """Return the block of an app; empty if there are no memories."""
        return format_memories(app.name, shown, today=self._store.now().date())

    async def unanswered(
        self, conversation_id: str | None = None, *, app_id: str | None = None
    ) -> Focus | None:
        """Return an unanswered conversation with the memories of its app; ``None`` if all are answered.

        Without ``conversation_id``, this is the conversation that has waited longest, among those of ``app_id`` if
        given.

        Raises:
            NotFoundError: No conversation has this id.
            ConflictError: The conversation does not wait for an answer.
        """
        async with self._store.reading() as sql:
            if conversation_id is not None:
                conversation = await conversations.get(sql, conversation_id)
            elif oldest := await conversations.unanswered(sql, app_id=app_id, limit=1):
                (conversation,) = oldest
            else:
                return None
        if not conversation.unanswered:
            message = f"The conversation {quoted(conversation_id)} is answered, so no answer is due."
            raise ConflictError("conversation_id", message, conversation_id)
        return await self._focus_on(InjectionPoint.UNANSWERED, conversation)

    async def review(self, conversation_id: str) -> Focus:
        """Return an ended conversation with the memories of its app.

        Raises:
            NotFoundError: No conversation has this id.
            ConflictError: The conversation is active.
        """
        async with self._store.reading() as sql:
            conversation = await conversations.get(sql, conversation_id)
        if conversation.status is not ConversationStatus.ENDED:
            raise conversations.active_error(str(conversation_id))
        return await self._focus_on(InjectionPoint.REVIEW, conversation)

    async def selection(self, app_id: str, *, user_id: str | None = None, limit: int = 10) -> Focus:
        """Return the last ended conversations of an app with its memories, to choose a conversation to improve.

        The memories of an app never appear beside another app's conversations. With ``user_id``, only conversations of
        this user count, and the user's memories are included.

        Raises:
            NotFoundError: No app has this id.
        """
        async with self._store.reading() as sql:
            app = await get_app(sql, app_id)
            candidates = await conversations.completed(sql, app_id=app_id, user_id=user_id, limit=limit)
        return await self._inject(InjectionPoint.SELECTION, app, candidates, user_id=user_id, said=())

    async def _focus_on(self, point: InjectionPoint, conversation: Conversation) -> Focus:
        async with self._store.reading() as sql:
            app = await get_app(sql, conversation.app_id)
            said = await conversations.messages_of(sql, conversation.conversation_id)
        return await self._inject(point, app, [conversation], user_id=conversation.user_id, said=said)

    async def _inject(
        self,
        point: InjectionPoint,
        app: App,
        focused: Sequence[Conversation],
        *,
        user_id: str | None,
        said: Sequence[Message],
    ) -> Focus:
        shown = await self.shown(app.app_id, user_id=user_id)
        block = self.block(app, shown)
        injected = [SystemMessage(content=block)] if block else []
        await self._note_shown(point, focused, len(shown))
        return Focus(
            point=point,
            app=app,
            conversations=tuple(focused),
            memories=tuple(shown),
            messages=(*injected, *said),
        )

    async def _note_shown(self, point: InjectionPoint, focused: Sequence[Conversation], shown: int) -> None:
        """Count the context, and store on the conversation in focus the greatest number of memories shown."""
        self._counts.contexts["with" if shown else "without"] += 1
        if point is InjectionPoint.SELECTION:
            return
        for conversation in focused:
            if conversation.memories_shown is None or conversation.memories_shown < shown:
                async with self._store.writing() as sql:
                    await sql.note_memories_shown(conversation_id=conversation.conversation_id, shown=shown)
