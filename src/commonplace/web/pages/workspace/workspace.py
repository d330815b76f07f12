"""Pages of workspace memory: the notes, damaged lines, and a preview of the block for a message (WSP)."""

from collections.abc import Sequence
from typing import Annotated, Final

from fastapi import Depends, Form, Query, Request
from fastapi.responses import HTMLResponse, Response
from pydantic import BaseModel

from commonplace.core.errors import InvalidInputError
from commonplace.core.text import visible
from commonplace.services.memory_ids import MemoryId, MemoryKind
from commonplace.web.http.access import OpenMemories, installation_reader, installation_writer
from commonplace.web.http.limits import SearchWords
from commonplace.web.pages.layout.errors import message_of, pages
from commonplace.web.pages.layout.paging import PAGE_SIZE, ListFilters, counted_pager
from commonplace.web.pages.layout.rendering import done, render, render_dialog
from commonplace.workspace import MAX_TAGS, Note, NoteScope, remark_on

PATH: Final = "/workspace"
CHANGED: Final = "workspace-changed"
MAX_MESSAGE_CHARS: Final = 2_000

router = pages(PATH, installation_reader)
CHANGING: Final = [Depends(installation_writer)]


class NoteFilters(ListFilters):
    """The filters of the list of notes."""

    search: SearchWords = ""
    tag: SearchWords = ""


@router.get("")
async def workspace_page(
    request: Request, memories: OpenMemories, wanted: Annotated[NoteFilters, Query()]
) -> HTMLResponse:
    """Show notes, newest first; HTMX gets the table alone."""
    workspace = memories.workspace
    everything = (await workspace.search(limit=None)).memories
    found = (await workspace.search(wanted.search, tag=wanted.tag, limit=None)).memories
    pager = counted_pager(PATH, wanted.query, offset=wanted.offset, total=len(found))
    return render(
        request,
        "workspace/list.html",
        memories=found[pager.offset : pager.offset + PAGE_SIZE],
        total=len(everything),
        tag_choices=_tag_choices(everything),
        pager=pager,
        config=workspace.config,
        file=workspace.path,
        problems=await workspace.problems(),
    )


@router.get("/block")
async def block(
    request: Request,
    memories: OpenMemories,
    message: Annotated[str, Query(max_length=MAX_MESSAGE_CHARS)] = "",
) -> HTMLResponse:
    """Show the block that a model call receives for a message, with the score of each note."""
    return render(
        request,
        "workspace/block.html",
        message=message,
        block=await memories.workspace.context(message),
        scores=await memories.workspace.explain(message) if message else (),
        config=memories.workspace.config,
    )


class NoteForm(BaseModel):
    """The values of the form for a new note."""

    text: str = ""
    tags: str = ""
    scope: str = NoteScope.WORKSPACE


@router.get("/new", dependencies=CHANGING)
async def new_form(request: Request) -> HTMLResponse:
    """Show the form for a new note."""
    return _new_form(request, NoteForm(), {})


@router.post("", dependencies=CHANGING)
async def store(request: Request, memories: OpenMemories, given: Annotated[NoteForm, Form()]) -> Response:
    """Store a note, or show the form again with the error."""
    tags = [tag.strip() for tag in given.tags.split(",") if tag.strip()]
    try:
        receipt = await memories.workspace.store(given.text, tags=tags, scope=given.scope or None)
    except InvalidInputError as error:
        return _new_form(request, given, {error.field: message_of(error)})
    outcome = "" if receipt.repeated else f"{_short_id(receipt.memory)} was added. "
    remark = remark_on(receipt, named=_short_id)
    return done(request, f"{outcome}{remark}".strip(), location=PATH, changed=CHANGED)


def _short_id(note: Note) -> str:
    return str(MemoryId.of(MemoryKind.NOTE, note.id))


def _new_form(request: Request, values: NoteForm, errors: dict[str, str]) -> HTMLResponse:
    return render_dialog(
        request, "workspace/new.html", values=values, errors=errors, scopes=list(NoteScope), max_tags=MAX_TAGS
    )


def _tag_choices(everything: Sequence[Note]) -> list[tuple[str, str]]:
    tags = sorted({tag for memory in everything for tag in memory.tags}, key=str.casefold)
    return [("", "Any"), *((tag, visible(tag)) for tag in tags)]
