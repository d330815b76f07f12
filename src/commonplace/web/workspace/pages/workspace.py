"""Pages of workspace memory: the facts, damaged lines, and a preview of the block for a message (WSP)."""

from collections.abc import Sequence
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse, Response

from commonplace.core.errors import InvalidInputError
from commonplace.core.text import visible
from commonplace.web.access import OpenMemories, installation_reader, installation_writer
from commonplace.web.dashboard.errors import PageRoute, message_of
from commonplace.web.dashboard.forms import INVALID, Text
from commonplace.web.dashboard.paging import PAGE_SIZE, counted_pager
from commonplace.web.dashboard.rendering import done, render, render_dialog
from commonplace.web.paging import Offset
from commonplace.workspace import MAX_TAGS, Memory, Scope

PATH: Final = "/workspace"
CHANGED: Final = "workspace-changed"
MAX_SEARCH_CHARS: Final = 200
MAX_MESSAGE_CHARS: Final = 2_000

Search = Annotated[str, Query(max_length=MAX_SEARCH_CHARS)]

router = APIRouter(
    prefix=PATH, route_class=PageRoute, include_in_schema=False, dependencies=[Depends(installation_reader)]
)
CHANGING: Final = [Depends(installation_writer)]


@router.get("")
async def workspace_page(
    request: Request, memories: OpenMemories, search: Search = "", tag: Search = "", offset: Offset = 0
) -> HTMLResponse:
    """Show memories, newest first; HTMX gets the table alone."""
    workspace = memories.workspace
    everything = (await workspace.search(limit=None)).memories
    found = (await workspace.search(search, tag=tag, limit=None)).memories
    query = {"search": search, "tag": tag}
    pager = counted_pager(PATH, query, offset=offset, total=len(found))
    return render(
        request,
        "workspace/list.html",
        memories=found[pager.offset : pager.offset + PAGE_SIZE],
        total=len(everything),
        search=search,
        tag=tag,
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
    """Show the block that a model call receives for a message, with the score of each memory."""
    return render(
        request,
        "workspace/block.html",
        message=message,
        block=await memories.workspace.context(message),
        scores=await memories.workspace.explain(message) if message else (),
        config=memories.workspace.config,
    )


@router.get("/new", dependencies=CHANGING)
async def new_form(request: Request) -> HTMLResponse:
    """Show the form for a new memory."""
    return _new_form(request, {"text": "", "tags": "", "scope": Scope.WORKSPACE}, {})


@router.post("", dependencies=CHANGING)
async def store(
    request: Request, memories: OpenMemories, text: Text = "", tags: Text = "", scope: Text = ""
) -> Response:
    """Store a memory, or show the form again with the error."""
    words = [tag.strip() for tag in tags.split(",") if tag.strip()]
    try:
        receipt = await memories.workspace.store(text, tags=words, scope=scope or None)
    except InvalidInputError as error:
        values = {"text": text, "tags": tags, "scope": scope}
        return _new_form(request, values, {error.field: message_of(error)})
    return done(request, f"Memory {receipt.id} was stored.", location=PATH, changed=CHANGED)


@router.get("/{memory_id}/delete", dependencies=CHANGING)
async def delete_form(request: Request, memories: OpenMemories, memory_id: str) -> HTMLResponse:
    """Ask before a memory is deleted."""
    memory = await memories.workspace.get(memory_id)
    return render_dialog(request, "workspace/delete.html", memory=memory)


@router.post("/{memory_id}/delete", dependencies=CHANGING)
async def delete(request: Request, memories: OpenMemories, memory_id: str) -> Response:
    """Delete a memory."""
    await memories.workspace.delete(memory_id)
    return done(request, f"Memory {memory_id} was deleted.", location=PATH, changed=CHANGED)


def _new_form(request: Request, values: dict[str, str], errors: dict[str, str]) -> HTMLResponse:
    return render_dialog(
        request,
        "workspace/new.html",
        http_status=INVALID if errors else 200,
        values=values,
        errors=errors,
        scopes=list(Scope),
        max_tags=MAX_TAGS,
    )


def _tag_choices(everything: Sequence[Memory]) -> list[tuple[str, str]]:
    tags = sorted({tag for memory in everything for tag in memory.tags}, key=str.casefold)
    return [("", "Any"), *((tag, visible(tag)) for tag in tags)]
