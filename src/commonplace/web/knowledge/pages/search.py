"""The first page of knowledge memory: search with explanations, and counts."""

from typing import Annotated, Final, Literal

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse

from commonplace.knowledge import Found, KnowledgeMemory, MemoryType, SearchMode
from commonplace.web.access import KnowledgeOfCaller, reader
from commonplace.web.dashboard.errors import PageRoute
from commonplace.web.dashboard.rendering import link, render
from commonplace.web.knowledge.pages.listing import Name

PATH: Final = "/knowledge"
MOST_FOUND: Final = 20
MAX_QUERY_CHARS: Final = 1_000

RECALL: Final = "recall"
"""Facts and rules as agents recall them; not a mode of search."""

Mode = SearchMode | Literal["recall", ""]
Kind = MemoryType | Literal[""]

MODES: Final = (
    ("", "Meaning and words"),
    (SearchMode.SEMANTIC, "Meaning"),
    (SearchMode.KEYWORD, "Words"),
    (SearchMode.CONTEXTUAL, "Meaning, words and context"),
    (RECALL, "Recall, as agents do"),
)
KINDS: Final = (("", "All"), *((kind, f"{kind.title()}s") for kind in MemoryType))

router = APIRouter(
    prefix=PATH, route_class=PageRoute, include_in_schema=False, dependencies=[Depends(reader)]
)


@router.get("")
async def search_page(
    request: Request,
    knowledge: KnowledgeOfCaller,
    query: Annotated[str, Query(alias="q", max_length=MAX_QUERY_CHARS)] = "",
    mode: Annotated[Mode, Query()] = "",
    kind: Annotated[Kind, Query()] = "",
    scope: Name = "",
) -> HTMLResponse:
    """Show search results with explanations; without a query, the counts."""
    wanted = {"q": query.strip(), "mode": mode, "kind": kind, "scope": scope.strip()}
    found = await _find(knowledge, **wanted) if wanted["q"] else []
    return render(
        request,
        "knowledge/search.html",
        found=found,
        wanted=wanted,
        modes=MODES,
        kinds=KINDS,
        most=MOST_FOUND,
        url=link(PATH, **wanted),
        stats=None if wanted["q"] else await knowledge.stats(),
    )


async def _find(knowledge: KnowledgeMemory, *, q: str, mode: str, kind: str, scope: str) -> list[Found]:
    """Search or recall, without counting the results as used."""
    if mode == RECALL:
        found = await knowledge.recall(q, scope=scope or None, limit=MOST_FOUND, explain=True, count=False)
        return [one for one in found if not kind or one.memory.memory_type == kind]
    return await knowledge.search(
        q,
        types=[kind] if kind else None,
        scope=scope or None,
        mode=mode or SearchMode.HYBRID,
        limit=MOST_FOUND,
        explain=True,
    )
