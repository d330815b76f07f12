"""The audit trail, the decay sweep and the cleanup under ``/api/v1/knowledge``."""

from typing import Annotated
from uuid import UUID

from fastapi import Query

from commonplace.knowledge import (
    CleanupReceipt,
    DecayReceipt,
    EventType,
    MaxEntries,
)
from commonplace.web.http.access import KnowledgeOfCaller, admin, reader
from commonplace.web.http.paging import WantedPage
from commonplace.web.rest.api import Api
from commonplace.web.rest.knowledge.shapes import AuditEventsShape

api = Api("/api/v1/knowledge", "knowledge memory")


@api("GET /events", reader, "The events of the page")
async def knowledge_events(
    memory: KnowledgeOfCaller,
    page: WantedPage,
    event_type: Annotated[EventType | None, Query(alias="eventType")] = None,
    memory_id: Annotated[UUID | None, Query(alias="memoryId")] = None,
) -> AuditEventsShape:
    """Read the audit trail.

    Latest first. An event holds the state of a memory before and after the change, without its text.

    Parameters:
        eventType: only events of this type, such as `fact_created`
        memoryId: only events about this episode, fact, rule or entity
    """
    found = await memory.events.list(
        event_type=event_type, memory_id=memory_id, limit=page.one_more, offset=page.offset
    )
    return page.envelope(AuditEventsShape, "events", found)


@api("POST /sweep", admin, "The receipt")
async def sweep_knowledge(memory: KnowledgeOfCaller) -> DecayReceipt:
    """Run the decay sweep.

    Facts and rules with low confidence fade, then expire; confirmed facts and rules recover.
    """
    return await memory.upkeep.sweep()


@api("POST /cleanup", admin, "The receipt")
async def clean_up_knowledge(
    memory: KnowledgeOfCaller,
    max_entries: Annotated[MaxEntries | None, Query(alias="maxEntries")] = None,
) -> CleanupReceipt:
    """Delete expired and surplus episodes.

    Delete expired episodes, then the oldest consolidated episodes above the limit. They cannot be restored.

    Parameters:
        maxEntries: the number of episodes to keep; by default the setting `episode_max_entries`
    """
    return await memory.upkeep.cleanup(max_entries=max_entries)
