"""The page of any id: memories with a page of their own are shown there, digests and notes here."""

from typing import Final

from fastapi import Request
from fastapi.responses import RedirectResponse, Response

from commonplace.services.memory_ids import MemoryKind
from commonplace.web.http.access import CatalogOfCaller, reader
from commonplace.web.pages.layout.errors import pages
from commonplace.web.pages.layout.memory_links import PATH, link_of, verbs_of
from commonplace.web.pages.layout.rendering import link, render

_WITHOUT_PAGE: Final = frozenset({MemoryKind.DIGEST, MemoryKind.NOTE})
LISTS: Final = {
    MemoryKind.FACT: "/knowledge/facts",
    MemoryKind.RULE: "/knowledge/rules",
    MemoryKind.EPISODE: "/knowledge/episodes",
    MemoryKind.ENTITY: "/knowledge/entities",
    MemoryKind.LESSON: "/memories",
    MemoryKind.DIGEST: "/apps",
    MemoryKind.NOTE: "/workspace",
}
"""The list of each kind."""

router = pages(PATH, reader)


@router.get("/{memory_id}")
async def show_page(
    request: Request, catalog: CatalogOfCaller, memory_id: str, *, own: bool = False
) -> Response:
    """Lead to the page of the memory that an id stands for; ``own`` shows a replaced memory itself.

    Raises:
        InvalidInputError: The text is no id, or several memories have the short id.
        NotFoundError: No memory has the id.
    """
    entry, instead_of = (await catalog.show(memory_id), None) if own else await catalog.resolve(memory_id)
    if entry.kind not in _WITHOUT_PAGE:
        return RedirectResponse(link(link_of(entry).page, instead_of=instead_of), status_code=303)
    return render(
        request,
        "catalog/one.html",
        entry=entry,
        one=link_of(entry),
        verbs=verbs_of(entry),
        home=f"/apps/{entry.about}" if entry.kind is MemoryKind.DIGEST else LISTS[entry.kind],
        history=await catalog.history(entry.id),
    )
