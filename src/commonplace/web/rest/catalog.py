"""The verbs over all memories, under ``/api/v1/know`` and ``/api/v1/memories``. Source: ONE-01, ONE-03.

Each kind of memory has its own route to add one: facts, rules and episodes in knowledge memory, lessons in operational
memory, notes in workspace memory; an app's digests come from its conversations.
"""

from dataclasses import replace
from datetime import datetime
from typing import Annotated, Final

from fastapi import Depends, Path, Query
from pydantic import Field

from commonplace.access import Principal
from commonplace.core.bounds import MomentText
from commonplace.knowledge import Scope
from commonplace.services.briefing import BriefingPart
from commonplace.services.catalog.entries import (
    CatalogChange,
    CatalogEntry,
    CatalogFilter,
    HistoryStep,
)
from commonplace.services.memory_ids import MemoryId, MemoryKind
from commonplace.services.search.items import (
    LIMIT,
    MAX_LIMIT,
    MAX_QUERY_CHARS,
    PARTS,
    ListedMemory,
    SearchCriteria,
)
from commonplace.services.search.searching import search_all
from commonplace.web.http.access import CatalogOfCaller, KnowledgeOfCaller, OpenMemories, reader, writer
from commonplace.web.http.problems import NOT_FOUND, REFUSED, STATE_CONFLICT
from commonplace.web.http.shape import RequestShape, Shape, shows
from commonplace.web.rest.api import BODY, Api

MAX_ID_CHARS: Final = 100

MemoryKey = Annotated[
    str,
    Path(
        alias="memoryId",
        max_length=MAX_ID_CHARS,
        description="the id of a memory of any kind, such as `f:3k7q2`, `o:12` or a full id",
    ),
]
Kind = Annotated[MemoryKind, Query(description="the kind of memory")]
Kinds = Annotated[
    list[MemoryKind] | None, Query(alias="kind", description="only these kinds; by default all")
]
Limit = Annotated[int, Query(ge=1, le=MAX_LIMIT, description="the maximum number of items")]
ScopeOfKnowledge = Annotated[
    Scope | None,
    Query(
        alias="scope",
        description="a butler or the id of a project: only its facts, rules and episodes, and global facts and rules",
    ),
]
Words = Annotated[
    str, Query(max_length=MAX_QUERY_CHARS, description="words or a question; empty for the newest items")
]
Name = Annotated[str, Query(max_length=MAX_QUERY_CHARS)]
AllStates = Annotated[
    bool,
    Query(alias="allStates", description="also replaced, forgotten, expired and inactive memories"),
]
Since = Annotated[
    MomentText | None,
    Query(description="only memories that were stored then or later: ISO 8601, or words such as yesterday"),
]
Until = Annotated[
    MomentText | None,
    Query(
        description="only memories that were stored before the end of it: ISO 8601, or words such as yesterday"
    ),
]

api = Api("/api/v1", "all memories", REFUSED)


@shows(ListedMemory, without={"names", "at"})
class ListedMemoryShape(Shape):
    """An item of a memory.

    Attributes:
        short_id: the id that people see
        about: the service, app, tags, scope, butler or type that it belongs to
        created_at: when it was stored
        why: why the query found it; empty without a query
        score: its place among all items: above 1, it holds a word of the query; null without a query
        likeness: how alike it is to the query, by meaning; null without a query
    """

    short_id: str
    created_at: datetime


class ListedMemoriesShape(Shape):
    """What a search over all memories found.

    Attributes:
        items: the highest score first; without a query, the newest first
        has_more: whether more items match than the limit allows
        problems: why a memory could not answer, by memory
    """

    items: list[ListedMemoryShape]
    has_more: bool
    problems: dict[BriefingPart, str]


@shows(CatalogEntry, without={"id", "full_id", "fields"})
class CatalogEntryShape(Shape):
    """A memory of any kind.

    Attributes:
        short_id: the id that people see
        text: the text; of a fact with subject and predicate in front
        content: the part of the text that an edit replaces
        about: the service, app, tags, scope, butler or type that it belongs to
        confidence: 0 to 1 at present; null for kinds that have no confidence
        pinned: whether every prompt of its scope shows it
        replaced_by: the short id of the memory that stands in its place
    """

    id: str = Field(validation_alias="full_id")
    short_id: str = Field(validation_alias="id")


class CatalogEntriesShape(Shape):
    """Memories of one kind.

    Attributes:
        items: the newest first; entities by name
    """

    items: list[CatalogEntryShape]


@shows(CatalogChange)
class CatalogChangeShape(Shape):
    """The receipt of a change.

    Attributes:
        verb: the change, or the change that was undone
        entry: the memory after the change
        before: the text before an edit
        undo: the id that the route to undo takes; null if the change cannot be undone
        instead_of: the id of the request, if the memory with it was replaced by this one
        note: what else happened, as a sentence
    """

    entry: CatalogEntryShape


@shows(HistoryStep)
class HistoryStepShape(Shape):
    """A change of a memory."""


class MemoryHistoryShape(Shape):
    """The changes of a memory.

    Attributes:
        items: the oldest first
    """

    items: list[HistoryStepShape]


class NewText(RequestShape):
    """The new text of a memory.

    Attributes:
        content: the text that replaces the content
    """

    content: str


