"""The worker that makes the digests of ended conversations, and the receipt of each digest.

It makes a digest in the background when a conversation ends, and waiting digests when there is energy again. Each
digest goes the same way: claim, attempt, end, receipt. Source: APP-02 to APP-05, APP-11.2, APP-15.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, assert_never

from commonplace.apps.compaction.compactor import Compactor
from commonplace.apps.digests.attempt import Attempt
from commonplace.apps.digests.background import Background
from commonplace.apps.model.bounds import MAX_MEMORIES
from commonplace.apps.model.compaction import MemoryCompactionRequest
from commonplace.apps.model.conversations import Conversation
from commonplace.apps.model.digests import (
    CatchUp,
    DatedDigest,
    DigestAttempt,
    DigestClaim,
    ListedState,
    MemoryCreationRequest,
    OpenDigests,
    QueuedDigest,
)
from commonplace.apps.model.figures import WEEK
from commonplace.apps.model.memories import ALL_ROWS, LISTED
from commonplace.apps.model.names import require_app_id, require_id
from commonplace.apps.model.receipts import CompactionAction, CompactionReceipt, DigestOutcome, DigestReceipt
from commonplace.apps.resources.resources import Resources
from commonplace.apps.resources.retry import twice
from commonplace.apps.store import digest_queue as queue
from commonplace.apps.store.apps import get_app
from commonplace.core.choices import require_one_of
from commonplace.core.clock import format_timestamp
from commonplace.core.errors import NotFoundError, StorageError

MOST_AT_ONCE: Final = 4
"""The number of digests made concurrently."""

MOST_PER_ROUND: Final = 1000
_LONGEST_WAIT_S: Final = 900.0

log = logging.getLogger(__name__)


class DigestWorker:
    """Makes the digests of an app memory, and keeps at most ten memories per space.

    Args:
        on_receipt: Called with the receipt of every digest made in the background.
    """

    def __init__(
        self, resources: Resources, *, on_receipt: Callable[[DigestReceipt], None] | None = None
    ) -> None:
        self._resources = resources
        self._store = resources.store
        self._compactor = Compactor(resources)
        self._on_receipt = on_receipt
        self._background = Background()
        self._slots = asyncio.Semaphore(MOST_AT_ONCE)
        self._in_flight: set[tuple[str, str]] = set()
        self._waker: asyncio.Task[None] | None = None
        self._closing = False

    async def waiting(self, *, limit: int = ALL_ROWS) -> list[QueuedDigest]:
        """Return the digests that wait for energy or for a worker, the longest waiting first."""
        rows = await self._store.reads.open_digests(moment=self._store.moment(), limit=limit)
        return QueuedDigest.from_rows(rows)

    async def open(self, app_id: str | None = None) -> OpenDigests:
        """Return waiting and running digests of one app or all."""
        async with self._store.reading() as sql:
            rows = await sql.page_of_open_digests(app_id=app_id, limit=LISTED)
            total = await sql.count_open_digests(app_id=app_id)
        return OpenDigests(digests=DatedDigest.from_rows(rows), total=total)

    async def failed(self, app_id: str | None = None, *, limit: int = LISTED) -> list[DatedDigest]:
        """Return digests of one app or all that were queued within a week and failed, newest first."""
        return DatedDigest.from_rows(
            await self._store.reads.skipped_digests(
                app_id=app_id, since=format_timestamp(self._store.now() - WEEK), limit=limit
            )
        )

    def begin(self, conversation: Conversation) -> asyncio.Task[DigestReceipt]:
        """Make the queued digest of an ended conversation in the background."""
        return self._background.start(
            self._make_and_tell(conversation.app_id, conversation.conversation_id),
            name=f"digest of {conversation.conversation_id}",
        )

    async def make(self, request: MemoryCreationRequest) -> DigestReceipt:
        """Make the memory of a conversation once, and bring its space back to ten memories.

        A digest waits in the queue if energy is low, or if the model cannot answer now. It is skipped if the
        database fails, or if the model refuses; :meth:`retry` retries it.

        Raises:
            InvalidInputError: An id is malformed.
            NotFoundError: No app has this id.
        """
        app_id = require_app_id(request.app_id)
        conversation_id = require_id(request.conversation_id, field="conversation_id")
        return self._report(app_id, conversation_id, await self._end(request))

    async def compact(self, request: MemoryCompactionRequest) -> CompactionReceipt:
        """Remove or merge one memory of a space that has more than ten.

        If there is room, or if the memories have changed since the request, nothing changes and the receipt says so.
        """
        async with self._compactor.turn(request.app_id):
            receipt = await self._compactor.compact(request)
        if receipt is None:
            reason = "the memories have changed since the request"
            return CompactionReceipt(app_id=request.app_id, action=CompactionAction.NONE, reason=reason)
        return receipt

    async def run_deferred(self) -> CatchUp:
        """Make waiting digests, the longest waiting first, until energy is low again.

        This includes digests that a stopped process left behind, and waiting compactions.
        """
        waiting = await self.waiting(limit=MOST_PER_ROUND)
        digests = await self._make_each(
            [one for one in waiting if (one.app_id, one.conversation_id) not in self._in_flight]
        )
        return CatchUp(digests=tuple(digests), compactions=tuple(await self._settle_overfull()))

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
        candidates = [one for one in undone if conversation_id in (None, one.conversation_id)]
        if conversation_id is not None and not candidates:
            raise NotFoundError("skipped or deferred digest", conversation_id)
        return await self._make_each(candidates)

    async def aclose(self) -> None:
        """Wait for the running digests; digests that wait for energy stay in the queue."""
        self._stop_waking()
        await self._background.drain()

    async def cancel(self) -> None:
        """Stop the running digests; they go back to the queue."""
        self._stop_waking()
        await self._background.cancel()

    async def _run(self, app_id: str, conversation_id: str) -> DigestReceipt:
        """Make a queued digest; every error becomes a receipt, because memories must never stop the host."""
        key = (app_id, conversation_id)
        self._in_flight.add(key)
        try:
            async with self._store.reading() as sql:
                request = await queue.request_for(sql, app_id, conversation_id)
            return await self.make(request)
        except NotFoundError as error:
            ending = DigestAttempt(outcome=DigestOutcome.DROPPED, reason=str(error))
            return self._report(app_id, conversation_id, ending)
        except Exception as error:  # noqa: BLE001 - logged with its traceback, as the end of the digest
            ending = DigestAttempt(outcome=DigestOutcome.SKIPPED, reason=f"{type(error).__name__}: {error}")
            return self._report(app_id, conversation_id, ending, failure=error)
        finally:
            self._in_flight.discard(key)

    async def _end(self, request: MemoryCreationRequest) -> DigestAttempt:
        """Claim a digest, attempt it, and end it."""
        try:
            claim = await twice(
                lambda: self._claim(request),
                self._resources.counts,
                app_id=request.app_id,
                conversation_id=request.conversation_id,
            )
        except StorageError as error:
            return DigestAttempt(outcome=DigestOutcome.SKIPPED, reason=f"database: {error}")
        if claim is None:
            return DigestAttempt(outcome=DigestOutcome.REPEATED, reason="the digest exists or is being made")
        attempt = Attempt(resources=self._resources, request=request, claim=claim)
        try:
            return await self._attempt(attempt)
        except StorageError as error:
            return await attempt.settle(
                DigestAttempt(outcome=DigestOutcome.SKIPPED, reason=f"database: {error}")
            )
        except BaseException:
            # The work was cancelled, or the program has a fault: another worker can claim the digest.
            await attempt.release()
            raise

    async def _claim(self, request: MemoryCreationRequest) -> DigestClaim | None:
        async with self._store.writing() as sql:
            await get_app(sql, request.app_id)
            return await queue.claim(sql, self._store, request.app_id, request.conversation_id)

    async def _attempt(self, attempt: Attempt) -> DigestAttempt:
        proposal = await attempt.propose()
        if isinstance(proposal, DigestAttempt):
            return await attempt.settle(proposal)
        request = attempt.request
        async with self._compactor.turn(request.app_id):
            ending = await attempt.store(proposal)
            if ending.outcome is not DigestOutcome.CREATED:
                return ending
            return replace(ending, compactions=await self._compactor.settle(request.app_id, request.user_id))

    def _report(
        self, app_id: str, conversation_id: str, ending: DigestAttempt, *, failure: Exception | None = None
    ) -> DigestReceipt:
        """Make the receipt of a digest, count it and log it."""
        receipt = DigestReceipt(
            app_id=app_id,
            conversation_id=conversation_id,
            outcome=ending.outcome,
            reason=ending.reason,
            memory=ending.memory,
            compactions=ending.compactions,
            conflicts=ending.conflicts,
            extractive=ending.extractive,
        )
        self._resources.counts.add_digest(receipt)
        _log(receipt, failure)
        return receipt

    async def _settle_overfull(self) -> list[CompactionReceipt]:
        """Bring every space with more than ten memories back to ten, as far as energy allows."""
        receipts: list[CompactionReceipt] = []
        for space in await self._store.reads.overfull(most=MAX_MEMORIES):
            async with self._compactor.turn(space["app_id"]):
                receipts += await self._compactor.settle(space["app_id"], space["user_id"])
            if receipts and receipts[-1].action is CompactionAction.DEFERRED:
                break
        return receipts

    async def _make_each(self, queued: Sequence[QueuedDigest]) -> list[DigestReceipt]:
        """Make digests in order, until one has to wait."""
        receipts: list[DigestReceipt] = []
        for one in queued:
            receipts.append(await self._run(one.app_id, one.conversation_id))
            if receipts[-1].outcome is DigestOutcome.DEFERRED:
                break
        return receipts

    async def _make_and_tell(self, app_id: str, conversation_id: str) -> DigestReceipt:
        async with self._slots:
            receipt = await self._run(app_id, conversation_id)
        if CatchUp(digests=(receipt,), compactions=receipt.compactions).waiting:
            self._wake_later()
        self._tell(receipt)
        return receipt

    def _tell(self, receipt: DigestReceipt) -> None:
        if self._on_receipt is not None:
            self._on_receipt(receipt)

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
                    status = await self._resources.energy.status()
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

    async def list(self, state: ListedState, *, limit: int = ALL_ROWS) -> list[QueuedDigest]:
        """Return the digests in a state, newest first."""
        requested = require_one_of(ListedState, state, field="state")
        async with self._store.reading() as sql:
            return await queue.listed(sql, requested, limit=limit)


def _log(receipt: DigestReceipt, failure: Exception | None) -> None:
    app_id, conversation_id, reason = receipt.app_id, receipt.conversation_id, receipt.reason
    extra = {"app_id": app_id, "conversation_id": conversation_id}
    match receipt.outcome:
        case DigestOutcome.CREATED:
            log.info("created memory for app %s from conversation %s", app_id, conversation_id, extra=extra)
        case DigestOutcome.SKIPPED:
            log.error(
                "memory creation failed for %s: %s", conversation_id, reason, exc_info=failure, extra=extra
            )
        case DigestOutcome.REFUSED | DigestOutcome.DEFERRED | DigestOutcome.DROPPED:
            log.warning(
                "no memory of conversation %s: %s: %s",
                conversation_id,
                receipt.outcome,
                reason,
                extra=extra,
            )
        case DigestOutcome.NOTHING | DigestOutcome.REPEATED:
            log.info("no memory of conversation %s: %s", conversation_id, reason, extra=extra)
        case _:
            assert_never(receipt.outcome)
    for conflict in receipt.conflicts:
        log.info(
            "memories %d and %d of app %s contradict each other",
            conflict.older.id,
            conflict.newer.id,
            app_id,
            extra=extra,
        )
