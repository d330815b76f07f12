"""Changes of several facts or rules at once: forget, confirm, pin, make global."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Final
from uuid import UUID

from fastapi import APIRouter, Depends, Form, Query, Request
from fastapi.responses import HTMLResponse, Response

from commonplace.core.errors import NotFoundError
from commonplace.core.text import plural
from commonplace.knowledge import GLOBAL_SCOPE, Fact, KnowledgeMemory, MemoryType, Rule, Validity
from commonplace.web.access import KnowledgeOfCaller, writer
from commonplace.web.dashboard.rendering import done, render_dialog
from commonplace.web.knowledge.pages.listing import CHANGED

MOST_AT_ONCE: Final = 200

Ids = Annotated[list[UUID], Query(max_length=MOST_AT_ONCE, default_factory=list)]
FormIds = Annotated[list[Annotated[UUID, Form()]], Form(min_length=1, max_length=MOST_AT_ONCE)]


def _is_current(memory: Fact | Rule) -> bool:
    return memory.validity is Validity.ACTIVE if isinstance(memory, Fact) else not memory.is_forgotten


def add_bulk_changes(router: APIRouter, kind: MemoryType, path: str) -> None:
    """Add the changes of several memories to the pages of one kind of memory.

    Args:
        router: The router of the pages.
        kind: Facts or rules.
        path: The list that the changes return to.
    """

    @router.get("/forget", dependencies=[Depends(writer)])
    async def forget_form(request: Request, knowledge: KnowledgeOfCaller, ids: Ids) -> HTMLResponse:
        """Ask before memories are forgotten."""
        found = await _found(knowledge, kind, ids)
        return render_dialog(request, "knowledge/forget_many.html", found=found, kind=kind, back=path)

    @router.post("/forget", dependencies=[Depends(writer)])
    async def forget(request: Request, knowledge: KnowledgeOfCaller, ids: FormIds) -> Response:
        """Forget memories; those that are forgotten already stay so."""
        found = await _found(knowledge, kind, ids)
        for memory in found:
            await knowledge.forget_memory(kind, memory.id)
        return done(request, f"{plural(len(found), kind)} forgotten.", location=path, changed=CHANGED)

    async def change(
        request: Request,
        knowledge: KnowledgeMemory,
        ids: Sequence[UUID],
        apply: Callable[[Fact | Rule], Awaitable[object]],
        result: str,
        *,
        applies: Callable[[Fact | Rule], bool] = _is_current,
    ) -> Response:
        """Change the current memories one by one, and say how many were left as they are."""
        found = [memory for memory in await _found(knowledge, kind, ids) if applies(memory)]
        for memory in found:
            await apply(memory)
        left = len(ids) - len(found)
        notice = f"{plural(len(found), kind)} {result}."
        if left:
            notice += f" {plural(left, kind)} left unchanged."
        return done(request, notice, location=path, changed=CHANGED)

    @router.post("/confirm", dependencies=[Depends(writer)])
    async def confirm(request: Request, knowledge: KnowledgeOfCaller, ids: FormIds) -> Response:
        """Confirm memories, which restarts their decay; those that are forgotten or superseded stay as they are."""
        return await change(
            request, knowledge, ids, lambda one: knowledge.confirm_memory(kind, one.id), "confirmed"
        )

    @router.post("/pin", dependencies=[Depends(writer)])
    async def pin(request: Request, knowledge: KnowledgeOfCaller, ids: FormIds) -> Response:
        """Pin memories, so that they are in every block of their scope."""
        return await change(request, knowledge, ids, lambda one: knowledge.pin_memory(kind, one.id), "pinned")

    @router.post("/promote", dependencies=[Depends(writer)])
    async def promote(request: Request, knowledge: KnowledgeOfCaller, ids: FormIds) -> Response:
        """Make memories global, so that every project reads them; global ones stay as they are."""
        return await change(
            request,
            knowledge,
            ids,
            lambda one: knowledge.move_memory(kind, one.id, GLOBAL_SCOPE),
            "made global",
            applies=lambda one: _is_current(one) and one.scope != GLOBAL_SCOPE,
        )


async def _found(knowledge: KnowledgeMemory, kind: MemoryType, ids: Sequence[UUID]) -> list[Fact | Rule]:
    """Return the memories that are there, in the given order, each once."""
    found: list[Fact | Rule] = []
    for each in dict.fromkeys(ids):
        try:
            memory = await knowledge.read_memory(kind, each)
        except NotFoundError:
            continue
        if isinstance(memory, Fact | Rule):
            found.append(memory)
    return found
