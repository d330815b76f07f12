"""This week: what happened to memories of all kinds, in words that say no more than what happened."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from itertools import groupby
from typing import Annotated, Any, Final, Literal
from uuid import UUID

from fastapi import Query, Request
from fastapi.responses import HTMLResponse
from pydantic import Field

from commonplace.apps import ChangeKind as AppChange
from commonplace.core.errors import CommonplaceError
from commonplace.knowledge import AuditEvent, EventType, KnowledgeMemory
from commonplace.operational import GENERAL, ChangeKind, ListedChange
from commonplace.services.memory_ids import MemoryKind
from commonplace.services.opening import Memories
from commonplace.web.http.access import KnowledgeOfCaller, OpenMemories, installation_reader
from commonplace.web.pages.apps.apps import conversation_url
from commonplace.web.pages.knowledge.audit import subject_of
from commonplace.web.pages.knowledge.listing import project_names
from commonplace.web.pages.layout.errors import pages
from commonplace.web.pages.layout.paging import Address
from commonplace.web.pages.layout.rendering import link, render

PATH: Final = "/week"
MOST_OF_EACH: Final = 500
MOST_SHOWN: Final = 300
MOST_DAYS: Final = 366
MAX_PROJECT_CHARS: Final = 200
SPANS: Final = (("1", "One day"), ("yesterday", "Yesterday"), ("7", "Seven days"), ("30", "Thirty days"))


class What(StrEnum):
    """A kind of change to a memory."""

    LEARNED = "learned"
    REPLACED = "replaced"
    CORRECTED = "corrected"
    CONFIRMED = "confirmed"
    CONTRADICTED = "contradicted"
    HELPFUL = "marked helpful"
    HARMFUL = "marked harmful"
    WARNING = "turned into a warning"
    FADED = "faded"
    EXPIRED = "expired"
    FORGOTTEN = "forgotten"
    DELETED = "deleted"


_OPERATIONS: Final[Mapping[ChangeKind, What]] = {
    ChangeKind.CREATED: What.LEARNED,
    ChangeKind.REFINED: What.CONFIRMED,
    ChangeKind.REINFORCED: What.CONFIRMED,
    ChangeKind.CONTRADICTED: What.CONTRADICTED,
    ChangeKind.DECAYED: What.FADED,
    ChangeKind.DELETED: What.DELETED,
}
_APPS: Final[Mapping[AppChange, What]] = {
    AppChange.CREATED: What.LEARNED,
    AppChange.IMPORTED: What.LEARNED,
    AppChange.MERGED: What.REPLACED,
    AppChange.COMPACTED: What.REPLACED,
    AppChange.EDITED: What.CORRECTED,
    AppChange.DELETED: What.DELETED,
}
_KNOWLEDGE: Final[Mapping[str, What]] = {
    EventType.FACT_CREATED: What.LEARNED,
    EventType.RULE_CREATED: What.LEARNED,
    EventType.FACT_SUPERSEDED: What.REPLACED,
    EventType.RULE_HARMFUL: What.HARMFUL,
    EventType.RULE_INVERTED: What.WARNING,
    EventType.FACT_CONFIRMED: What.CONFIRMED,
    EventType.RULE_CONFIRMED: What.CONFIRMED,
    EventType.RULE_HELPFUL: What.HELPFUL,
    EventType.FACT_FADING: What.FADED,
    EventType.RULE_FADING: What.FADED,
    EventType.FACT_EXPIRED: What.EXPIRED,
    EventType.RULE_EXPIRED: What.EXPIRED,
    EventType.FACT_RETRACTED: What.FORGOTTEN,
    EventType.RULE_FORGOTTEN: What.FORGOTTEN,
}

_UNDOES: Final[Mapping[str, frozenset[str]]] = {
    EventType.FACT_RESTORED: frozenset({EventType.FACT_RETRACTED, EventType.FACT_SUPERSEDED}),
    EventType.FACT_UNCONFIRMED: frozenset({EventType.FACT_CONFIRMED}),
    EventType.RULE_RESTORED: frozenset({EventType.RULE_FORGOTTEN}),
    EventType.RULE_UNCONFIRMED: frozenset({EventType.RULE_CONFIRMED}),
}
"""Events that undo the latest event about the same memory, with the types that each can undo."""

router = pages(PATH, installation_reader)


class WeekAddress(Address):
    """The filters in the address of the page."""

    days: Annotated[int, Field(ge=1, le=MOST_DAYS)] | Literal["yesterday"] = 7
    what: What | Literal[""] = ""
    project: Annotated[str, Field(max_length=MAX_PROJECT_CHARS)] = ""

    def span(self, now: datetime) -> tuple[datetime, datetime]:
        """Return the first moment and the end of the time; yesterday is a day in UTC."""
        if self.days != "yesterday":
            return now - timedelta(days=self.days), datetime.max.replace(tzinfo=UTC)
        today = datetime.combine(now.astimezone(UTC).date(), time(), UTC)
        return today - timedelta(days=1), today


@dataclass(frozen=True, slots=True, kw_only=True)
class WeekChange:
    """One change of a memory.

    Attributes:
        what: The kind of change.
        text: The text of the memory; empty if it is gone.
        kind: The kind of the memory.
        key: The full id of the memory; empty if the event names no memory.
        is_kept: Whether the memory still exists, so that its page can be opened.
        project: The service, app, project or scope of the memory; empty if it is gone.
        at: The time.
        actor: Who or what caused the change.
        cause: The name of the session or run that caused the change, if any.
        cause_url: The address of the cause within that session or run.
    """

    what: What
    text: str
    kind: MemoryKind | None
    key: str
    project: str
    at: datetime
    actor: str
    is_kept: bool = True
    cause: str = ""
    cause_url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WeekSource:
    """The changes of one memory.

    Attributes:
        entries: The latest changes.
        is_cut: Whether the memory has earlier changes that were not read.
    """

    entries: Sequence[WeekChange]
    is_cut: bool = False


@router.get("")
async def week(
    request: Request,
    memories: OpenMemories,
    knowledge: KnowledgeOfCaller,
    wanted: Annotated[WeekAddress, Query()],
) -> HTMLResponse:
    """Show the changes of the memories by day, latest first."""
    since, until = wanted.span(memories.operational.now())
    read = {
        "operational memory": await _operations(memories, since),
        "app memory": await _apps(memories, since),
        "workspace memory": await _notes(memories, since),
    }
    problem = ""
    try:
        titles = dict(project_names(request, knowledge))
        read["knowledge memory"] = await _knowledge(knowledge, since, titles)
    except CommonplaceError as error:
        problem = str(error)
    everything = [entry for source in read.values() for entry in source.entries if entry.at < until]
    entries = [entry for entry in everything if wanted.project in ("", entry.project)]
    projects = sorted({wanted.project, *(entry.project for entry in everything)} - {""})
    counts = Counter(entry.what for entry in entries)
    matching = sorted(
        (entry for entry in entries if not wanted.what or entry.what is wanted.what),
        key=lambda entry: entry.at,
        reverse=True,
    )
    return render(
        request,
        "week.html",
        days=_by_day(matching[:MOST_SHOWN]),
        tabs=_tabs(counts, wanted),
        spans=SPANS,
        projects=[("", "Any"), *((name, name) for name in projects)],
        wanted=wanted,
        is_cut=len(matching) > MOST_SHOWN,
        cut=[name for name, source in read.items() if source.is_cut],
        most_of_each=MOST_OF_EACH,
        problem=problem,
        url=link(PATH, days=wanted.days, what=wanted.what, project=wanted.project),
    )


def _tabs(counts: Mapping[What, int], wanted: WeekAddress) -> list[tuple[str, int, str, bool]]:
    tabs = [
        ("All", sum(counts.values()), ""),
        *((each.capitalize(), counts[each], each) for each in What if counts[each] or each == wanted.what),
    ]
    return [
        (label, count, link(PATH, days=wanted.days, what=what, project=wanted.project), what == wanted.what)
        for label, count, what in tabs
    ]


def _by_day(entries: Sequence[WeekChange]) -> list[tuple[date, list[WeekChange]]]:
    return [(day, list(found)) for day, found in groupby(entries, key=lambda entry: entry.at.date())]


async def _operations(memories: Memories, since: datetime) -> WeekSource:
    changes = await memories.operational.changes.since(since, limit=MOST_OF_EACH + 1)
    entries = [
        WeekChange(
            what=what,
            text=one.observation or "",
            kind=MemoryKind.LESSON,
            key=str(one.memory_id),
            is_kept=one.observation is not None,
            project=one.service or (GENERAL if one.observation else ""),
            at=one.created_at,
            actor=one.actor,
            cause="" if one.session_id is None else f"Session {one.session_id}",
            cause_url=f"/sessions/{one.session_id}?memory={one.memory_id}#told",
        )
        for one in changes[:MOST_OF_EACH]
        if (what := _lesson_change(one)) is not None
    ]
    return WeekSource(entries=entries, is_cut=len(changes) > MOST_OF_EACH)


def _lesson_change(change: ListedChange) -> What | None:
    """Return what happened to a lesson: an edit may change its text, or only its confidence."""
    if change.kind is not ChangeKind.EDITED:
        return _OPERATIONS.get(change.kind)
    before, after = change.before or {}, change.after or {}
    if "observation" in after:
        return What.CORRECTED
    if "confidence" not in after:
        return None
    if not after["confidence"]:
        return What.FORGOTTEN
    return What.CONFIRMED if after["confidence"] > before.get("confidence", 0.0) else What.FADED


async def _apps(memories: Memories, since: datetime) -> WeekSource:
    changes = await memories.apps.changes.since(since, limit=MOST_OF_EACH + 1)
    entries = [
        WeekChange(
            what=_APPS[one.kind],
            text=one.after or one.before or "",
            kind=MemoryKind.DIGEST,
            key=str(one.memory_id),
            is_kept=one.kind is not AppChange.DELETED,
            project=one.app_id,
            at=one.created_at,
            actor=one.actor,
            cause=f"Conversation {conversation}" if conversation else "",
            cause_url=conversation_url(one.app_id, conversation or ""),
        )
        for one, conversation in changes[:MOST_OF_EACH]
        if one.kind in _APPS
    ]
    return WeekSource(entries=entries, is_cut=len(changes) > MOST_OF_EACH)


async def _notes(memories: Memories, since: datetime) -> WeekSource:
    notes = (await memories.workspace.search(limit=None)).memories
    entries = [
        WeekChange(
            what=What.LEARNED,
            text=one.text,
            kind=MemoryKind.NOTE,
            key=one.id,
            project="workspace",
            at=one.created_at,
            actor="agent",
        )
        for one in notes
        if one.created_at >= since
    ]
    return WeekSource(entries=entries)


async def _knowledge(knowledge: KnowledgeMemory, since: datetime, titles: Mapping[str, str]) -> WeekSource:
    found = await knowledge.events.list(
        event_types=[*_KNOWLEDGE, *_UNDOES], since=since, limit=MOST_OF_EACH + 1
    )
    events = _standing(found[:MOST_OF_EACH])
    subjects = [subject_of(event.payload) for event in events]
    ids = {about for _, about in subjects if about}
    names, scopes = await knowledge.lists.names_of(ids), await knowledge.lists.scopes_of(ids)
    entries: list[WeekChange] = []
    for event, (kind, about) in zip(events, subjects, strict=True):
        cause, cause_url = _cause(event, about)
        entries.append(
            WeekChange(
                what=_KNOWLEDGE[event.event_type],
                text=names.get(about, "") if about else "",
                kind=MemoryKind(kind) if kind else None,
                key=str(about or ""),
                is_kept=about in names or about in scopes,
                project=titles.get(scopes.get(about, ""), scopes.get(about, "")) if about else "",
                at=event.created_at,
                actor=event.actor or "",
                cause=cause,
                cause_url=cause_url,
            )
        )
    return WeekSource(entries=entries, is_cut=len(found) > MOST_OF_EACH)


def _standing(events: Sequence[AuditEvent]) -> list[AuditEvent]:
    """Return the changes that were not undone; events are ordered from latest to earliest."""
    undone: dict[UUID | None, list[frozenset[str]]] = {}
    standing: list[AuditEvent] = []
    for event in events:
        waiting = undone.setdefault(subject_of(event.payload)[1], [])
        taken = next((each for each in waiting if event.event_type in each), None)
        if event.event_type in _UNDOES:
            waiting.append(_UNDOES[event.event_type])
        elif taken is not None:
            waiting.remove(taken)
        else:
            standing.append(event)
    return standing


def _cause(event: AuditEvent, about: UUID | None) -> tuple[str, str]:
    """Return the origin of an event and its address: a run, an episode, or else its entry in the audit log."""
    if run := event.payload.get("run_id"):
        return "Consolidation", f"/knowledge/runs/{run}#memory-{about}"
    after: dict[str, Any] = event.payload.get("after") or {}
    if episode := after.get("source_episode_id"):
        return "Episode", f"/knowledge/episodes/{episode}"
    return "Audit log", f"/knowledge/events/{event.id}"
