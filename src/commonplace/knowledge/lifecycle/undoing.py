"""Undo of confirming and of forgetting a memory."""

from uuid import UUID

from commonplace.core.errors import UndoRefusedError
from commonplace.knowledge.browse.reading import read_one
from commonplace.knowledge.kinds import Fact, Memory, MemoryType, Validity
from commonplace.knowledge.lifecycle.any_memory import AnyMemoryMethods


class UndoingMethods(AnyMemoryMethods):
    """The methods of knowledge memory that undo a change of one memory."""

    async def undo_confirmation(self, memory_type: str, memory_id: UUID | str) -> Memory:
        """Undo the last confirmation of a fact or rule, and return the memory.

        The decay counts from the previous confirmation, and the former trust is restored. A fact that was held is held
        again, and the fact that it replaced is active again.

        Raises:
            InvalidInputError: The type or id is malformed, or the memory is an episode.
            UndoRefusedError: Nobody confirmed the memory, it changed since, or the fact that it replaced cannot be
                restored.
            NotFoundError: The memory does not exist.
        """
        async with self._changing(memory_type, memory_id, no_episode="has no confidence") as (sql, kind, key):
            memory = await read_one(sql, kind, key, now=self.clock())
            undo = sql.unconfirm_last_of_fact if kind is MemoryType.FACT else sql.unconfirm_last_of_rule
            if await undo(id=key) is None:
                reason = f"nobody confirmed the {kind}, or it changed since"
                raise UndoRefusedError("memory_id", "the confirmation", reason, str(key))
            undone = await read_one(sql, kind, key, now=self.clock())
            if isinstance(memory, Fact) and isinstance(undone, Fact):
                replaced = memory.supersedes_id
                if replaced != undone.supersedes_id and not await sql.restore_fact(
                    id=replaced, validity=Validity.SUPERSEDED
                ):
                    reason = "another fact has replaced the fact that it had replaced"
                    raise UndoRefusedError("memory_id", "the confirmation", reason, str(key))
            return undone

    async def restore_memory(self, memory_type: str, memory_id: UUID | str) -> Memory:
        """Restore a forgotten fact or rule, and return the memory.

        A fact that was not active before, such as a held fact, returns to its former state.

        Raises:
            InvalidInputError: The type or id is malformed, or the memory is an episode.
            UndoRefusedError: The memory is not forgotten, or another memory has replaced it.
            NotFoundError: The memory does not exist.
        """
        async with self._changing(memory_type, memory_id, no_episode="expires when it is forgotten") as found:
            sql, kind, key = found
            if kind is MemoryType.RULE:
                restored = await sql.restore_rule(id=key)
            else:
                restored = await sql.restore_inactive_fact(id=key) or await sql.restore_fact(
                    id=key, validity=Validity.RETRACTED
                )
            memory = await read_one(sql, kind, key, now=self.clock())
            if restored is None:
                reason = f"the {kind} is not forgotten, or another has replaced it"
                raise UndoRefusedError("memory_id", "the forgetting", reason, str(key))
            return memory
