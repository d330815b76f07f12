"""The sub-agent that makes memories of ended conversations, and keeps at most ten per space.

It claims the conversation, pays, asks the model, and stores the answer in one transaction. It holds no database
connection while the model thinks. The specification calls it ``MemorySubAgent``. Source: APP-02 to APP-05, APP-15.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from typing import Final, TypeVar, assert_never

from commonplace.apps import memories
from commonplace.apps.compaction.compactor import SUBAGENT, Compactor
from commonplace.apps.compaction.conflicts import find_conflicts
from commonplace.apps.compaction.importance import assess
from commonplace.apps.context import shown_to_user
from commonplace.apps.digests import queue
from commonplace.apps.digests.digest import creation_prompt
from commonplace.apps.digests.retrying import twice
from commonplace.apps.model.compaction import MemoryCompactionRequest
from commonplace.apps.model.conflicts import Conflict
from commonplace.apps.model.digests import Claim, Digest, MemoryCreationRequest
from commonplace.apps.model.energy import Operation
from commonplace.apps.model.memories import (
    ALL_ROWS,
    MAX_CONTENT_CHARS,
    MAX_MEMORIES,
    Author,
    Draft,
    Memory,
    Metadata,
)
from commonplace.apps.names import require_app_id, require_id
from commonplace.apps.receipts import (
    CompactionAction,
    CompactionReceipt,
    DigestOutcome,
    DigestReceipt,
    PurgeReceipt,
)
from commonplace.apps.registry import get_app
from commonplace.apps.resources import Resources
from commonplace.apps.rules.digest_text import read_digest
from commonplace.apps.rules.energy import creation_cost
from commonplace.apps.store import memories_lock
from commonplace.core.errors import (
    ModelAccessError,
    ModelBudgetError,
    ModelError,
    ModelTimeoutError,
    ModelUnavailableError,
    StorageError,
)
from commonplace.core.instructions import Flag, find_flags
from commonplace.core.pages import require_page
from commonplace.core.request_context import current_actor
from commonplace.core.text import is_blank
from commonplace.llm import Completion

PURPOSE: Final = "app.digest"
DEFAULT_TIMEOUT_S: Final = 30.0
"""The time limit of one model answer. Source: APP-04.3."""

log = logging.getLogger(__name__)

T = TypeVar("T")


class MemorySubAgent:
    """Creates, compacts, reads and deletes the memories of apps."""

    def __init__(self, resources: Resources) -> None:
        self._store = resources.store
        self._zone = resources.zone
        self._model = resources.model
        self._energy = resources.energy
        self._counts = resources.counts
        self._timeout_s = resources.timeout_s
        self._vectors = resources.vectors
        self._quarantine = resources.quarantine
        self._compactor = Compactor(resources)

    async def create_memory(self, request: MemoryCreationRequest) -> Memory | None:
        """Make the memory of a conversation; ``None`` if there is none. :meth:`digest` also returns the reason."""
        return (await self.digest(request)).memory

    async def digest(self, request: MemoryCreationRequest) -> DigestReceipt:
        """Make the memory of a conversation once, and bring its space back to ten memories.

        A digest waits in the queue if energy is low, or if the model cannot answer now. It is skipped if the
        database fails, or if the model refuses; :meth:`AppMemory.retry_digests` retries it.

        Raises:
            InvalidInputError: An id is malformed.
            NotFoundError: No app has this id.
        """
        app_id = require_app_id(request.app_id)
        require_id(request.conversation_id, field="conversation_id")
        try:
            claim = await twice(
                lambda: self._claim(request),
                self._counts,
                app_id=app_id,
                conversation_id=request.conversation_id,
            )
        except StorageError as error:
            return self._told(request, DigestOutcome.SKIPPED, f"database: {error}")
        if claim is None:
            return self._told(request, DigestOutcome.REPEATED, "the digest exists or is being made")
        try:
            return await self._work(request, claim)
        except StorageError as error:
            return await self._settled(request, claim, DigestOutcome.SKIPPED, f"database: {error}")
        except BaseException:
            # The work was cancelled, or the program has a fault: another worker can claim the digest.
            with suppress(StorageError):
                async with self._store.writing() as sql:
                    await queue.release(sql, self._store, claim)
            raise

    async def compact_memories(self, request: MemoryCompactionRequest) -> CompactionReceipt:
        """Remove or merge one memory of a space that has more than ten.

        If there is room, or if the memories have changed since the request, nothing changes and the receipt says so.
        """
        async with self._compactor.turn(request.app_id):
            receipt = await self._compactor.compact(request)
        if receipt is None:
            reason = "the memories have changed since the request"
            return CompactionReceipt(app_id=request.app_id, action=CompactionAction.NONE, reason=reason)
        return receipt

    async def get_memories(
        self, app_id: str, limit: int = MAX_MEMORIES, *, user_id: str | None = None
    ) -> list[Memory]:
        """Return the memories that a conversation of an app can see, newest first; empty for an unknown app.

        With ``user_id``, the user's memories and the common ones have half of the places each; see
        :func:`~commonplace.apps.context.shown_to_user`.
        """
        require_page(limit)
        async with self._store.reading() as sql:
            most = limit if user_id is None else ALL_ROWS
            found = await memories.visible(sql, app_id, user_id=user_id, limit=most)
        if len(found) > limit:
            found = shown_to_user(found, limit)
        self._counts.retrievals += 1
        log.debug("retrieved %d memories for app %s", len(found), app_id, extra={"app_id": app_id})
        return self._quarantine.watch(found)

    async def get_memory_count(self, app_id: str) -> int:
        """Return the number of an app's memories in all its spaces."""
        return await self._store.reads.count_memories(app_id=app_id)

    async def delete_app_memories(self, app_id: str) -> PurgeReceipt:
        """Delete every memory of an app permanently, including the texts in their history.

        The transcripts of ended conversations are deleted too; waiting and running digests are dropped.

        Raises:
            NotFoundError: No app has this id.
        """
        author = Author(actor=current_actor(), now=self._store.now(), reason="purged")
        async with self._store.writing(memories_lock(app_id)) as sql:
            await get_app(sql, app_id)
            await sql.drop_open_digests(
                app_id=app_id, reason="the app's memories were purged", moment=self._store.moment()
            )
            found = await memories.of_app(sql, app_id)
            await memories.delete(sql, found, author)
            await sql.forget_texts_of_app(app_id=app_id)
            await sql.delete_ended_conversations(app_id=app_id)
        log.info("purged %d memories of app %s", len(found), app_id, extra={"app_id": app_id})
        return PurgeReceipt(app_id=app_id, deleted=len(found))

    def get_energy_consumed_since_last_poll(self) -> float:
        """Return the energy units that this process took for memories since the last call."""
        return self._energy.poll()

    async def settle_overfull(self) -> list[CompactionReceipt]:
        """Bring every space with more than ten memories back to ten, as far as energy allows."""
        spaces = [
            (row["app_id"], row["user_id"]) for row in await self._store.reads.overfull(most=MAX_MEMORIES)
        ]
        receipts: list[CompactionReceipt] = []
        for app_id, user_id in spaces:
            async with self._compactor.turn(app_id):
                receipts += await self._compactor.settle(app_id, user_id)
            if receipts and receipts[-1].action is CompactionAction.DEFERRED:
                break
        return receipts

    async def _claim(self, request: MemoryCreationRequest) -> Claim | None:
        async with self._store.writing() as sql:
            await get_app(sql, request.app_id)
            return await queue.claim(sql, self._store, request.app_id, request.conversation_id)

    async def _work(self, request: MemoryCreationRequest, claim: Claim) -> DigestReceipt:
        if all(is_blank(message.content) for message in request.messages):
            return await self._settled(request, claim, DigestOutcome.NOTHING, "nothing was said")
        if not await self._account(self._energy.admit, request):
            return await self._deferred(request, claim, "energy is low")
        try:
            completion = await self._model.complete(
                await self._prompt(request),
                purpose=PURPOSE,
                timeout_s=self._timeout_s,
                max_chars=MAX_CONTENT_CHARS,
            )
        except (ModelBudgetError, ModelUnavailableError, ModelTimeoutError, ModelAccessError) as error:
            await self._account(self._energy.give_back, request)
            return await self._deferred(request, claim, str(error))
        except asyncio.CancelledError:
            with suppress(StorageError):
                await self._account(self._energy.give_back, request)
            raise
        except ModelError as error:
            await self._account(self._energy.give_back, request)
            return await self._settled(request, claim, DigestOutcome.SKIPPED, str(error))
        digest = read_digest(completion.text)
        self._counts.secrets += len(digest.secrets)
        return await self._decide(request, claim, completion, digest)

    async def _prompt(self, request: MemoryCreationRequest) -> str:
        """Return the prompt; the extractive model, which picks from all data, is given the conversation alone."""
        now = self._store.now()
        if self._model.extractive:
            return creation_prompt(request, whole=True, now=now, zone=self._zone)
        async with self._store.reading() as sql:
            known = await memories.visible(sql, request.app_id, user_id=request.user_id)
        return creation_prompt(request, now=now, zone=self._zone, known=[memory.content for memory in known])

    async def _account(self, book: Callable[..., Awaitable[T]], request: MemoryCreationRequest) -> T:
        """Take or give back the energy of a digest with an operation of the budget."""
        about = {"app_id": request.app_id, "conversation_id": request.conversation_id}
        units = creation_cost(request.chars)
        return await twice(lambda: book(Operation.CREATION, units, **about), self._counts, **about)

    async def _decide(
        self, request: MemoryCreationRequest, claim: Claim, completion: Completion[None], digest: Digest
    ) -> DigestReceipt:
        if digest.content is None and digest.secrets:
            reason = f"the digest looks like a secret ({digest.secrets[0]})"
            return await self._settled(request, claim, DigestOutcome.REFUSED, reason)
        failure = "the model refused to answer" if digest.refused else _emptiness(completion)
        if failure:
            return await self._settled(request, claim, DigestOutcome.SKIPPED, failure)
        assessment = assess(digest.content or "")
        if digest.content is None or assessment.importance == 0:
            return await self._settled(request, claim, DigestOutcome.NOTHING, "nothing is worth keeping")
        now = self._store.now()
        flags = await asyncio.to_thread(_flags_of, request)
        draft = Draft(
            app_id=request.app_id,
            user_id=request.user_id,
            content=digest.content,
            source_conversation_id=request.conversation_id,
            metadata=Metadata(
                importance=assessment.importance, tags=assessment.tags, model=completion.model, flags=flags
            ),
            created_at=now,
            updated_at=now,
        )
        vector = await self._vectors.compute(draft.content)
        async with self._compactor.turn(request.app_id):
            receipt = await twice(
                lambda: self._store_memory(request, claim, draft, vector, digest),
                self._counts,
                app_id=request.app_id,
                conversation_id=request.conversation_id,
            )
            compactions: tuple[CompactionReceipt, ...] = ()
            if receipt.outcome is DigestOutcome.CREATED:
                compactions = await self._compactor.settle(request.app_id, request.user_id)
        return self._reported(replace(receipt, compactions=compactions, extractive=completion.extractive))

    async def _store_memory(
        self,
        request: MemoryCreationRequest,
        claim: Claim,
        draft: Draft,
        vector: bytes | None,
        digest: Digest,
    ) -> DigestReceipt:
        reason = f"left out a text that looks like a secret ({digest.secrets[0]})" if digest.secrets else ""
        async with self._store.writing(memories_lock(request.app_id)) as sql:
            if not await queue.settle(sql, self._store, claim, DigestOutcome.CREATED, reason):
                return _receipt(request, DigestOutcome.DROPPED, "the app was purged meanwhile")
            known = await memories.visible(sql, request.app_id, user_id=request.user_id)
            author = Author(actor=current_actor(SUBAGENT), now=draft.created_at, reason=reason)
            memory = await memories.create(sql, draft, author)
            if memory is None:
                return _receipt(request, DigestOutcome.REPEATED, "the app has a memory of this conversation")
            await self._vectors.keep(sql, memory, vector)
        *known, memory = self._quarantine.watch([*known, memory])
        conflicts = [one for one in find_conflicts([*known, memory]) if memory in (one.older, one.newer)]
        return _receipt(request, DigestOutcome.CREATED, reason, memory=memory, conflicts=tuple(conflicts))

    async def _deferred(self, request: MemoryCreationRequest, claim: Claim, reason: str) -> DigestReceipt:
        async with self._store.writing() as sql:
            kept = await queue.defer(sql, self._store, claim, request, reason)
        if not kept:
            return self._told(request, DigestOutcome.DROPPED, "the app was purged meanwhile")
        return self._told(request, DigestOutcome.DEFERRED, reason)

    async def _settled(
        self, request: MemoryCreationRequest, claim: Claim, outcome: DigestOutcome, reason: str
    ) -> DigestReceipt:
        """Store an outcome without a memory; if that fails too, the claim expires and the digest is retried."""
        try:
            async with self._store.writing() as sql:
                await queue.settle(sql, self._store, claim, outcome, reason)
        except StorageError as error:
            reason = f"{reason}; storing this outcome failed too: {error}"
        return self._told(request, outcome, reason)

    def _told(self, request: MemoryCreationRequest, outcome: DigestOutcome, reason: str) -> DigestReceipt:
        return self._reported(_receipt(request, outcome, reason))

    def _reported(self, receipt: DigestReceipt) -> DigestReceipt:
        """Count and log a receipt, and return it."""
        self._counts.add_digest(receipt)
        extra = {"app_id": receipt.app_id, "conversation_id": receipt.conversation_id}
        match receipt.outcome:
            case DigestOutcome.CREATED:
                log.info(
                    "created memory for app %s from conversation %s",
                    receipt.app_id,
                    receipt.conversation_id,
                    extra=extra,
                )
            case DigestOutcome.SKIPPED:
                self._counts.fallbacks["creation"] += 1
                log.error(
                    "memory creation failed for %s: %s", receipt.conversation_id, receipt.reason, extra=extra
                )
            case DigestOutcome.REFUSED | DigestOutcome.DEFERRED | DigestOutcome.DROPPED:
                log.warning(
                    "no memory of conversation %s: %s: %s",
                    receipt.conversation_id,
                    receipt.outcome,
                    receipt.reason,
                    extra=extra,
                )
            case DigestOutcome.NOTHING | DigestOutcome.REPEATED:
                log.info(
                    "no memory of conversation %s: %s", receipt.conversation_id, receipt.reason, extra=extra
                )
            case _:
                assert_never(receipt.outcome)
        for conflict in receipt.conflicts:
            log.info(
                "memories %d and %d of app %s contradict each other",
                conflict.older.id,
                conflict.newer.id,
                receipt.app_id,
                extra=extra,
            )
        return receipt


def _emptiness(completion: Completion[None]) -> str:
    """Return why an empty answer is a failure; empty if it is none. A model that finds nothing says so in a word."""
    is_empty = not completion.text and not completion.extractive
    return "the model answered with an empty text" if is_empty else ""


def _receipt(
    request: MemoryCreationRequest,
    outcome: DigestOutcome,
    reason: str,
    *,
    memory: Memory | None = None,
    conflicts: tuple[Conflict, ...] = (),
) -> DigestReceipt:
    return DigestReceipt(
        app_id=request.app_id,
        conversation_id=request.conversation_id,
        outcome=outcome,
        reason=reason,
        memory=memory,
        conflicts=conflicts,
    )


def _flags_of(request: MemoryCreationRequest) -> tuple[Flag, ...]:
    """Return why the user's messages look like instructions; a digest keeps the flags without repeating the words."""
    said = [message.content for message in request.messages if message.role == "user"]
    return tuple(dict.fromkeys(flag for text in said for flag in find_flags(text)))
