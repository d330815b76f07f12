"""The verbs on a memory of any kind: edit, confirm, pin, unpin, forget and undo.

Each verb is a form that works without scripts. Its answer leads back to the page that sent it, with a notice that
offers to undo the change.
"""

from collections.abc import Awaitable, Callable
from typing import Final

from fastapi import Request
from fastapi.responses import HTMLResponse, Response

from commonplace.core.errors import ConflictError, InvalidInputError
from commonplace.services.catalog.catalog import Catalog
from commonplace.services.catalog.entries import CatalogChange, CatalogEntry, MemoryState, Verb
from commonplace.services.memory_ids import MemoryKind
from commonplace.web.http.access import CatalogOfCaller, writer
from commonplace.web.pages.catalog.showing import LISTS
from commonplace.web.pages.layout.errors import message_of, pages
from commonplace.web.pages.layout.forms import Text
from commonplace.web.pages.layout.memory_links import PATH, link_of
from commonplace.web.pages.layout.notices import MemoryNotice
from commonplace.web.pages.layout.rendering import came_from, done, render_dialog

EVENTS: Final = {
    MemoryKind.LESSON: "memories-changed",
    MemoryKind.DIGEST: "apps-changed",
    MemoryKind.NOTE: "workspace-changed",
}
"""The events on which lists refresh themselves; the other kinds are knowledge."""
OF_KNOWLEDGE: Final = "knowledge-changed"

_CHANGES: Final[dict[Verb, Callable[[Catalog, str], Awaitable[CatalogChange]]]] = {
    Verb.CONFIRM: Catalog.confirm,
    Verb.PIN: Catalog.pin,
    Verb.UNPIN: lambda catalog, memory_id: catalog.pin(memory_id, pinned=False),
    Verb.FORGET: Catalog.forget,
}

router = pages(PATH, writer)


@router.get("/{memory_id}/edit")
async def edit_form(request: Request, catalog: CatalogOfCaller, memory_id: str) -> HTMLResponse:
    """Show the form with the text of a memory."""
    entry, _ = await catalog.resolve(memory_id)
    return _form(request, entry, entry.content)


@router.post("/{memory_id}/edit")
async def edit(request: Request, catalog: CatalogOfCaller, memory_id: str, content: Text = "") -> Response:
    """Change the text of a memory, or show the form again with the error."""
    entry, _ = await catalog.resolve(memory_id)
    if content.strip() == entry.content.strip():
        return _form(request, entry, content, "This is the present text. Change it, or cancel.")
    try:
        change = await catalog.edit(memory_id, content)
    except ConflictError:
        raise  # The text is not at fault.
    except InvalidInputError as error:
        return _form(request, entry, content, message_of(error))
    return _changed(request, change, was=entry)


def _adding(verb: Verb) -> None:
    @router.post(f"/{{memory_id}}/{verb}", name=f"{verb} memory")
    async def change(request: Request, catalog: CatalogOfCaller, memory_id: str) -> Response:
        """Change a memory."""
        return _changed(request, await _CHANGES[verb](catalog, memory_id))


for _verb in _CHANGES:
    _adding(_verb)


@router.post("/{memory_id}/undo")
async def undo(request: Request, catalog: CatalogOfCaller, memory_id: str) -> Response:
    """Undo the latest change of a memory."""
    return _changed(request, await catalog.undo(memory_id))


def _form(request: Request, entry: CatalogEntry, content: str, error: str = "") -> HTMLResponse:
    return render_dialog(
        request,
        "catalog/edit.html",
        entry=entry,
        one=link_of(entry),
        content=content,
        errors={"content": error} if error else {},
    )


def _changed(request: Request, change: CatalogChange, *, was: CatalogEntry | None = None) -> Response:
    """Answer a change: back to the page that sent the form, if that page still exists."""
    entry, notice = change.entry, MemoryNotice.of(change)
    here = came_from(request)
    path = (here or "").partition("?")[0]
    left = {link_of(each).page for each in (was, entry) if each is not None}
    is_of_memory = path in left or path.startswith(f"{PATH}/")
    if here is None or (is_of_memory and path != link_of(entry).page) or path.endswith("/edit"):
        here = link_of(entry).page
    if entry.state is MemoryState.FORGOTTEN and here == link_of(entry).page and entry.kind in EVENTS:
        here = f"/apps/{entry.about}" if entry.kind is MemoryKind.DIGEST else LISTS[entry.kind]
    return done(
        request,
        notice.text,
        changed=EVENTS.get(entry.kind, OF_KNOWLEDGE),
        location=here,
        undo=notice.undo,
        carried=notice,
        stays=path not in left or entry.kind not in EVENTS,
    )