@api("GET /know", reader, "The items found")
async def know(
    memories: OpenMemories,
    knowledge: KnowledgeOfCaller,
    who: Annotated[Principal, Depends(reader)],
    q: Words = "",
    *,
    kinds: Kinds = None,
    about: Name = "",
    scope: ScopeOfKnowledge = None,
    since: Since = None,
    until: Until = None,
    limit: Limit = LIMIT,
) -> ListedMemoriesShape:
    """Search all memories, or list their newest items.

    Every item that holds a word of the query is found; memories that are alike follow. Searching does not count as a
    use. Tokens of other tenants search knowledge memory alone, because the others belong to the installation.

    Parameters:
        about: only items about this person or thing
    """
    times = knowledge.times
    results = await search_all(
        replace(memories, knowledge=knowledge),
        q,
        criteria=SearchCriteria(
            kinds=tuple(kinds or ()),
            since=times.since(since, field="since"),
            until=times.until(until, field="until"),
            about=about.strip(),
            scope=scope,
        ),
        parts=PARTS if who.of_installation else (BriefingPart.KNOWLEDGE,),
        limit=limit,
    )
    return ListedMemoriesShape(
        items=[_listed(item) for item in results.items],
        has_more=results.has_more,
        problems=dict(results.problems),
    )


@api("GET /memories", reader, "The memories")
async def list_memories_of_kind(
    catalog: CatalogOfCaller,
    knowledge: KnowledgeOfCaller,
    kind: Kind,
    *,
    contains: Name = "",
    within: Name = "",
    since: Since = None,
    until: Until = None,
    all_states: AllStates = False,
    limit: Limit = LIMIT,
) -> CatalogEntriesShape:
    """List the memories of a kind.

    Parameters:
        contains: only memories with this text; case does not matter
        within: only memories of this service, app, tag, scope, butler or type
    """
    times = knowledge.times
    narrowing = CatalogFilter(
        contains=contains,
        within=within,
        since=times.since(since, field="since"),
        until=times.until(until, field="until"),
        all_states=all_states,
        limit=limit,
    )
    return CatalogEntriesShape.model_validate({"items": await catalog.list(kind, narrowing)})


@api("GET /memories/{memoryId}", reader, "The memory", NOT_FOUND)
async def show_memory(catalog: CatalogOfCaller, memory_id: MemoryKey) -> CatalogEntry:
    """Show a memory of any kind, in any state.

    It does not count as a use. The routes of its own memory show all its fields.
    """
    return await catalog.show(memory_id)


@api("GET /memories/{memoryId}/history", reader, "The changes", NOT_FOUND)
async def memory_history(catalog: CatalogOfCaller, memory_id: MemoryKey) -> MemoryHistoryShape:
    """List the changes of a memory of any kind."""
    steps = await catalog.history(memory_id)
    return MemoryHistoryShape.model_validate({"items": steps})


@api("PATCH /memories/{memoryId}", writer, "The change", NOT_FOUND, STATE_CONFLICT, *BODY)
async def edit_memory_text(catalog: CatalogOfCaller, memory_id: MemoryKey, wanted: NewText) -> CatalogChange:
    """Change the text of a memory.

    A fact or rule gets a new id, and the old id leads to it.

    Parameters:
        body: the new text
    """
    return await catalog.edit(memory_id, wanted.content)


@api("POST /memories/{memoryId}/confirm", writer, "The change", NOT_FOUND, STATE_CONFLICT)
async def confirm_memory_of_kind(catalog: CatalogOfCaller, memory_id: MemoryKey) -> CatalogChange:
    """Say that a memory still holds, so that it does not fade."""
    return await catalog.confirm(memory_id)


@api("POST /memories/{memoryId}/pin", writer, "The change", NOT_FOUND, STATE_CONFLICT)
async def pin_memory_of_kind(catalog: CatalogOfCaller, memory_id: MemoryKey) -> CatalogChange:
    """Show a memory in every prompt of its scope."""
    return await catalog.pin(memory_id)


@api("POST /memories/{memoryId}/unpin", writer, "The change", NOT_FOUND, STATE_CONFLICT)
async def unpin_memory_of_kind(catalog: CatalogOfCaller, memory_id: MemoryKey) -> CatalogChange:
    """Show a memory only where it fits the prompt."""
    return await catalog.pin(memory_id, pinned=False)


@api("POST /memories/{memoryId}/forget", writer, "The change", NOT_FOUND, STATE_CONFLICT)
async def forget_memory_of_kind(catalog: CatalogOfCaller, memory_id: MemoryKey) -> CatalogChange:
    """Remove a memory from every search and prompt.

    It can be undone for 30 days.
    """
    return await catalog.forget(memory_id)


@api("POST /memories/{memoryId}/undo", writer, "The change that was undone", NOT_FOUND, STATE_CONFLICT)
async def undo_memory_change(catalog: CatalogOfCaller, memory_id: MemoryKey) -> CatalogChange:
    """Undo the latest change of a memory."""
    return await catalog.undo(memory_id)


def _listed(item: ListedMemory) -> ListedMemoryShape:
    values = {name: getattr(item, name) for name in ("kind", "text", "about", "why", "score", "likeness")}
    return ListedMemoryShape.model_validate(
        values | {"id": item.id, "short_id": str(MemoryId.of(item.kind, item.id)), "created_at": item.at}
    )
