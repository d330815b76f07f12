"""Pinning a fact or a rule, so that it is in every block of its scope."""

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from commonplace.knowledge import MemoryType
from commonplace.web.http.access import KnowledgeOfCaller, writer
from commonplace.web.pages.knowledge.listing import CHANGED, ItemId
from commonplace.web.pages.layout.rendering import done


def add_pinning(router: APIRouter, kind: MemoryType) -> None:
    """Add pinning and unpinning to the pages of one kind of memory."""

    @router.post("/{memory_id:uuid}/pin", dependencies=[Depends(writer)])
    async def pin(request: Request, knowledge: KnowledgeOfCaller, memory_id: ItemId) -> Response:
        """Pin a memory."""
        await knowledge.pin(kind, memory_id)
        return done(request, f"The {kind} is pinned: it is in every prompt of its scope.", changed=CHANGED)

    @router.post("/{memory_id:uuid}/unpin", dependencies=[Depends(writer)])
    async def unpin(request: Request, knowledge: KnowledgeOfCaller, memory_id: ItemId) -> Response:
        """Unpin a memory."""
        await knowledge.pin(kind, memory_id, pinned=False)
        return done(request, f"The {kind} is shown only where it is relevant.", changed=CHANGED)
