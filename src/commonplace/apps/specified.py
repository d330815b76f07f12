"""The classes that the specification names, ``SensitiveLoop`` and ``MemorySubAgent``, over an open app memory."""

from collections.abc import Sequence

from commonplace.apps.memory import AppMemory
from commonplace.apps.model.apps import App
from commonplace.apps.model.bounds import MAX_MEMORIES
from commonplace.apps.model.compaction import MemoryCompactionRequest
from commonplace.apps.model.digests import COMPLETED, MemoryCreationRequest
from commonplace.apps.model.memories import Digest
from commonplace.apps.model.receipts import CompactionReceipt, EndReceipt, PurgeReceipt


class SensitiveLoop:
    """The part of the host that ends conversations, and puts memories into the context of later ones."""

    def __init__(self, memory: AppMemory) -> None:
        self._memory = memory

    async def end_conversation(self, conversation_id: str, reason: str = COMPLETED) -> EndReceipt:
        """End a conversation, and start its digest; see :meth:`.AppMemory.end_conversation`."""
        return await self._memory.end_conversation(conversation_id, reason)

    async def get_memories_for_app(self, app_id: str, *, user_id: str | None = None) -> list[Digest]:
        """Return the memories for a context; see :meth:`.Injection.shown`."""
        return await self._memory.focus.shown(app_id, user_id=user_id)

    def format_memories_for_context(self, app: App, memories: Sequence[Digest]) -> str:
        """Return the block of an app; see :meth:`.Injection.block`."""
        return self._memory.focus.block(app, memories)


class MemorySubAgent:
    """The part that creates, compacts, reads and deletes the memories of apps."""

    def __init__(self, memory: AppMemory) -> None:
        self._memory = memory

    async def create_memory(self, request: MemoryCreationRequest) -> Digest | None:
        """Make the memory of a conversation; ``None`` if there is none. :meth:`.DigestWorker.make` gives the reason."""
        return (await self._memory.digests.make(request)).memory

    async def compact_memories(self, request: MemoryCompactionRequest) -> CompactionReceipt:
        """Remove or merge one memory of a space; see :meth:`.DigestWorker.compact`."""
        return await self._memory.digests.compact(request)

    async def get_memories(
        self, app_id: str, limit: int = MAX_MEMORIES, *, user_id: str | None = None
    ) -> list[Digest]:
        """Return the memories that a conversation can see; see :meth:`.Injection.visible`."""
        return await self._memory.focus.visible(app_id, user_id=user_id, limit=limit)

    async def get_memory_count(self, app_id: str) -> int:
        """Return the number of an app's memories in all its spaces."""
        return await self._memory.count(app_id)

    async def delete_app_memories(self, app_id: str) -> PurgeReceipt:
        """Delete every memory of an app permanently; see :meth:`.AppMemory.purge`."""
        return await self._memory.purge(app_id)

    def get_energy_consumed_since_last_poll(self) -> float:
        """Return the energy units that this process took for memories since the last call."""
        return self._memory.energy.poll()
