"""LangGraph's long-term memory: a ``BaseStore`` on knowledge memory.

An item is a document: its namespace is the folder, its key the name, and its value JSON. See :mod:`.documents`.
"""

import asyncio
import json
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Final, Self, cast

from anyio.from_thread import start_blocking_portal
from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
)
from langgraph.store.memory import InMemoryStore

from commonplace.adapters.documents import Documents
from commonplace.core.clock import format_timestamp, parse_timestamp
from commonplace.core.errors import InvalidInputError
from commonplace.core.settings import Settings
from commonplace.knowledge import Fact, KnowledgeMemory

SCOPE: Final = "langgraph"
_SEPARATOR: Final = "."
"""LangGraph allows no label with a period."""


class CommonplaceStore(BaseStore):
    """Items of LangGraph in knowledge memory, with search by meaning and words, versions and expiry.

    The store may be used from any thread and event loop; the memory works in the loop in which the store was made.
    Within a batch, reads see the state before its writes.

    Args:
        memory: An open memory; its tenant owns the items.
        scope: The scope of the items. Stores of different scopes share nothing.
        ttl: LangGraph's configuration of expiry. An expired item is never returned; :meth:`sweep_ttl` deletes it.
    """

    supports_ttl = True
    __slots__ = ("_documents", "_loop", "ttl_config")

    def __init__(self, memory: KnowledgeMemory, *, scope: str = SCOPE, ttl: TTLConfig | None = None) -> None:
        self._documents = Documents(memory, scope=scope)
        self._loop = asyncio.get_running_loop()
        self.ttl_config = ttl

    @classmethod
    @contextmanager
    def open(
        cls, settings: Settings | None = None, *, scope: str = SCOPE, ttl: TTLConfig | None = None
    ) -> Generator[Self]:
        """Open the memory of the settings for a program without an event loop, and close it at the end of the block.

        Args:
            settings: Loaded if ``None``.
            scope: See the class.
            ttl: See the class.
        """

        async def make(memory: KnowledgeMemory) -> Self:
            return cls(memory, scope=scope, ttl=ttl)

        with (
            start_blocking_portal() as portal,
            portal.wrap_async_context_manager(KnowledgeMemory.open(settings)) as memory,
        ):
            yield portal.call(make, memory)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations from a thread without the memory's event loop.

        Raises:
            RuntimeError: The memory's event loop runs in this thread.
        """
        if _running_loop() is self._loop:
            raise RuntimeError("the event loop of the memory runs in this thread: use aget, aput, asearch …")
        return asyncio.run_coroutine_threadsafe(self._run(list(ops)), self._loop).result()

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations, as :meth:`batch` does."""
        work = self._run(list(ops))
        if _running_loop() is self._loop:
            return await work
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    async def sweep_ttl(self) -> int:
        """Delete expired items, and return their number."""
        expired = [each for each in await self._documents.list_documents() if self._is_expired(each)]
        for each in expired:
            await self._documents.delete(each)
        return len(expired)

    async def _run(self, ops: Sequence[Op]) -> list[Result]:
        results: list[Result] = [await self._read(op) for op in ops]
        writes = {(op.namespace, op.key): op for op in ops if isinstance(op, PutOp)}
        for op in writes.values():
            await self._put(op)
        return results

    async def _read(self, op: Op) -> Result:
        match op:
            case GetOp():
                document = await self._get(op.namespace, op.key)
                await self._refresh([document] if document else [], refresh=op.refresh_ttl)
                return _item(document) if document else None
            case SearchOp():
                return await self._search(op)
            case ListNamespacesOp():
                (namespaces,) = _framework(await self._live()).batch([op])
                return namespaces
            case PutOp():
                return None

    async def _get(self, namespace: tuple[str, ...], key: str) -> Fact | None:
        document = await self._documents.get(_SEPARATOR.join(namespace), key)
        return None if document is None or self._is_expired(document) else document

    async def _put(self, op: PutOp) -> None:
        before = await self._documents.get(_SEPARATOR.join(op.namespace), op.key)
        if op.value is None:
            if before is not None:
                await self._documents.delete(before)
            return
        try:
            text = json.dumps(op.value, ensure_ascii=False, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise InvalidInputError("value", "a mapping that JSON can hold", op.value) from error
        if before is not None and not self._is_expired(before):
            created_at = before.metadata["created_at"]
        else:
            created_at = format_timestamp(self._documents.now())
        metadata = {
            "created_at": created_at,
            **({"ttl_minutes": op.ttl} if op.ttl is not None else {}),
            **({"searchable": False} if op.index is False else {}),
        }
        await self._documents.put(_SEPARATOR.join(op.namespace), op.key, text, metadata=metadata)

    async def _search(self, op: SearchOp) -> list[SearchItem]:
        ranked: list[tuple[Fact, float | None]] = (
            [each for each in await self._documents.search(op.query) if self._is_searchable(each[0])]
            if op.query
            else [(document, None) for document in await self._live()]
        )
        # The framework's own store applies the filters, so that they mean the same as in LangGraph.
        everything = op._replace(query=None, limit=len(ranked), offset=0)
        (kept,) = _framework([document for document, _ in ranked]).batch([everything])
        keys = {(each.namespace, each.key) for each in cast("list[SearchItem]", kept)}
        page = [each for each in ranked if (_namespace(each[0]), each[0].predicate) in keys]
        page = page[op.offset : op.offset + op.limit]
        await self._refresh([document for document, _ in page], refresh=op.refresh_ttl)
        return [_found(document, score) for document, score in page]

    def _is_searchable(self, document: Fact) -> bool:
        return document.metadata.get("searchable", True) and not self._is_expired(document)

    def _is_expired(self, document: Fact) -> bool:
        """Return whether the time since a document was stored or read exceeds its time to live."""
        minutes = document.metadata.get("ttl_minutes")
        since = document.last_confirmed_at or document.created_at
        return minutes is not None and self._documents.now() >= since + timedelta(minutes=minutes)

    async def _live(self) -> list[Fact]:
        return [each for each in await self._documents.list_documents() if not self._is_expired(each)]

    async def _refresh(self, documents: Iterable[Fact], *, refresh: bool) -> None:
        """Restart the expiry of documents that were read."""
        for each in documents:
            if refresh and "ttl_minutes" in each.metadata:
                await self._documents.touch(each)


def _framework(documents: Sequence[Fact]) -> InMemoryStore:
    """Return a store of the framework that holds documents, in their order."""
    store = InMemoryStore()
    store.batch([PutOp(_namespace(each), each.predicate, json.loads(each.content)) for each in documents])
    return store


def _namespace(document: Fact) -> tuple[str, ...]:
    return tuple(document.subject.split(_SEPARATOR))


def _item(document: Fact) -> Item:
    return Item(
        value=json.loads(document.content),
        key=document.predicate,
        namespace=_namespace(document),
        created_at=parse_timestamp(document.metadata["created_at"]),
        updated_at=document.created_at,
    )


def _found(document: Fact, score: float | None) -> SearchItem:
    item = _item(document)
    return SearchItem(item.namespace, item.key, item.value, item.created_at, item.updated_at, score=score)


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
