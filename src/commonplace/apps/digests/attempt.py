"""One attempt at a digest: it pays, asks the model, decides, and stores the memory in one transaction.

It holds no database connection while the model thinks. Source: APP-02 to APP-05, APP-15.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from commonplace.apps.compaction.compactor import SUBAGENT
from commonplace.apps.model.bounds import MAX_CONTENT_CHARS
from commonplace.apps.model.digests import DigestAttempt, DigestClaim, MemoryCreationRequest, Proposal
from commonplace.apps.model.energy import Operation
from commonplace.apps.model.memories import Author
from commonplace.apps.model.receipts import DigestOutcome
from commonplace.apps.resources.resources import Resources
from commonplace.apps.resources.retry import twice
from commonplace.apps.rules.conflicts import find_conflicts
from commonplace.apps.rules.digest_decision import decide
from commonplace.apps.rules.digest_prompt import creation_prompt
from commonplace.apps.rules.digest_text import read_digest
from commonplace.apps.rules.energy import creation_cost
from commonplace.apps.store import digest_queue as queue
from commonplace.apps.store import memories
from commonplace.apps.store.locks import memories_lock
from commonplace.core.errors import (
    ModelAccessError,
    ModelBudgetError,
    ModelError,
    ModelTimeoutError,
    ModelUnavailableError,
    StorageError,
)
from commonplace.core.request_context import current_actor
from commonplace.core.text import is_blank
from commonplace.llm import Completion

PURPOSE: Final = "app.digest"
_PASSING: Final = (ModelBudgetError, ModelUnavailableError, ModelTimeoutError, ModelAccessError)
"""Failures of a model after which a digest waits."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One attempt at the digest of a conversation, under the claim of a worker."""

    resources: Resources
    request: MemoryCreationRequest
    claim: DigestClaim

    async def propose(self) -> Proposal | DigestAttempt:
        """Return the memory to store, or the ending of the attempt without a memory.

        Raises:
            StorageError: The database failed twice.
        """
        if all(is_blank(message.content) for message in self.request.messages):
            return DigestAttempt(outcome=DigestOutcome.NOTHING, reason="nothing was said")
        if not await self._account(self.resources.energy.admit):
            return DigestAttempt(outcome=DigestOutcome.DEFERRED, reason="energy is low")
        answer = await self._ask()
        if isinstance(answer, DigestAttempt):
            return answer
        digest = read_digest(answer.text)
        self.resources.counts.secrets += len(digest.secrets)
        now = self.resources.store.now()
        proposal = await asyncio.to_thread(decide, self.request, digest, answer, now, self.resources.zone)
        if isinstance(proposal, DigestAttempt):
            return proposal
        return replace(proposal, vector=await self.resources.vectors.compute(proposal.draft.content))

    async def store(self, proposal: Proposal) -> DigestAttempt:
        """Store the proposed memory in one transaction with the end of the claim.

        Raises:
            StorageError: The database failed twice.
        """
        ending = await self._twice(lambda: self._store(proposal))
        return replace(ending, extractive=proposal.extractive)

    async def settle(self, ending: DigestAttempt) -> DigestAttempt:
        """Store an ending without a memory; if that fails, the claim expires and the digest is retried.

        Raises:
            StorageError: The digest cannot be put back to wait.
        """
        store = self.resources.store
        if ending.outcome is DigestOutcome.DEFERRED:
            async with store.writing() as sql:
                is_queued = await queue.defer(sql, store, self.claim, self.request, ending.reason)
            return ending if is_queued else _purged()
        try:
            async with store.writing() as sql:
                await queue.settle(sql, store, self.claim, ending.outcome, ending.reason)
        except StorageError as error:
            return replace(ending, reason=f"{ending.reason}; storing this outcome failed too: {error}")
        return ending

    async def release(self) -> None:
        """Put the digest back into the queue, where another worker can claim it."""
        with suppress(StorageError):
            async with self.resources.store.writing() as sql:
                await queue.release(sql, self.resources.store, self.claim)

    async def _ask(self) -> Completion[None] | DigestAttempt:
        """Ask the model; the energy for an answer that does not come is given back."""
        try:
            return await self.resources.model.complete(
                await self._prompt(),
                purpose=PURPOSE,
                timeout_s=self.resources.timeout_s,
                max_chars=MAX_CONTENT_CHARS,
            )
        except asyncio.CancelledError:
            with suppress(StorageError):
                await self._account(self.resources.energy.give_back)
            raise
        except ModelError as error:
            await self._account(self.resources.energy.give_back)
            outcome = DigestOutcome.DEFERRED if isinstance(error, _PASSING) else DigestOutcome.SKIPPED
            return DigestAttempt(outcome=outcome, reason=str(error))

    async def _prompt(self) -> str:
        """Return the prompt; the extractive model, which picks from all data, is given the conversation alone."""
        store, zone = self.resources.store, self.resources.zone
        now = store.now()
        if self.resources.model.extractive:
            return creation_prompt(self.request, whole=True, now=now, zone=zone)
        async with store.reading() as sql:
            known = await memories.visible(sql, self.request.app_id, user_id=self.request.user_id)
        return creation_prompt(self.request, now=now, zone=zone, known=[memory.content for memory in known])

    async def _store(self, proposal: Proposal) -> DigestAttempt:
        store, draft, app_id = self.resources.store, proposal.draft, self.request.app_id
        async with store.writing(memories_lock(app_id)) as sql:
            if not await queue.settle(sql, store, self.claim, DigestOutcome.CREATED, proposal.reason):
                return _purged()
            known = await memories.visible(sql, app_id, user_id=draft.user_id)
            author = Author(actor=current_actor(SUBAGENT), now=draft.created_at, reason=proposal.reason)
            memory = await memories.create(sql, draft, author)
            if memory is None:
                reason = "the app has a memory of this conversation"
                return DigestAttempt(outcome=DigestOutcome.REPEATED, reason=reason)
            await self.resources.vectors.keep(sql, memory, proposal.vector)
        *known, memory = self.resources.quarantine.watch([*known, memory])
        conflicts = await asyncio.to_thread(find_conflicts, [*known, memory], memory)
        return DigestAttempt(
            outcome=DigestOutcome.CREATED,
            reason=proposal.reason,
            memory=memory,
            conflicts=tuple(conflicts),
        )

    async def _account(self, book: Callable[..., Awaitable[T]]) -> T:
        """Take or give back the energy of the digest with an operation of the budget."""
        units = creation_cost(self.request.chars)
        about = {"app_id": self.request.app_id, "conversation_id": self.request.conversation_id}
        return await self._twice(lambda: book(Operation.CREATION, units, **about))

    async def _twice(self, work: Callable[[], Awaitable[T]]) -> T:
        request = self.request
        return await twice(
            work,
            self.resources.counts,
            app_id=request.app_id,
            conversation_id=request.conversation_id,
        )


def _purged() -> DigestAttempt:
    return DigestAttempt(outcome=DigestOutcome.DROPPED, reason="the app was purged meanwhile")
