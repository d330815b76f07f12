"""Forgetting an episode, a fact or a rule, after a confirmation dialog."""

from typing import Final

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, Response

from commonplace.knowledge import Fact, MemoryType
from commonplace.web.http.access import KnowledgeOfCaller, writer
from commonplace.web.pages.knowledge.bulk import ChangeName, undo_of
from commonplace.web.pages.knowledge.listing import CHANGED, ItemId
from commonplace.web.pages.layout.questions import Question, ask
from commonplace.web.pages.layout.rendering import done

MAX_QUOTE_CHARS: Final = 1_000


def add_forgetting(router: APIRouter, kind: MemoryType, *effects: str) -> None:
    """Add the dialog, which lists the effects in sentences, and the change to the pages of one kind of memory."""

    @router.get("/{memory_id:uuid}/forget", dependencies=[Depends(writer)])
    async def forget_form(request: Request, knowledge: KnowledgeOfCaller, memory_id: ItemId) -> HTMLResponse:
        """Ask before a memory is forgotten."""
        memory = await knowledge.read(kind, memory_id)
        about = f"{memory.subject} {memory.predicate}: " if isinstance(memory, Fact) else ""
        quote = f"{about}{memory.content}"[:MAX_QUOTE_CHARS]
        return ask(
            request, Question(title=f"Forget this {kind}?", texts=effects, quote=quote, button="Forget")
        )

    @router.post("/{memory_id:uuid}/forget", dependencies=[Depends(writer)])
    async def forget(request: Request, knowledge: KnowledgeOfCaller, memory_id: ItemId) -> Response:
        """Forget a memory."""
        await knowledge.forget(kind, memory_id)
        is_undone = kind is not MemoryType.EPISODE
        undo = undo_of(kind, ChangeName.FORGET, [memory_id]) if is_undone else None
        return done(request, f"The {kind} was forgotten.", changed=CHANGED, undo=undo)
