"""The filters, search by meaning and refresh event that the pages of facts and rules share."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import Annotated, Any, Final, Literal, TypeVar
from uuid import UUID

from fastapi import Path, Query, Request
from fastapi.responses import Response
from pydantic import PrivateAttr

from commonplace.core.bounds import MomentText
from commonplace.core.sources import Source
from commonplace.knowledge import (
    FAINT,
    MAX_SCOPE_CHARS,
    Fact,
    FactCriteria,
    FactOrder,
    KnowledgeMemory,
    Lists,
    MemoryType,
    Narrowing,
    Rule,
    RuleCriteria,
    SearchMode,
)
from commonplace.language.times import TimeReader
from commonplace.projects import Projects
from commonplace.web.http.access import caller_of
from commonplace.web.pages.layout.paging import PAGE_SIZE, CursorFilters, Pager, present, read_at_cursor
from commonplace.web.pages.layout.rendering import NOT_KEPT, render, wants_fragment
from commonplace.web.pages.layout.stamps import MINUTE_S

CHANGED: Final = "knowledge-changed"
"""The event that makes parts of these pages refresh themselves."""

MAX_NAME_CHARS: Final = 200
MAX_SEARCH_CHARS: Final = 1_000
MAX_STAMP_CHARS: Final = 60

Used = Literal["", "yes", "no"]
USES: Final = (("", "Any"), ("yes", "Used"), ("no", "Never used"))
UNUSED: Final = {"yes": False, "no": True}
"""The filter of knowledge memory for each choice of the page."""

Name = Annotated[str, Query(max_length=MAX_NAME_CHARS)]
Label = Annotated[str, Query(max_length=MAX_SCOPE_CHARS)]
"""The name of a scope or butler, or a tag."""
SearchText = Annotated[str, Query(max_length=MAX_SEARCH_CHARS)]
Stamp = Annotated[str, Query(max_length=MAX_STAMP_CHARS)]
Day = Annotated[MomentText, Query()]
"""A day as a date or in words; empty for no day."""
SomeId = Annotated[UUID | None, Query()]
ItemId = Annotated[UUID, Path()]

MEANING: Final = "meaning"
MATCHES: Final = (("", "Words"), (MEANING, "Meaning"))
NEAREST: Final = 200
"""The maximum number of memories that a search by meaning finds, before the other filters apply."""

SOURCES: Final = (("", "Any"), *((source, source.title()) for source in Source))
CONFIDENCES: Final = (
    ("", "Any"),
    (str(FAINT), f"{FAINT} or less"),
    ("0.5", "0.5 or less"),
    ("0.8", "0.8 or less"),
)

LABELS: Final = {
    "search": "Search",
    "match": "Search by",
    "state": "State",
    "as_of": "Known on",
    "entity": "About",
    "used": "Use",
    "source": "Source",
    "confidence": "Confidence at most",
    "scope": "Scope",
    "butler": "Stored by",
    "tag": "Tag",
}
"""The labels of the filters, in the order of their chips."""

_WORDS: Final = frozenset({"match", "state", "used", "source"})
"""Filters whose values are words of the dashboard."""

_Memory = TypeVar("_Memory", Fact, Rule)


class KnowledgeFilters(CursorFilters):
    """The filters that lists of facts and of rules share."""

    search: SearchText = ""
    match: Literal["", "meaning"] = ""
    scope: Label = ""
    tag: Label = ""
    used: Used = ""
    source: Source | Literal[""] = ""
    butler: Label = ""
    confidence: Literal["", "0.2", "0.5", "0.8"] = ""
    as_of: Day = ""
    stamp: Stamp = ""

    @property
    def query(self) -> dict[str, Any]:
        """The filters as the address names them, without the position of the page and its stamp."""
        return {name: value for name, value in super().query.items() if name != "stamp"}

    @property
    def by_meaning(self) -> bool:
        """Whether the list is searched by meaning."""
        return bool(self.search) and self.match == MEANING

    _times: TimeReader | None = PrivateAttr(None)

    def read_with(self, times: TimeReader) -> None:
        """Read days in words."""
        self._times = times

    @property
    def narrowing(self) -> Narrowing:
        """The facts or rules that the list considers."""
        return Narrowing(
            scope=self.scope or None,
            tags=[self.tag] if self.tag else None,
            learned_by=self.butler or None,
            as_of=self.as_of or None,
            times=self._times,
        )

    @property
    def shared(self) -> dict[str, Any]:
        """The values of the criteria that facts and rules share."""
        return present(
            text="" if self.by_meaning else self.search,
            unused=UNUSED.get(self.used),
            source=self.source,
            max_confidence=float(self.confidence) if self.confidence else None,
        )

    def chips(self, path: str, **shown: str) -> list[tuple[str, str, str]]:
        """Return the label and the value of each filter that is set, and the address of the list without the filter.

        ``shown`` maps names of filters to values that read better than those in the address.
        """
        values = {name: str(value) for name, value in self.query.items() if value not in (None, "")}
        shown["used"] = dict(USES).get(self.used, "")
        return [
            (
                label,
                shown.get(name) or (values[name].title() if name in _WORDS else values[name]),
                self.url_of(path, **{name: ""}),
            )
            for name, label in LABELS.items()
            if name in values
        ]


async def show_memories(
    request: Request,
    knowledge: KnowledgeMemory,
    kind: MemoryType,
    wanted: KnowledgeFilters,
    read: Callable[..., Awaitable[Sequence[_Memory]]],
    *,
    states: Sequence[tuple[str, str]],
    about: str = "",
    others: Sequence[tuple[str, str]] = (),
) -> Response:
    """Return the page of facts or rules; a refreshing tab gets no content for a minute while no memory changes.

    Args:
        request: Its path is that of the list.
        knowledge: Knowledge memory of the caller.
        kind: Facts or rules.
        wanted: The filters and the position of the page.
        read: Reads the list.
        states: The choices of the filter of states.
        about: The name of the entity that the facts are about.
        others: The names of other entities that the filter may refer to, with their addresses.
    """
    projects = project_names(request, knowledge)
    wanted.read_with(knowledge.times)
    wanted.scope = scope_of(wanted.scope, projects)
    minute = int(knowledge.clock().timestamp()) // MINUTE_S
    stamp = f"{await knowledge.events.stamp()}-{minute}"
    if wanted.stamp == stamp and wants_fragment(request):
        return Response(status_code=HTTPStatus.NO_CONTENT, headers=NOT_KEPT)
    memories, pager = await read_memories(request, knowledge, kind, wanted, read)
    scope = dict(projects).get(wanted.scope, "")
    return render(
        request,
        f"knowledge/{kind}s/list.html",
        kind=kind,
        memories=memories,
        later=await knowledge.history.later_facts(memories),
        pager=pager,
        live_url=f"{pager.url}{'&' if '?' in pager.url else '?'}stamp={stamp}",
        wanted=wanted,
        chips=wanted.chips(request.url.path, scope=scope, entity=about),
        uses=USES,
        matches=MATCHES,
        sources=SOURCES,
        confidences=CONFIDENCES,
        projects=projects,
        states=states,
        others=others,
    )


async def read_memories(
    request: Request,
    knowledge: KnowledgeMemory,
    kind: MemoryType,
    wanted: KnowledgeFilters,
    read: Callable[..., Awaitable[Sequence[_Memory]]],
) -> tuple[Sequence[_Memory], Pager]:
    """Return a page of facts or rules with its pager.

    A search by meaning filters the nearest memories, and lists the nearest first unless the reader chose an order.
    """
    if not wanted.by_meaning:
        return await read_at_cursor(
            request,
            wanted,
            read,
            lambda memory: Lists.cursor_of(memory, sort=wanted.query["sort"] or FactOrder.STORED),
        )
    found = await knowledge.search(
        wanted.search, types=[kind], mode=SearchMode.SEMANTIC, limit=NEAREST, fold=False, min_confidence=0.0
    )
    places = {one.memory.id: place for place, one in enumerate(found)}
    given = wanted.given
    criteria: FactCriteria | RuleCriteria = given.pop("criteria")
    memories = await read(
        **given, criteria=replace(criteria, ids=list(places)), limit=NEAREST, reverse=wanted.reverse
    )
    if not wanted.query["sort"]:
        memories = sorted(memories, key=lambda memory: places[memory.id])
    shown = memories[wanted.offset : wanted.offset + PAGE_SIZE]
    return shown, Pager(
        path=request.url.path,
        query=wanted.query,
        offset=wanted.offset,
        shown=len(shown),
        goes_on=wanted.offset + PAGE_SIZE < len(memories),
        total=len(memories),
    )


def project_names(request: Request, knowledge: KnowledgeMemory) -> list[tuple[str, str]]:
    """Return the ids and names of the projects that the caller may see."""
    if not caller_of(request).principal.of_installation:
        return []
    known = Projects(knowledge.database.settings.home).list_projects()
    return [(each.id, each.name) for each in known if not each.merged_into]


def scope_of(name: str, projects: Sequence[tuple[str, str]]) -> str:
    """Return the scope for a name: the id of the project with this name, else the name itself."""
    ids = [each for each, title in projects if title == name]
    return ids[0] if len(ids) == 1 else name
