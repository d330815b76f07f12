"""The compactor: it asks for a decision, and applies it in one transaction to bring a space back to ten memories.

It holds no database connection while the model thinks. The memories may change in the meantime: a decision applies only
to the memories that it was made for; otherwise the compactor decides again. This is rare, because one process works on
an app's memories one task at a time.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final
from weakref import WeakValueDictionary

from commonplace.apps.model.bounds import MAX_MEMORIES
from commonplace.apps.model.compaction import (
    CompactionPlan,
    InvalidDecisionError,
    MemoryCompactionDecision,
    MemoryCompactionRequest,
)
from commonplace.apps.model.energy import Operation
from commonplace.apps.model.memories import Author, Digest
from commonplace.apps.model.receipts import CompactionAction, CompactionReceipt
from commonplace.apps.resources.resources import Resources
from commonplace.apps.resources.retry import twice
from commonplace.apps.rules.compaction_decision import (
    compaction_prompt,
    decide_by_rule,
    first_in_first_out,
    plan_for,
)
from commonplace.apps.rules.energy import compaction_cost
from commonplace.apps.store import memories
from commonplace.apps.store.locks import memories_lock
from commonplace.apps.store.statements import AppStatements
from commonplace.core.errors import ModelBudgetError, ModelError, StorageError
from commonplace.core.request_context import current_actor
from commonplace.llm import Completion
from commonplace.llm.answers import ask_again

PURPOSE: Final = "app.compaction"
SUBAGENT: Final = "subagent"
MOST_ROUNDS: Final = 3
"""The number of decisions of the model that may come too late before the rule decides."""

log = logging.getLogger(__name__)


class Compactor:
    """Makes room among the memories of apps; see the module."""

    def __init__(self, resources: Resources) -> None:
        self._store = resources.store
        self._model = resources.model
        self._energy = resources.energy
        self._vectors = resources.vectors
        self._counts = resources.counts
        self._timeout_s = resources.timeout_s
        self._quarantine = resources.quarantine
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def turn(self, app_id: str) -> AsyncGenerator[None]:
        """Wait until no other task of this process adds or compacts memories of the app."""
        lock = self._turns.setdefault(app_id, asyncio.Lock())
        async with lock:
            yield

    async def settle(self, app_id: str, user_id: str | None) -> tuple[CompactionReceipt, ...]:
        """Bring a space back to ten memories, within a :meth:`turn`.

        Returns:
            A receipt for each compaction; the last one may be deferred or failed.
        """
        receipts: list[CompactionReceipt] = []
        rounds = 0
        while True:
            try:
                request = await self._request(app_id, user_id)
            except StorageError as error:
                receipts.append(self._count(self._failed(app_id, error)))
                break
            if request is None:
                break
            receipt = await self.compact(request, overtaken=rounds)
            if receipt is None:
                rounds += 1
                continue
            receipts.append(receipt)
            if not receipt.removed and receipt.edited is None:
                break
            rounds = 0
        return tuple(receipts)

    async def compact(
        self, request: MemoryCompactionRequest, *, overtaken: int = 0
    ) -> CompactionReceipt | None:
        """Remove or merge one memory of a space that has more than ten.

        Args:
            request: The memories as they were read.
            overtaken: The number of decisions that came too late. Only the first decision costs energy. After
                :data:`MOST_ROUNDS` the rule decides, which takes no time.

        Returns:
            The receipt; ``None`` if the memories have changed since the request.
        """
        if len(request.memories) <= MAX_MEMORIES:
            return CompactionReceipt(
                app_id=request.app_id, action=CompactionAction.NONE, reason="the space has room"
            )
        plan = await self._plan(request, overtaken)
        if isinstance(plan, CompactionReceipt):
            return self._count(plan)
        try:
            receipt = await twice(lambda: self._apply(request, plan), self._counts, app_id=request.app_id)
        except StorageError as error:
            log.error(  # noqa: TRY400 - an outage, no fault of the program
                "compaction for app %s failed; the oldest memory is removed instead: %s",
                request.app_id,
                error,
                extra={"app_id": request.app_id},
            )
            receipt = await self._fall_back(request, f"database: {error}")
        return None if receipt is None else self._count(receipt)

    async def _request(self, app_id: str, user_id: str | None) -> MemoryCompactionRequest | None:
        async with self._store.reading() as sql:
            held = await memories.space(sql, app_id, user_id)
        if len(held) <= MAX_MEMORIES:
            return None
        newest = max(held, key=lambda memory: memory.id)
        existing = tuple(memory for memory in held if memory.id != newest.id)
        return MemoryCompactionRequest(app_id=app_id, existing_memories=existing, new_memory=newest)

    async def _plan(
        self, request: MemoryCompactionRequest, overtaken: int
    ) -> CompactionPlan | CompactionReceipt:
        """Pay and decide; return a receipt if the compaction has to wait."""
        try:
            if not overtaken and not await self._admitted(request):
                return self._deferred(request, "energy is low")
        except StorageError as error:
            return self._failed(request.app_id, error)
        if self._model.extractive or overtaken >= MOST_ROUNDS:
            return await asyncio.to_thread(decide_by_rule, request, self._store.now())
        try:
            return await self._ask(request)
        except ModelBudgetError as error:
            return self._deferred(request, str(error))
        except (ModelError, InvalidDecisionError) as error:
            log.error(  # noqa: TRY400 - the model's fault, no fault of the program
                "compaction for app %s: no usable decision; the oldest memory is removed instead: %s",
                request.app_id,
                error,
                extra={"app_id": request.app_id},
            )
            return first_in_first_out(request.memories, str(error))

    async def _ask(self, request: MemoryCompactionRequest) -> CompactionPlan:
        """Ask the model; after an invalid decision, name the fault and ask once more."""
        prompt = compaction_prompt(request)
        decided = await self._decided(prompt)
        try:
            return plan_for(decided.value, request, may_trim=False)
        except InvalidDecisionError as error:
            fault = str(error)
        log.info("compaction for app %s: the model is asked again: %s", request.app_id, fault)
        again = await self._decided(ask_again(prompt, answer=decided.text, fault=fault))
        return plan_for(again.value, request)

    async def _decided(self, prompt: str) -> Completion[MemoryCompactionDecision]:
        return await self._model.complete(
            prompt, purpose=PURPOSE, output=MemoryCompactionDecision, timeout_s=self._timeout_s
        )

    async def _admitted(self, request: MemoryCompactionRequest) -> bool:
        new = request.new_memory
        source = new.source_conversation_id or ""
        chars = await self._store.reads.conversation_chars(conversation_id=source)
        units = compaction_cost(chars)
        return await self._energy.admit(
            Operation.COMPACTION, units, app_id=request.app_id, conversation_id=source
        )

    async def _apply(
        self, request: MemoryCompactionRequest, plan: CompactionPlan
    ) -> CompactionReceipt | None:
        vector = None if plan.content is None else await self._vectors.compute(plan.content)
        author = Author(
            actor=current_actor(SUBAGENT), now=self._store.now(), reason=plan.reason or plan.fallback
        )
        async with self._store.writing(memories_lock(request.app_id)) as sql:
            held = await memories.space(sql, request.app_id, request.new_memory.user_id)
            if sorted(held, key=_id) != sorted(request.memories, key=_id):
                return None
            if plan.content is None:
                await memories.remove(sql, plan.target, author)
                return _receipt(request, plan, removed=plan.target)
            edited = await memories.edit(sql, plan.target, plan.content, author, gone=plan.gone)
            await self._vectors.keep(sql, edited, vector)
            return _receipt(request, plan, removed=plan.gone, edited=edited.watched_by(self._quarantine))

    async def _fall_back(self, request: MemoryCompactionRequest, why: str) -> CompactionReceipt:
        """Remove the oldest memory, even if the memories have changed in the meantime."""
        author = Author(actor=current_actor(SUBAGENT), now=self._store.now(), reason="first in, first out")
        try:
            async with self._store.writing(memories_lock(request.app_id)) as sql:
                held = await memories.space(sql, request.app_id, request.new_memory.user_id)
                return await self._remove_oldest(sql, request, held, author, why)
        except StorageError as error:
            return self._failed(request.app_id, error)

    async def _remove_oldest(
        self,
        sql: AppStatements,
        request: MemoryCompactionRequest,
        held: list[Digest],
        author: Author,
        why: str,
    ) -> CompactionReceipt:
        if len(held) <= MAX_MEMORIES:
            return CompactionReceipt(
                app_id=request.app_id, action=CompactionAction.NONE, reason="the space has room", fallback=why
            )
        plan = first_in_first_out(held, why)
        await memories.remove(sql, plan.target, author)
        return _receipt(request, plan, removed=plan.target)

    def _deferred(self, request: MemoryCompactionRequest, reason: str) -> CompactionReceipt:
        return CompactionReceipt(app_id=request.app_id, action=CompactionAction.DEFERRED, reason=reason)

    def _failed(self, app_id: str, error: StorageError) -> CompactionReceipt:
        log.error(
            "compaction for app %s failed; the next digest retries it: %s",
            app_id,
            error,
            extra={"app_id": app_id},
        )
        return CompactionReceipt(
            app_id=app_id, action=CompactionAction.FAILED, reason=str(error), fallback=f"database: {error}"
        )

    def _count(self, receipt: CompactionReceipt) -> CompactionReceipt:
        self._counts.add_compaction(receipt)
        extra = {"app_id": receipt.app_id}
        changed = receipt.edited or next(iter(receipt.removed), None)
        if changed:
            log.info(
                "compacted memories for app %s: %s memory %d (%s)",
                receipt.app_id,
                receipt.action,
                changed.id,
                receipt.decider,
                extra=extra,
            )
        elif receipt.action is CompactionAction.DEFERRED:
            log.warning("compaction for app %s waits: %s", receipt.app_id, receipt.reason, extra=extra)
        return receipt


def _id(memory: Digest) -> int:
    return memory.id


def _receipt(
    request: MemoryCompactionRequest,
    plan: CompactionPlan,
    *,
    removed: Digest | None,
    edited: Digest | None = None,
) -> CompactionReceipt:
    return CompactionReceipt(
        app_id=request.app_id,
        action=CompactionAction.DELETE if edited is None else CompactionAction.EDIT,
        decider=plan.decider,
        removed=() if removed is None else (removed,),
        edited=edited,
        reason=plan.reason,
        fallback=plan.fallback,
    )
