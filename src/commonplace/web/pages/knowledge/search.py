"""The first page of knowledge memory: search with explanations, and counts."""

from typing import Annotated, Any, Final, Literal

from fastapi import Query, Request
from fastapi.responses import HTMLResponse
from pydantic import Field

from commonplace.core.sources import Source
from commonplace.knowledge import (
    EntityCandidate,
    KnowledgeMemory,
    MemoryType,
    Narrowing,
    SearchMode,
    SearchResult,
)
from commonplace.language.times import TimeReader
from commonplace.web.http.access import KnowledgeOfCaller, reader
from commonplace.web.pages.knowledge.audit import describe
from commonplace.web.pages.knowledge.listing import Day, Label, Name
from commonplace.web.pages.knowledge.runs import latest_run
from commonplace.web.pages.layout.errors import pages
from commonplace.web.pages.layout.paging import Address
from commonplace.web.pages.layout.rendering import link, render

PATH: Final = "/knowledge"
MOST_FOUND: Final = 20
LATEST: Final = 12
"""The number of changes that the page shows without a query."""
MAX_QUERY_CHARS: Final = 1_000

RECALL: Final = "recall"
"""Facts and rules as agents recall them; not a mode of search."""

MODES: Final = (
    ("", "Meaning and words"),
    (SearchMode.SEMANTIC, "Meaning"),
    (SearchMode.KEYWORD, "Words"),
    (SearchMode.CONTEXTUAL, "Meaning, words and context"),
    (RECALL, "Recall, as agents do"),
)
TRUSTS: Final = (("", "Any"), *((source, f"At least {source}") for source in list(Source)[:-1]))
KINDS: Final = (("", "Any"), *((kind, f"{kind.title()}s") for kind in MemoryType))

router = pages(PATH, reader)


class KnowledgeSearchAddress(Address):
    """The query in the address of the page."""

    q: Annotated[str, Field(max_length=MAX_QUERY_CHARS)] = ""
    mode: SearchMode | Literal["recall", ""] = ""
    kind: MemoryType | Literal[""] = ""
    scope: Label = ""
    about: Name = ""
    tag: Label = ""
    butler: Label = ""
    trust: Source | Literal[""] = ""
    since: Day = ""
    until: Day = ""
    known: Day = ""
    true: Day = ""

    @property
    def narrows(self) -> bool:
        """Whether a filter of the second row is set."""
        days = (self.since, self.until, self.known, self.true)
        return any((self.tag, self.butler, self.trust, self.about, *days))

    def narrowing(self, entity: EntityCandidate | None, times: TimeReader) -> Narrowing:
        """Return the filters for knowledge memory; the day of ``until`` is included.

        Raises:
            InvalidInputError: A filter is malformed.
        """
        return Narrowing(
            scope=self.scope or None,
            tags=[self.tag] if self.tag else None,
            learned_by=self.butler or None,
            min_trust=self.trust or None,
            since=self.since or None,
            until=times.until(self.until or None),
            as_of=self.known or None,
            valid_at=self.true or None,
            entity_id=None if entity is None else entity.entity_id,
            times=times,
        )


@router.get("")
async def search_page(
    request: Request, knowledge: KnowledgeOfCaller, wanted: Annotated[KnowledgeSearchAddress, Query()]
) -> HTMLResponse:
    """Show search results with explanations; without a query, the counts."""
    entity = await _entity(knowledge, wanted.about)
    is_unknown = bool(wanted.about) and entity is None
    found = await _find(knowledge, wanted, entity) if wanted.q and not is_unknown else []
    return render(
        request,
        "knowledge/search.html",
        found=found,
        later={}
        if wanted.known or wanted.true
        else await knowledge.history.later_facts(one.memory for one in found),
        entity=entity,
        trusts=TRUSTS,
        wanted=wanted,
        modes=MODES,
        kinds=KINDS,
        most=MOST_FOUND,
        url=link(PATH, **wanted.model_dump()),
        stats=None if wanted.q else await knowledge.stats(),
        last=None if wanted.q else await latest_run(knowledge),
        latest=[] if wanted.q else await describe(knowledge, await knowledge.events.list(limit=LATEST)),
    )


async def _entity(knowledge: KnowledgeMemory, name: str) -> EntityCandidate | None:
    """Return the entity that a name most likely refers to."""
    return next(iter(await knowledge.entities.resolve(name)), None) if name else None


async def _find(
    knowledge: KnowledgeMemory, wanted: KnowledgeSearchAddress, entity: EntityCandidate | None
) -> list[SearchResult]:
    """Search or recall without counting a use."""
    options: dict[str, Any] = {
        "narrowing": wanted.narrowing(entity, knowledge.times),
        "limit": MOST_FOUND,
        "explain": True,
    }
    if wanted.mode == RECALL:
        found = await knowledge.recall(wanted.q, **options, count=False)
        return [one for one in found if not wanted.kind or one.memory.memory_type == wanted.kind]
    return await knowledge.search(
        wanted.q,
        types=[wanted.kind] if wanted.kind else None,
        mode=wanted.mode or SearchMode.HYBRID,
        **options,
    )
