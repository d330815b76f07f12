"""The quick search of every page: results while a person types, each with its verbs, and the list of keys."""

from dataclasses import dataclass, replace
from typing import Annotated, Final

from fastapi import Depends, Query, Request
from fastapi.responses import HTMLResponse

from commonplace.access import Principal
from commonplace.core.errors import CommonplaceError
from commonplace.services.briefing import BriefingPart
from commonplace.services.catalog.catalog import Catalog
from commonplace.services.catalog.entries import Verb
from commonplace.services.memory_ids import MemoryKind, parse_memory_id
from commonplace.services.search.items import MAX_QUERY_CHARS, PARTS
from commonplace.services.search.searching import search_all
from commonplace.web.http.access import CatalogOfCaller, KnowledgeOfCaller, OpenMemories, reader
from commonplace.web.http.problems import ProblemError
from commonplace.web.pages.layout.errors import pages
from commonplace.web.pages.layout.memory_links import MemoryLink, link_of, memory_link, verbs_for, verbs_of
from commonplace.web.pages.layout.rendering import render, render_dialog

MOST_RESULTS: Final = 9

router = pages("", reader)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuickResult:
    """A memory that the quick search offers.

    Attributes:
        about: Where it belongs; may be empty.
        verbs: The verbs that fit.
    """

    link: MemoryLink
    kind: MemoryKind
    text: str
    about: str
    verbs: tuple[Verb, ...]


@router.get("/find")
async def find(
    request: Request,
    memories: OpenMemories,
    knowledge: KnowledgeOfCaller,
    catalog: CatalogOfCaller,
    who: Annotated[Principal, Depends(reader)],
    q: Annotated[str, Query(max_length=MAX_QUERY_CHARS)] = "",
) -> HTMLResponse:
    """Return the best results of a query, or the memory with an id, as options of a list."""
    words = q.strip()
    one = await _with_id(catalog, words)
    if one is not None:
        return render(request, "catalog/results.html", query=words, results=[one])
    parts = PARTS if who.of_installation else (BriefingPart.KNOWLEDGE,)
    answer = await search_all(replace(memories, knowledge=knowledge), words, parts=parts, limit=MOST_RESULTS)
    results = [
        QuickResult(
            link=memory_link(item.kind, item.id),
            kind=item.kind,
            text=item.text,
            about=item.about,
            verbs=verbs_for(item.kind),
        )
        for item in answer.items
    ]
    return render(request, "catalog/results.html", query=words, results=results)


@router.get("/keys")
async def keys(request: Request) -> HTMLResponse:
    """Show the keys of the dashboard."""
    return render_dialog(request, "catalog/keys.html")


async def _with_id(catalog: Catalog, text: str) -> QuickResult | None:
    """Return the memory that an id stands for; ``None`` if the text is no id, or no memory has it."""
    try:
        parse_memory_id(text)
        entry, _ = await catalog.resolve(text)
    except (CommonplaceError, ProblemError):  # No id, no such memory, or one of another tenant.
        return None
    return QuickResult(
        link=link_of(entry), kind=entry.kind, text=entry.text, about=entry.about, verbs=verbs_of(entry)
    )
