"""Facts, rules, entities, links and episodes; their rows have the same ids on every device."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from commonplace.core.request_context import current_context
from commonplace.core.settings import Settings
from commonplace.knowledge import KnowledgeMemory
from commonplace.knowledge.exchange.kinds import ExchangeKind
from commonplace.knowledge.exchange.writes import RowWrite
from commonplace.services.sync.changes import Fields
from commonplace.services.sync.erasures import Key
from commonplace.services.sync.kinds import SyncKind
from commonplace.services.sync.replica import MemoryWrite, Written
from commonplace.services.sync.replicas.erased_rows import erase_rows

_TABLES: Final = {
    SyncKind.ENTITY: "entities",
    SyncKind.EPISODE: "episodes",
    SyncKind.FACT: "facts",
    SyncKind.RULE: "rules",
}
"""The tables whose rows an erasure deletes; links and applications go with them."""


class KnowledgeReplica:
    """Knowledge memory of one tenant.

    Args:
        memory: The open memory.
        settings: Those of the home, for erasures.
    """

    def __init__(self, memory: KnowledgeMemory, settings: Settings) -> None:
        self._memory = memory
        self._settings = settings
        self._by_actor: dict[str, KnowledgeMemory] = {}

    async def read(self) -> Mapping[Key, Fields]:
        """Return the fields of all memories."""
        rows = await self._memory.exchange.read()
        return {(SyncKind(kind), name): fields for (kind, name), fields in rows.items()}

    async def fingerprint(self) -> str:
        """Return a digest of all memories."""
        return await self._memory.exchange.fingerprint()

    async def forgotten(self, keys: Collection[Key]) -> Collection[Key]:
        """Return those of facts and rules that were forgotten."""
        present = await self._memory.exchange.present([(ExchangeKind(kind), name) for kind, name in keys])
        return [(SyncKind(kind), name) for kind, name in present]

    async def vectors(self, keys: Collection[Key]) -> Mapping[Key, Fields]:
        """Return the vectors of the texts of memories."""
        names = [(ExchangeKind(kind), name) for kind, name in keys]
        vectors = await self._memory.exchange.vectors(names)
        return {(SyncKind(kind), name): vector for (kind, name), vector in vectors.items()}

    async def write(self, page: Sequence[MemoryWrite]) -> Sequence[Written]:
        """Write memories in one transaction; see :meth:`.Exchange.write`."""
        rows = [
            RowWrite(
                kind=ExchangeKind(each.key[0]),
                name=each.key[1],
                fields=each.fields,
                seen=each.seen,
                others=each.others,
                vector=each.vector,
            )
            for each in page
        ]
        return await self._acting().exchange.write(rows)

    async def erase(self, keys: Collection[Key]) -> None:
        """Erase memories."""
        names = {table: [name for kind, name in keys if kind is of] for of, table in _TABLES.items()}
        await erase_rows(self._settings, names)

    def _acting(self) -> KnowledgeMemory:
        """Return the memory in the name of the device whose change is written."""
        context = current_context()
        if context is None:
            return self._memory
        if context.actor not in self._by_actor:
            self._by_actor[context.actor] = self._memory.acting_for(
                tenant_id=self._memory.session.tenant_id, actor=context.actor
            )
        return self._by_actor[context.actor]
