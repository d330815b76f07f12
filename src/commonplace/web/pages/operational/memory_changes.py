"""Forms to add, edit and delete memories and to set their confidence (OPS-13, OPS-16.3, OPS-18)."""

from typing import Annotated, Final

from fastapi import Form, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import BaseModel

from commonplace.core.errors import InvalidInputError
from commonplace.core.text import plural
from commonplace.operational import DEFAULT_CONFIDENCE, Lesson, MemoryCategory, OperationalMemory
from commonplace.web.http.access import OpenMemories, installation_writer
from commonplace.web.http.limits import LARGEST_ID
from commonplace.web.pages.layout.errors import message_of, pages
from commonplace.web.pages.layout.forms import Text
from commonplace.web.pages.layout.rendering import done, events, render, render_dialog, wants_fragment
from commonplace.web.pages.layout.wording import decimal
from commonplace.web.pages.operational.memories import PATH, MemoryId, memory_values, status_values

CHANGED: Final = "memories-changed"
"""The event that refreshes lists of memories."""
MOST_AT_ONCE: Final = 500

Id = Annotated[int, Query(ge=1, le=LARGEST_ID)]
Ids = Annotated[list[Id], Query(max_length=MOST_AT_ONCE, default_factory=list)]
FormIds = Annotated[
    list[Annotated[int, Form(ge=1, le=LARGEST_ID)]], Form(min_length=1, max_length=MOST_AT_ONCE)
]

router = pages(PATH, installation_writer)


class NewMemory(BaseModel):
    """The values of the form for a new memory."""

    category: str = ""
    service: str = ""
    observation: str = ""
    confidence: str = str(DEFAULT_CONFIDENCE)


@router.get("/new")
async def new_form(request: Request, memories: OpenMemories) -> HTMLResponse:
    """Show the form for a new memory."""
    return await _new_form(request, memories.operational, NewMemory(), {})


@router.post("")
async def add(request: Request, memories: OpenMemories, given: Annotated[NewMemory, Form()]) -> Response:
    """Add a memory, or show the form again with its errors."""
    operational = memories.operational
    try:
        receipt = await operational.add(
            category=given.category,
            service=given.service.strip() or None,
            observation=given.observation,
            confidence=_number(given.confidence),
        )
    except InvalidInputError as error:
        return await _new_form(request, operational, given, {error.field: message_of(error)})
    return done(request, f"o:{receipt.id} was added.", location=PATH, changed=CHANGED)


async def _new_form(
    request: Request, operational: OperationalMemory, values: NewMemory, errors: dict[str, str]
) -> HTMLResponse:
    services = [count.service for count in await operational.figures.services() if count.service]
    return render_dialog(
        request,
        "memories/new.html",
        values=values,
        errors=errors,
        categories=list(MemoryCategory),
        services=services,
    )


@router.get("/delete")
async def delete_form(request: Request, memories: OpenMemories, ids: Ids) -> HTMLResponse:
    """Ask whether to delete memories."""
    found = await _found(memories.operational, ids)
    return render_dialog(request, "memories/delete.html", found=found)


@router.post("/delete")
async def delete(request: Request, memories: OpenMemories, ids: FormIds) -> Response:
    """Delete all of the memories, or none."""
    deleted = await memories.operational.delete(ids)
    notice = f"{plural(len(deleted), 'lesson')} deleted."
    return done(request, notice, location=PATH, changed=CHANGED)


@router.get("/confidence")
async def confidence_form(request: Request, memories: OpenMemories, ids: Ids) -> HTMLResponse:
    """Ask for the confidence of memories."""
    found = await _found(memories.operational, ids)
    # The confidence that the active memories share; inactive memories are selected to become active.
    values = {memory.confidence for memory in found if memory.active}
    value = values.pop() if len(values) == 1 else DEFAULT_CONFIDENCE
    return render_dialog(request, "memories/confidence.html", found=found, value=value, errors={})


@router.post("/confidence")
async def set_confidence(
    request: Request, memories: OpenMemories, ids: FormIds, confidence: Text = ""
) -> Response:
    """Set the confidence of all of the memories, or of none."""
    try:
        changed = await memories.operational.edit(ids, confidence=_number(confidence))
    except InvalidInputError as error:
        found = await _found(memories.operational, ids)
        errors = {error.field: message_of(error)}
        return render_dialog(
            request, "memories/confidence.html", found=found, value=DEFAULT_CONFIDENCE, errors=errors
        )
    count = plural(len(changed), "lesson has", "lessons have")
    notice = f"{count} confidence {decimal(changed[0].confidence)} now."
    return done(request, notice, location=PATH, changed=CHANGED)


@router.get("/{memory_id:int}/edit")
async def edit_form(request: Request, memories: OpenMemories, memory_id: MemoryId) -> Response:
    """Turn the row of a memory into a form; without HTMX, redirect to the page of the memory."""
    if not wants_fragment(request):
        return RedirectResponse(f"{PATH}/{memory_id}", status_code=303)
    memory = await memories.operational.get(memory_id)
    return render(
        request,
        "memories/edit_row.html",
        memory=memory,
        observation=memory.observation,
        confidence=round(memory.confidence, 2),
        errors={},
    )


@router.get("/{memory_id:int}/row")
async def row(request: Request, memories: OpenMemories, memory_id: MemoryId) -> HTMLResponse:
    """Turn the form back into the row."""
    return await _row(request, memories.operational, memory_id)


@router.post("/{memory_id:int}")
async def edit(
    request: Request,
    memories: OpenMemories,
    memory_id: MemoryId,
    observation: Text = "",
    observation_was: Text = "",
    confidence: Text = "",
    confidence_was: Text = "",
) -> Response:
    """Change the fields of a memory that the operator changed; other fields keep their current value."""
    operational = memories.operational
    text = None if _same_text(observation, observation_was) else observation
    try:
        value = None if _same_number(confidence, confidence_was) else _number(confidence)
        if text is not None or value is not None:
            await operational.edit([memory_id], observation=text, confidence=value)
    except InvalidInputError as error:
        errors = {error.field: message_of(error)}
        if not wants_fragment(request):
            values = await memory_values(operational, memory_id)
            return render(request, "memories/one.html", errors=errors, **values)
        return render(
            request,
            "memories/edit_row.html",
            memory=await operational.get(memory_id),
            observation=observation,
            confidence=confidence,
            errors=errors,
        )
    if not wants_fragment(request):
        return RedirectResponse(f"{PATH}/{memory_id}", status_code=303)
    raised = events({"toast": "Saved.", CHANGED: None}) if text is not None or value is not None else {}
    return await _row(request, operational, memory_id, headers=raised)


async def _row(
    request: Request, operational: OperationalMemory, memory_id: int, headers: dict[str, str] | None = None
) -> HTMLResponse:
    return render(
        request,
        "memories/row.html",
        headers=headers,
        memory=await operational.get(memory_id),
        **status_values(operational),
    )


async def _found(operational: OperationalMemory, ids: list[int]) -> list[Lesson]:
    return [await operational.get(memory_id) for memory_id in dict.fromkeys(ids)]


def _same_text(one: str, other: str) -> bool:
    """Compare two texts of a form, which writes a line break as two characters."""
    return one.replace("\r\n", "\n") == other.replace("\r\n", "\n")


def _same_number(one: str, other: str) -> bool:
    """Compare two positions of a slider with steps of 0.01."""
    if one == other:
        return True
    try:
        return float(one) == float(other)
    except ValueError:
        return False


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidInputError("confidence", "a number from 0.0 to 1.0", text) from None
