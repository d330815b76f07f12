"""The memories as one agent uses them: in its name, in its scope, and without the decisions of a person."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import AbstractContextManager, suppress
from typing import Final

from commonplace.core.clock import utc_now
from commonplace.core.errors import ConflictError, InvalidInputError, NotFoundError
from commonplace.core.request_context import RequestContext, request_context
from commonplace.core.settings import Settings
from commonplace.core.sources import Source
from commonplace.knowledge import GLOBAL_SCOPE
from commonplace.language.times import TimeReader
from commonplace.mcp.agent.answers import (
    WAITING,
    ChangeReceipt,
    MemoryRecord,
    receipt,
    record,
    waits_for_a_person,
    whole_record,
)
from commonplace.mcp.agent.tools import AgentQuery, FoundMemories
from commonplace.services.briefing import BriefingPart
from commonplace.services.catalog.catalog import Catalog
from commonplace.services.catalog.entries import CatalogChange, CatalogEntry, HistoryStep, MemoryState
from commonplace.services.memory_ids import MemoryId, MemoryKind
from commonplace.services.opening import OpenedMemories
from commonplace.services.search.items import PARTS, ListedMemory, SearchCriteria
from commonplace.services.search.searching import search_opened

_SCOPED: Final = frozenset({MemoryKind.FACT, MemoryKind.RULE, MemoryKind.EPISODE})
_MORE: Final = 3
"""A search within a scope looks at this many times as many memories."""

LEFT_OUT: Final = (
    "Withheld until the user decides, because they look like instructions: {}. See: commonplace review"
)
_HIDDEN: Final = WAITING | {MemoryState.REPLACED, MemoryState.FORGOTTEN, MemoryState.EXPIRED}

Brief = Callable[..., Awaitable[str]]
"""Returns the briefing for ``prompt``, ``butler`` and ``budget_tokens``."""


class CallerMemories:
    """The memories of an agent.

    Args:
        opened: The memories, as far as the caller may use them.
        settings: Name the home of the journal and the time zone.
        caller: The tenant and the name of the agent.
        brief: Writes the briefing.
        own: The scope of the caller's project, which answers leave out.
        parts: The memories that a search covers.
    """

    def __init__(
        self,
        opened: OpenedMemories,
        settings: Settings,
        *,
        caller: RequestContext,
        brief: Brief,
        own: str | None = None,
        parts: Collection[BriefingPart] = PARTS,
    ) -> None:
        self._opened = opened
        self._catalog = Catalog(opened, settings.home)
        self._times = TimeReader(clock=utc_now, zone=settings.zone)
        self._caller = caller
        self._brief = brief
        self._own = own
        self._parts = parts

    async def search(self, query: AgentQuery) -> FoundMemories:
        """Return the memories that match, the best first, without those that a person must decide about."""
        shown: list[MemoryRecord] = []
        withheld = 0
        with self._acting():
            items, problems = await self._items(query)
            for item in items:
                entry = await self._entry(item)
                if entry is None or not _is_in_scope(entry, query.scope):
                    continue
                withheld += entry.state is MemoryState.FLAGGED
                if entry.state not in _HIDDEN:
                    shown.append(_result(item, entry, query))
                if len(shown) == query.limit:
                    break
        found: FoundMemories = {"results": shown}
        if withheld:
            found["note"] = LEFT_OUT.format(withheld)
        if problems:
            found["problems"] = problems
        return found

    async def get(self, memory_id: str, *, history: bool) -> MemoryRecord:
        """Return a memory in any state."""
        with self._acting():
            entry = await self._catalog.show(memory_id)
            steps: list[HistoryStep] = list(await self._catalog.history(entry.id)) if history else []
        return whole_record(entry, steps, own=self._own)

    async def context(self, prompt: str, *, butler: str | None, budget_tokens: int | None) -> str:
        """Return the briefing for a prompt."""
        with self._acting():
            return await self._brief(prompt=prompt, butler=butler, budget_tokens=budget_tokens)

    async def add(self, do: Callable[[Catalog], Awaitable[CatalogChange]]) -> ChangeReceipt:
        """Store a memory in the name of the agent."""
        with self._acting():
            return receipt(await do(self._catalog))

    async def change(
        self, memory_id: str, do: Callable[[Catalog], Awaitable[CatalogChange]]
    ) -> ChangeReceipt:
        """Change a memory in the name of the agent.

        Raises:
            ConflictError: The memory waits for a decision of a person.
        """
        with self._acting():
            await self._changeable(memory_id)
            return receipt(await do(self._catalog))

    async def undo(self, memory_id: str) -> ChangeReceipt:
        """Undo the latest change of a memory that an agent made; for errors see :meth:`change`."""
        with self._acting():
            with suppress(NotFoundError):  # A note or digest that was forgotten is only in the journal.
                await self._changeable(memory_id)
            return receipt(await self._catalog.undo(memory_id))

    async def mark_helpful(self, memory_id: str) -> ChangeReceipt:
        """Count a helpful application of a rule.

        Raises:
            InvalidInputError: The memory is not a rule.
            ConflictError: The rule waits for a decision of a person.
        """
        with self._acting():
            rule_id = await self._rule(memory_id, "helpful")
            rule = await self._opened.knowledge().mark_helpful(rule_id.full)
        return {"done": "marked helpful", "id": str(rule_id), "note": f"The rule is {rule.maturity}."}

    async def mark_harmful(self, memory_id: str, reason: str | None) -> ChangeReceipt:
        """Count a harmful application of a rule; for errors see :meth:`mark_helpful`."""
        with self._acting():
            rule_id = await self._rule(memory_id, "harmful")
            rule = await self._opened.knowledge().mark_harmful(rule_id.full, reason=reason)
        return {"done": "marked harmful", "id": str(rule_id), "note": f"The rule is {rule.maturity}."}

    async def _rule(self, memory_id: str, outcome: str) -> MemoryId:
        entry = await self._changeable(memory_id)
        if entry.kind is not MemoryKind.RULE:
            raise InvalidInputError("outcome", f"no outcome, because {entry.id} is not a rule", outcome)
        return entry.memory_id

    def _acting(self) -> AbstractContextManager[RequestContext]:
        who = self._caller
        return request_context(tenant_id=who.tenant_id, actor=who.actor, source=Source.AGENT)

    async def _changeable(self, memory_id: str) -> CatalogEntry:
        """Return the memory that an id stands for, unless a person must decide about it."""
        entry = await self._catalog.show(memory_id)
        if entry.replaced_by is not None:
            entry = await self._catalog.show(entry.replaced_by)
        if entry.state in WAITING:
            raise waits_for_a_person(entry)
        return entry

    async def _items(self, query: AgentQuery) -> tuple[Sequence[ListedMemory], list[str]]:
        """Return the items of all memories, the best first, and why a memory did not answer."""
        times = self._times
        criteria = SearchCriteria(
            kinds=query.kinds,
            since=times.since(query.since),
            until=times.until(query.until),
        )
        # Of another scope's memories, which the search ranks too, none is shown.
        limit = query.limit * (_MORE if query.scope is not None else 1)
        results = await search_opened(
            self._opened, query.text, times=times, criteria=criteria, parts=self._parts, limit=limit
        )
        return results.items, [f"{part}: {problem}" for part, problem in results.problems.items()]

    async def _entry(self, item: ListedMemory) -> CatalogEntry | None:
        """Return the memory of a result; ``None`` if it was deleted in the meantime."""
        try:
            return await self._catalog.show(str(MemoryId.of(item.kind, item.id)))
        except (NotFoundError, ConflictError):
            return None


def _is_in_scope(entry: CatalogEntry, scope: str | None) -> bool:
    return scope is None or entry.kind not in _SCOPED or entry.about in {scope, GLOBAL_SCOPE}


def _result(item: ListedMemory, entry: CatalogEntry, query: AgentQuery) -> MemoryRecord:
    """Return a result of a search; without the scope of the query, which the caller knows."""
    shown = record(entry, own=query.scope)
    if query.explain:
        shown["why"] = item.why
        if item.likeness is not None:
            shown["likeness"] = item.likeness
    return shown
