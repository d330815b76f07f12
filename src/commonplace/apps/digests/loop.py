"""The host's interface: it ends conversations, and puts memories into the context of later ones.

The specification calls it ``SensitiveLoop``. Source: APP-02.1, APP-07, APP-11.2.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Final

from commonplace.apps import conversations
from commonplace.apps.context import format_memories
from commonplace.apps.digests import queue
from commonplace.apps.digests.background import Background
from commonplace.apps.digests.subagent import MemorySubAgent
from commonplace.apps.model.apps import App
from commonplace.apps.model.context import Focus, InjectionPoint
from commonplace.apps.model.conversations import Conversation, ConversationStatus, Message, require_reason
from commonplace.apps.model.digests import COMPLETED, CatchUp, ListedState, QueuedDigest
from commonplace.apps.model.memories import Memory
from commonplace.apps.receipts import (
    DigestOutcome,
    DigestReceipt,
    EndReceipt,
)
from commonplace.apps.registry import get_app
from commonplace.apps.resources import Resources
from commonplace.core.errors import InvalidInputError, NotFoundError

MOST_AT_ONCE: Final = 4
"""The number of digests made concurrently."""

MOST_PER_ROUND: Final = 1000
_LONGEST_WAIT_S: Final = 900.0

log = logging.getLogger(__name__)


class SensitiveLoop:
    """Ends conversations, and puts memories into the context of later ones.

    Args:
        on_receipt: Called with the receipt of every digest made in the background.
    """

    def __init__(
        self,
        resources: Resources,
        subagent: MemorySubAgent,
        *,
        on_receipt: Callable[[DigestReceipt], None] | None = None,
    ) -> None:
        self._store = resources.store
        self._quarantine = resources.quarantine
        self._subagent = subagent
        self._energy = resources.energy
        self._counts = resources.counts
        self._on_receipt = on_receipt
        self._background = Background()
        self._slots = asyncio.Semaphore(MOST_AT_ONCE)
        self._in_flight: set[tuple[str, str]] = set()
        self._waker: asyncio.Task[None] | None = None
        self._closing = False

    async def end_conversation(self, conversation_id: str, reason: str = COMPLETED) -> EndReceipt:
        """End a conversation, and start its digest in the background.

        On return the end and the queued digest are durable: if the process dies, the next one makes the digest. Ending
        a conversation again makes no second memory, but retries a failed digest.

        Raises:
            NotFoundError: No conversation has this id.
            InvalidInputError: The reason is not text of 1 to 500 characters.
            StorageError: The database cannot be written; the conversation stays active.
        """
        why = require_reason(reason)
        async with self._store.writing() as sql:
            ended = await conversations.end(sql, conversation_id, why, self._store.now())
            conversation = ended or await conversations.get(sql, conversation_id)
            await sql.queue_digest(
                app_id=conversation.app_id, conversation_id=conversation_id, moment=self._store.moment()
            )
        task = self._on_conversation_end(conversation)
        return EndReceipt(conversation=conversation, repeated=ended is None, digest=task)

    async def get_memories_for_app(self, app_id: str, *, user_id: str | None = None) -> list[Memory]:
        """Return the memories that a conversation of an app can see, newest first, without those in quarantine."""
        found = await self._subagent.get_memories(app_id, user_id=user_id)
        return [
            memory for memory in found if not self._quarantine.holds(memory.content, memory.metadata.flags)
        ]

    def format_memories_for_context(self, app: App, memories: Sequence[Memory]) -> str:
        """Return the block of an app; empty if there are no memories."""
        return format_memories(app.name, memories, today=self._store.now().date())

    async def focus_on_unanswered(
        self, conversation_id: str | None = None, *, app_id: str | None = None
    ) -> Focus | None:
        """Return an unanswered conversation with the memories of its app; ``None`` if all are answered.

        Without ``conversation_id``, this is the conversation that has waited longest, among those of ``app_id`` if
        given.

        Raises:
            NotFoundError: No conversation has this id.
            InvalidInputError: The conversation does not wait for an answer.
        """
        async with self._store.reading() as sql:
            if conversation_id is None:
                found = await conversations.unanswered(sql, app_id=app_id, limit=1)
                if not found:
                    return None
                conversation = found[0]
            else:
                conversation = await conversations.get(sql, conversation_id)
        if not conversation.unanswered:
            raise InvalidInputError(
                "conversation_id", "a conversation that waits for an answer", conversation_id
            )
        return await self._focus_on(InjectionPoint.UNANSWERED, conversation)

    async def review_completed(self, conversation_id: str) -> Focus:
        """Return an ended conversation with the memories of its app.

        Raises:
            NotFoundError: No conversation has this id.
            InvalidInputError: The conversation is active.
        """
        async with self._store.reading() as sql:
            conversation = await conversations.get(sql, conversation_id)
        if conversation.status is not ConversationStatus.ENDED:
            raise InvalidInputError("conversation_id", "an ended conversation", conversation_id)
        return await self._focus_on(InjectionPoint.REVIEW, conversation)

    async def select_to_improve(self, app_id: str, *, user_id: str | None = None, limit: int = 10) -> Focus:
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

    async def run_deferred(self) -> CatchUp:
        """Make waiting digests, the longest waiting first, until energy is low again.

        This includes digests that a stopped process left behind, and waiting compactions.
        """
        digests: list[DigestReceipt] = []
        for waiting in await self._open_digests():
            receipt = await self._digest(waiting.app_id, waiting.conversation_id)
            digests.append(receipt)
            if receipt.outcome is DigestOutcome.DEFERRED:
                break
        compactions = await self._subagent.settle_overfull()
        return CatchUp(digests=tuple(digests), compactions=tuple(compactions))

    def begin_catching_up(self) -> None:
        """Make waiting digests in the background, now and whenever there is energy; see :meth:`run_deferred`."""
        self._wake_later(at_once=True)

    async def retry(self, conversation_id: str | None = None) -> list[DigestReceipt]:
        """Retry skipped and deferred digests, until one has to wait.

        ``conversation_id`` retries only the digest of this conversation.

        Raises:
            NotFoundError: No digest of this conversation is skipped or deferred.
        """
        async with self._store.reading() as sql:
            states = (ListedState.SKIPPED, ListedState.DEFERRED)
            undone = [one for state in states for one in await queue.listed(sql, state, limit=MOST_PER_ROUND)]
        wanted = [one for one in undone if conversation_id in (None, one.conversation_id)]
        if conversation_id is not None and not wanted:
            raise NotFoundError("skipped or deferred digest", conversation_id)
        receipts: list[DigestReceipt] = []
        for one in wanted:
            receipts.append(await self._digest(one.app_id, one.conversation_id))
            if receipts[-1].outcome is DigestOutcome.DEFERRED:
                break
        return receipts

    async def aclose(self) -> None:
        """Wait for the running digests; digests that wait for energy stay in the queue."""
        self._stop_waking()
        await self._background.drain()

    async def cancel(self) -> None:
        """Stop the running digests; they go back to the queue."""
        self._stop_waking()
        await self._background.cancel()

    def _on_conversation_end(self, conversation: Conversation) -> asyncio.Task[DigestReceipt]:
        return self._background.start(
            self._digest_and_tell(conversation.app_id, conversation.conversation_id),
            name=f"digest of {conversation.conversation_id}",
        )

    async def _digest_and_tell(self, app_id: str, conversation_id: str) -> DigestReceipt:
        async with self._slots:
            receipt = await self._digest(app_id, conversation_id)
        if CatchUp(digests=(receipt,), compactions=receipt.compactions).waiting:
            self._wake_later()
        self._tell(receipt)
        return receipt

    def _tell(self, receipt: DigestReceipt) -> None:
        if self._on_receipt is not None:
            self._on_receipt(receipt)

    async def _digest(self, app_id: str, conversation_id: str) -> DigestReceipt:
        """Make a digest; every error becomes a receipt, because memories must never stop the host."""
        key = (app_id, conversation_id)
        self._in_flight.add(key)
        try:
            async with self._store.reading() as sql:
                request = await queue.request_for(sql, app_id, conversation_id)
            return await self._subagent.digest(request)
        except NotFoundError as error:
            return self._without_memory(app_id, conversation_id, DigestOutcome.DROPPED, str(error))
        except Exception as error:
            log.exception(
                "memory creation failed for %s",
                conversation_id,
                extra={"app_id": app_id, "conversation_id": conversation_id},
            )
            reason = f"{type(error).__name__}: {error}"
            return self._without_memory(app_id, conversation_id, DigestOutcome.SKIPPED, reason)
        finally:
            self._in_flight.discard(key)

    def _without_memory(
        self, app_id: str, conversation_id: str, outcome: DigestOutcome, reason: str
    ) -> DigestReceipt:
        receipt = DigestReceipt(
            app_id=app_id, conversation_id=conversation_id, outcome=outcome, reason=reason
        )
        self._counts.add_digest(receipt)
        return receipt

    async def _open_digests(self) -> list[QueuedDigest]:
        rows = await self._store.reads.open_digests(moment=self._store.moment(), limit=MOST_PER_ROUND)
        waiting = [QueuedDigest.from_row(row) for row in rows]
        return [one for one in waiting if (one.app_id, one.conversation_id) not in self._in_flight]

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
        memories = await self.get_memories_for_app(app.app_id, user_id=user_id)
        block = self.format_memories_for_context(app, memories)
        injected = [Message(role="system", content=block)] if block else []
        await self._note_shown(point, focused, len(memories))
        return Focus(
            point=point,
            app=app,
            conversations=tuple(focused),
            memories=tuple(memories),
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

    def _wake_later(self, *, at_once: bool = False) -> None:
        if not self._closing and (self._waker is None or self._waker.done()):
            self._waker = self._background.start(self._wake(at_once=at_once), name="digests that wait")

    def _stop_waking(self) -> None:
        self._closing = True
        if self._waker is not None:
            self._waker.cancel()

    async def _wake(self, *, at_once: bool) -> None:
        """Run waiting work whenever there is energy for it, until no work waits."""
        waiting, pause = True, not at_once
        while waiting:
            try:
                if pause:
                    status = await self._energy.status()
                    await asyncio.sleep(
                        min(status.wait_s, _LONGEST_WAIT_S) if status.low else _LONGEST_WAIT_S
                    )
                pause = True
                caught_up = await self.run_deferred()
            except Exception:
                log.exception("waiting digests could not be made; they are retried later")
                await asyncio.sleep(_LONGEST_WAIT_S)
                continue
            waiting = caught_up.waiting
            for receipt in caught_up.digests:
                self._tell(receipt)
