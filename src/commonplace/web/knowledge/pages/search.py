"""The first page of knowledge memory: search with explanations, and counts."""

from typing import Annotated, Final, Literal

from fastapi import Query, Request
from fastapi.responses import HTMLResponse
from pydantic import BaseModel, ConfigDict, Field

from commonplace.knowledge import Found, KnowledgeMemory, MemoryType, SearchMode
from commonplace.web.access import KnowledgeOfCaller, reader
from commonplace.web.dashboard.errors import pages
from commonplace.web.dashboard.rendering import link, render
from commonplace.web.knowledge.pages.latest_run import latest_run
from commonplace.web.knowledge.pages.listing import Name

PATH: Final = "/knowledge"
MOST_FOUND: Final = 20
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
KINDS: Final = (("", "All"), *((kind, f"{kind.title()}s") for kind in MemoryType))

router = pages(PATH, reader)


class Wanted(BaseModel):
    """The question in the address of the page."""

    model_config = ConfigDict(str_strip_whitespace=True, extra="forbid")

    q: Annotated[str, Field(max_length=MAX_QUERY_CHARS)] = ""
    mode: SearchMode | Literal["recall", ""] = ""
    kind: MemoryType | Literal[""] = ""
    scope: Name = ""


@router.get("")
async def search_page(
    request: Request, knowledge: KnowledgeOfCaller, wanted: Annotated[Wanted, Query()]
) -> HTMLResponse:
    """Show search results with explanations; without a query, the counts."""
    return render(
        request,
        "knowledge/search.html",
        found=await _find(knowledge, wanted) if wanted.q else [],
        wanted=wanted,
        modes=MODES,
        kinds=KINDS,
        most=MOST_FOUND,
        url=link(PATH, **wanted.model_dump()),
        stats=None if wanted.q else await knowledge.stats(),
        last=None if wanted.q else await latest_run(knowledge),
    )


async def _find(knowledge: KnowledgeMemory, wanted: Wanted) -> list[Found]:
    """Search or recall, without counting the results as used."""
    scope = wanted.scope or None
    if wanted.mode == RECALL:
        found = await knowledge.recall(wanted.q, scope=scope, limit=MOST_FOUND, explain=True, count=False)
        return [one for one in found if not wanted.kind or one.memory.memory_type == wanted.kind]
    return await knowledge.search(
        wanted.q,
        types=[wanted.kind] if wanted.kind else None,
        scope=scope,
        mode=wanted.mode or SearchMode.HYBRID,
        limit=MOST_FOUND,
        explain=True,
    )
