"""Forgetting the memories of a session: a preview, the change, and undo."""

import logging
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Final
from uuid import UUID

from fastapi import Form, Request
from fastapi.responses import HTMLResponse, Response

from commonplace.core.errors import CommonplaceError, InvalidInputError, NotFoundError
from commonplace.core.text import plural
from commonplace.knowledge import KnowledgeMemory, SessionMemory
from commonplace.operational import Lesson, OperationalMemory
from commonplace.web.http.access import KnowledgeOfCaller, OpenMemories, installation_writer
from commonplace.web.pages.knowledge import listing as knowledge_pages
from commonplace.web.pages.layout.errors import pages
from commonplace.web.pages.layout.rendering import done, events, render_dialog
from commonplace.web.pages.operational.memory_changes import CHANGED
from commonplace.web.pages.operational.sessions import PATH, SessionId

MOST: Final = 1_000
GONE: Final = 0.0
"""The confidence of a forgotten lesson, which is inactive and stays in the history."""

_log = logging.getLogger(__name__)

Written = Annotated[list[str] | None, Form()]

router = pages(PATH, installation_writer)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionMemories:
    """Active memories of a session: lessons, and memories of knowledge memory."""

    lessons: list[Lesson]
    memories: list[SessionMemory]

    @property
    def total(self) -> int:
        """The number of memories."""
        return len(self.lessons) + len(self.memories)


@router.get("/{session_id:int}/forget")
async def forget_form(
    request: Request, memories: OpenMemories, knowledge: KnowledgeOfCaller, session_id: SessionId
) -> HTMLResponse:
    """Show the memories that would be forgotten."""
    learned = await _learned(memories.operational, knowledge, session_id)
    return render_dialog(request, "sessions/forget.html", session_id=session_id, learned=learned)


@router.post("/{session_id:int}/forget")
async def forget(
    request: Request, memories: OpenMemories, knowledge: KnowledgeOfCaller, session_id: SessionId
) -> Response:
    """Forget the memories of a session; the dialog then offers to restore them."""
    learned = await _learned(memories.operational, knowledge, session_id)
    if learned.lessons:
        await memories.operational.edit([one.id for one in learned.lessons], confidence=GONE)
    for one in learned.memories:
        await knowledge.forget(one.memory_type, one.id)
    answer = render_dialog(request, "sessions/forgotten.html", session_id=session_id, learned=learned)
    answer.headers.update(events({CHANGED: None, knowledge_pages.CHANGED: None}))
    return answer


@router.post("/{session_id:int}/restore")
async def restore(
    request: Request,
    memories: OpenMemories,
    knowledge: KnowledgeOfCaller,
    session_id: SessionId,
    lesson: Written = None,
    memory: Written = None,
) -> Response:
    """Restore forgotten memories, each lesson with its former confidence."""
    restored = 0
    for text in lesson or ():
        number, _, confidence = text.partition(":")
        with suppress(NotFoundError, ValueError):
            await memories.operational.edit([int(number)], confidence=float(confidence))
            restored += 1
    for text in memory or ():
        kind, _, memory_id = text.partition(":")
        with suppress(NotFoundError, InvalidInputError):
            await knowledge.restore(kind, memory_id)
            restored += 1
    notice = f"{plural(restored, 'memory', 'memories')} restored."
    return done(request, notice, changed=CHANGED, location=f"{PATH}/{session_id}")


async def _learned(
    operational: OperationalMemory, knowledge: KnowledgeMemory, session_id: int
) -> SessionMemories:
    """Return the memories of a session; those of knowledge memory are left out if its server is out of reach.

    Raises:
        NotFoundError: The session does not exist.
    """
    session = await operational.sessions.get(session_id)
    lessons = await operational.sessions.memories(session_id, limit=MOST)
    found: list[SessionMemory] = []
    with suppress(ValueError):
        agent_session = UUID(session.agent_session_id or "")
        try:
            found = await knowledge.lists.of_session(agent_session)
        except CommonplaceError as error:
            _log.error("memories of session %d: %s", session_id, error)
    return SessionMemories(lessons=[one for one in lessons if one.active], memories=found)
