"""Reading, confirming, pinning and forgetting a memory of any kind by its id or short id, and the undo of this."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import assert_never
from uuid import UUID

from commonplace.core.errors import (
    ConflictError,
    InvalidInputError,
    NotFoundError,
    SupersededError,
    UndoRefusedError,
)
from commonplace.core.sources import Source
from commonplace.knowledge.browse.single_memories import read_one, read_then, require_found
from commonplace.knowledge.lifecycle.review import supersede
from commonplace.knowledge.memories.replaced import oppose
from commonplace.knowledge.model import inputs
from commonplace.knowledge.model.fact_drafts import FactDraft
from commonplace.knowledge.model.kinds import (
    PINNED,
    Episode,
    Fact,
    Memory,
    MemoryType,
    Moment,
    Rule,
    Validity,
)
from commonplace.knowledge.store.id_lookup import find_id
from commonplace.knowledge.store.session import KnowledgeSession
from commonplace.knowledge.store.statements import KnowledgeStatements
from commonplace.knowledge.store.traced import traced
from commonplace.knowledge.store.unit_of_work import of_kind
from commonplace.storage.database import Columns


class SingleMemories:
    """Getting, confirming, pinning and forgetting of a memory of any kind, and the undo of this."""

    def __init__(self, session: KnowledgeSession) -> None:
        self._session = session

    async def get(self, memory_type: str, memory_id: UUID | str, *, as_of: Moment | None = None) -> Memory:
        """Return a memory, counting one use."""
        moment = inputs.optional_moment(as_of, field="as_of", at_end=True, times=self._session.times)
        async with traced(self._session, "search_memory") as note:
            if moment is None:
                return note(await self.count_use(memory_type, memory_id))
            kind = inputs.require_memory_type(memory_type)
            async with self._session.reading() as sql:
                key = await find_id(sql, memory_id, kind, field="memory_id")
                return note(await read_then(sql, kind, key, as_of=moment))

    async def count_use(self, memory_type: str, memory_id: UUID | str, *, retracted: bool = False) -> Memory:
        """Return a memory after counting one use; ``retracted`` says whether a forgotten fact is returned too."""
        now = self._session.clock()
        async with self._changing(memory_type, memory_id) as (sql, kind, key):
            row = await of_kind(kind, sql).count_use(id=key, now=now)
            found = require_found(row, kind, key, now=now)
            if isinstance(found, Fact) and found.is_forgotten and not retracted:
                raise NotFoundError(kind, str(key))
            return found

    async def confirm(self, memory_type: str, memory_id: UUID | str) -> Memory:
        """Restart the decay of an active fact, or of a rule that is not forgotten, and return it."""
        now = self._session.clock()
        changing = self._changing(memory_type, memory_id, no_episode="has no confidence")
        async with traced(self._session, "update_memory") as note, changing as (sql, kind, key):
            if kind is MemoryType.FACT and await self._accepted(sql, key, now):
                return note(await read_one(sql, kind, key, now=now))
            if await of_kind(kind, sql).confirm(id=key, now=now) is None:
                raise await self._not_live(sql, kind, key, now)
            return note(await read_one(sql, kind, key, now=now))

    async def _not_live(
        self, sql: KnowledgeStatements, kind: MemoryType, key: UUID, now: datetime
    ) -> NotFoundError:
        """Return the error for a memory that is not live, which names the successor of a superseded fact."""
        found = await read_one(sql, kind, key, now=now)
        if isinstance(found, Fact) and found.validity is Validity.SUPERSEDED:
            return SupersededError(str(key), await sql.successor_of_fact(id=key))
        return NotFoundError(kind, str(key))

    async def _accepted(self, sql: KnowledgeStatements, key: UUID, now: datetime) -> bool:
        """Activate a held fact in place of the fact that it contradicts; return whether it was held."""
        fact = await read_one(sql, MemoryType.FACT, key, now=now)
        if not isinstance(fact, Fact) or fact.validity is not Validity.HELD:
            return False
        if self._session.source is not Source.PERSON:
            state = f"The fact {key} is held, because it contradicts a more trusted fact."
            message = f"{state} A person must decide about this fact with `commonplace review`."
            raise ConflictError("memory_id", message, str(key))
        await sql.serialise_fact_keys(keys=[FactDraft.of(fact).key])
        for rival in await sql.rivals_of_held_fact(id=key):
            await supersede(sql, MemoryType.FACT, rival["id"], by_id=key, now=now)
        return await sql.accept_fact(id=key, now=now) is not None

    async def pin(self, memory_type: str, memory_id: UUID | str, *, pinned: bool = True) -> Memory:
        """Add or remove the tag ``pinned`` of an active fact, or of a rule that is not forgotten."""
        return await self.tag(memory_type, memory_id, PINNED, tagged=pinned)

    async def tag(self, memory_type: str, memory_id: UUID | str, tag: str, *, tagged: bool = True) -> Memory:
        """Add or remove a tag of an active fact, or of a rule that is not forgotten."""
        (name,) = inputs.require_tags([tag], allow_secrets=False)
        async with self._changing(memory_type, memory_id, no_episode="has no tags") as (sql, kind, key):
            if await of_kind(kind, sql).tag(id=key, tag=name, tagged=tagged) is None:
                raise NotFoundError(kind, str(key))
            memory = await read_one(sql, kind, key, now=self._session.clock())
            if isinstance(memory, Fact | Rule) and tagged:
                inputs.require_tags(memory.tags, allow_secrets=True)
            return memory

    async def forget(self, memory_type: str, memory_id: UUID | str) -> Memory:
        """Remove a memory from every search: an episode expires now, a fact is retracted, a rule is marked."""
        now = self._session.clock()
        changing = self._changing(memory_type, memory_id)
        async with traced(self._session, "delete_memory") as note, changing as (sql, kind, key):
            match kind:
                case MemoryType.EPISODE:
                    await sql.forget_episode(id=key, now=now)
                case MemoryType.FACT:
                    await sql.retract_fact(id=key)
                case MemoryType.RULE:
                    await sql.forget_rule(id=key)
                case _:
                    assert_never(kind)
            return note(await read_one(sql, kind, key, now=now))

    async def undo_confirmation(self, memory_type: str, memory_id: UUID | str) -> Memory:
        """Undo the last confirmation of a fact or rule, and return the memory."""
        async with self._changing(memory_type, memory_id, no_episode="has no confidence") as (sql, kind, key):
            replaced = await sql.superseded_by(memory_type=kind, id=key)
            undo = sql.unconfirm_last_of_fact if kind is MemoryType.FACT else sql.unconfirm_last_of_rule
            if await undo(id=key) is None:
                reason = f"nobody confirmed the {kind}, or it changed since"
                raise UndoRefusedError("memory_id", "the confirmation", reason, str(key))
            undone = await read_one(sql, kind, key, now=self._session.clock())
            if isinstance(undone, Fact) and undone.validity is Validity.HELD:
                await _restore_replaced(sql, kind, key, replaced, change="the confirmation")
                for each in replaced:
                    await oppose(sql, kind, key, each["id"], now=self._session.clock())
            return undone

    async def undo_replacing(self, memory_type: str, memory_id: UUID | str) -> list[Memory]:
        """Forget a fact or rule, restore what it replaced, and return the restored memories."""
        now = self._session.clock()
        changing = self._changing(memory_type, memory_id, no_episode="replaces nothing")
        async with changing as (sql, kind, key):
            memory = await read_one(sql, kind, key, now=now)
            replaced = await sql.superseded_by(memory_type=kind, id=key)
            if not replaced or isinstance(memory, Episode) or memory.is_forgotten:
                reason = f"the {kind} replaced nothing, or it is forgotten"
                raise UndoRefusedError("memory_id", "the replacement", reason, str(key))
            await (sql.retract_fact if kind is MemoryType.FACT else sql.forget_rule)(id=key)
            await _restore_replaced(sql, kind, key, replaced, change="the replacement")
            return [await read_one(sql, kind, each["id"], now=now) for each in replaced]

    async def restore(self, memory_type: str, memory_id: UUID | str) -> Memory:
        """Restore a forgotten memory, and return it."""
        now = self._session.clock()
        async with self._changing(memory_type, memory_id) as (sql, kind, key):
            match kind:
                case MemoryType.EPISODE:
                    restored = await sql.restore_episode(id=key, now=now)
                case MemoryType.FACT:
                    restored = await sql.restore_inactive_fact(id=key) or await sql.restore_fact(
                        id=key, validity=Validity.RETRACTED
                    )
                case MemoryType.RULE:
                    restored = await sql.restore_rule(id=key)
                case _:
                    assert_never(kind)
            memory = await read_one(sql, kind, key, now=now)
            if restored is None:
                reason = f"the {kind} is not forgotten, or another has replaced it"
                if kind is MemoryType.EPISODE:
                    reason = "the episode is not forgotten, or it would have expired by now"
                raise UndoRefusedError("memory_id", "the forgetting", reason, str(key))
            return memory

    @asynccontextmanager
    async def _changing(
        self, memory_type: str, memory_id: UUID | str, *, no_episode: str = ""
    ) -> AsyncGenerator[tuple[KnowledgeStatements, MemoryType, UUID]]:
        """Open a transaction that changes a memory; ``no_episode`` says why it must not be an episode."""
        kind = inputs.require_memory_type(memory_type)
        if no_episode and kind is MemoryType.EPISODE:
            raise InvalidInputError(
                "memory_type", f"fact or rule, because an episode {no_episode}", str(kind)
            )
        async with self._session.writing() as sql:
            yield sql, kind, await find_id(sql, memory_id, kind, field="memory_id")


async def _restore_replaced(
    sql: KnowledgeStatements, kind: MemoryType, key: UUID, replaced: Sequence[Columns], *, change: str
) -> None:
    """Restore the memories that a memory replaced.

    Raises:
        UndoRefusedError: Another memory has replaced one of them since.
    """
    for each in replaced:
        restored = (
            await sql.restore_fact(id=each["id"], validity=Validity.SUPERSEDED)
            if kind is MemoryType.FACT
            else await sql.restore_rule(id=each["id"])
        )
        if restored is None:
            reason = f"another {kind} has replaced the {kind} that it had replaced"
            raise UndoRefusedError("memory_id", change, reason, str(key))
