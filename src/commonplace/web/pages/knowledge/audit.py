"""Pages of the audit log: every change of a memory, with actor, time and previous values."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Final
from uuid import UUID

from fastapi import Query, Request
from fastapi.responses import HTMLResponse
from pydantic import AfterValidator, Field

from commonplace.knowledge import AuditEvent, EventType, KnowledgeMemory
from commonplace.services.sync.actors import actor_from_words
from commonplace.web.http.access import KnowledgeOfCaller, reader
from commonplace.web.pages.knowledge.listing import Day, ItemId, Name
from commonplace.web.pages.layout import wording
from commonplace.web.pages.layout.errors import pages
from commonplace.web.pages.layout.paging import ListFilters, cut_page
from commonplace.web.pages.layout.rendering import render

PATH: Final = "/knowledge/events"

router = pages(PATH, reader)


class AuditFilters(ListFilters):
    """The filters of the audit log."""

    event_type: Annotated[str, Field(alias="type", max_length=100, pattern=r"^\w*$")] = ""
    actor: Annotated[Name, AfterValidator(actor_from_words)] = ""
    memory_id: UUID | None = Field(default=None, alias="memory")
    run_id: UUID | None = Field(default=None, alias="run")
    since: Day = ""
    until: Day = ""


@router.get("")
async def events_page(
    request: Request, knowledge: KnowledgeOfCaller, wanted: Annotated[AuditFilters, Query()]
) -> HTMLResponse:
    """Show entries, latest first."""
    found, pager = await cut_page(request, wanted, knowledge.events.list)
    return render(
        request,
        "knowledge/events/list.html",
        entries=await describe(knowledge, found),
        pager=pager,
        types=[("", "Any"), *((name, wording.event(name)) for name in EventType)],
    )


@router.get("/{event_id:uuid}")
async def event_page(request: Request, knowledge: KnowledgeOfCaller, event_id: ItemId) -> HTMLResponse:
    """Show one entry with the values before and after."""
    entry = await knowledge.events.get(event_id)
    kind, about = subject_of(entry.payload)
    names = await knowledge.lists.names_of([about] if about else [])
    return render(
        request,
        "knowledge/events/one.html",
        entry=entry,
        kind=kind,
        about=about,
        name=names.get(about) if about else None,
        changes=changes_of(entry.payload),
        rest={
            name: _written(value, name)
            for name, value in entry.payload.items()
            if name not in {"before", "after", "memory_type", "memory_id", "run_id"}
        },
        is_merge=entry.event_type == EventType.ENTITY_MERGED,
        is_unmerge=entry.event_type == EventType.ENTITY_UNMERGED,
    )


async def describe(
    knowledge: KnowledgeMemory, entries: Sequence[AuditEvent]
) -> list[tuple[AuditEvent, str, UUID | None, str | None]]:
    """Return entries with the kind, the id and the name of the memory that each is about."""
    subjects = [subject_of(entry.payload) for entry in entries]
    names = await knowledge.lists.names_of({about for _, about in subjects if about})
    return [
        (entry, kind, about, names.get(about) if about else None)
        for entry, (kind, about) in zip(entries, subjects, strict=True)
    ]


def subject_of(payload: Mapping[str, Any]) -> tuple[str, UUID | None]:
    """Return the kind and id of the memory that an entry is about; an empty kind if the entry names no memory."""
    if "memory_id" in payload:
        return str(payload.get("memory_type", "")), UUID(payload["memory_id"])
    entity = payload.get("entity_id") or payload.get("source_entity_id")
    return ("entity", UUID(entity)) if entity else ("", None)


def changes_of(payload: Mapping[str, Any]) -> list[tuple[str, str | None, str | None]]:
    """Return the fields that an entry changed, with the value before and after; ``None`` if there was no value."""
    before: Mapping[str, Any] = payload.get("before") or {}
    after: Mapping[str, Any] = payload.get("after") or {}
    values = (
        (name, _written(before.get(name), name) or None, _written(after.get(name), name) or None)
        for name in dict.fromkeys((*before, *after))
    )
    return [(name, old, new) for name, old, new in values if old or new]


def _written(value: object, name: str) -> str:
    """Return the value of a field for people; an empty text for no value or an empty list."""
    if value in (None, [], {}):
        return ""
    if isinstance(value, str):
        return _moment(value) if name.endswith("_at") else value
    return json.dumps(value, ensure_ascii=False, indent=2)


def _moment(text: str) -> str:
    try:
        return wording.stamp(datetime.fromisoformat(text))
    except ValueError:
        return text
