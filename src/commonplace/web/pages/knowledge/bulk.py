"""Changes of one or several facts or rules, and their undo: confirm, pin, tag, make global, forget."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Final
from uuid import UUID

from fastapi import APIRouter, Depends, Form, Query, Request
from fastapi.responses import HTMLResponse, Response

from commonplace.core.errors import InvalidInputError, NotFoundError
from commonplace.core.text import plural
from commonplace.knowledge import (
    GLOBAL_SCOPE,
    PINNED,
    EventType,
    Fact,
    KnowledgeMemory,
    MemoryType,
    Rule,
    ScopeMove,
)
from commonplace.web.http.access import KnowledgeOfCaller, writer
from commonplace.web.pages.knowledge.listing import CHANGED
from commonplace.web.pages.layout.errors import message_of
from commonplace.web.pages.layout.forms import Text
from commonplace.web.pages.layout.notices import Undo
from commonplace.web.pages.layout.rendering import done, render_dialog, shown_page

MOST_AT_ONCE: Final = 200

Ids = Annotated[list[UUID], Query(max_length=MOST_AT_ONCE, default_factory=list)]
FormIds = Annotated[list[Annotated[UUID, Form()]], Form(min_length=1, max_length=MOST_AT_ONCE)]

_Known = Fact | Rule


class ChangeName(StrEnum):
    """A change of facts or rules, named like the last part of its address."""

    CONFIRM = "confirm"
    PIN = "pin"
    TAG = "tag"
    PROMOTE = "promote"
    FORGET = "forget"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Change:
    """A change of one memory.

    Attributes:
        result: The result, after the number of memories, such as "confirmed".
        applies: Returns whether the change makes a difference; takes the memory and the tag.
        apply: Changes the memory; takes its kind, its id and the tag.
        undo: Undoes the change; takes the kind, an id (of the event of a move, else of the memory), and the tag.
    """

    result: str
    applies: Callable[[_Known, str], bool]
    apply: Callable[[KnowledgeMemory, MemoryType, UUID, str], Awaitable[object]]
    undo: Callable[[KnowledgeMemory, MemoryType, UUID, str], Awaitable[object]]


async def _take_from_global(knowledge: KnowledgeMemory, _: MemoryType, event_id: UUID, __: str) -> None:
    """Undo the promotion of one memory.

    Raises:
        InvalidInputError: The event is another change, such as a project merge, or the memory has moved again since.
        NotFoundError: No such event exists.
    """
    event = await knowledge.events.get(event_id)
    is_promotion = event.event_type == EventType.SCOPE_MOVED and event.payload["target"] == GLOBAL_SCOPE
    if not is_promotion or ScopeMove.from_payload(event_id, event.payload).count != 1:
        raise InvalidInputError("ids", "the event of the promotion of one memory", str(event_id))
    if not (await knowledge.scopes.undo(event_id)).count:
        raise InvalidInputError("ids", "a promotion whose memory is still global", str(event_id))


def _tagging(result: str) -> _Change:
    return _Change(
        result=result,
        applies=lambda memory, tag: memory.is_current and tag not in memory.tags,
        apply=lambda knowledge, kind, key, tag: knowledge.tag(kind, key, tag),
        undo=lambda knowledge, kind, key, tag: knowledge.tag(kind, key, tag, tagged=False),
    )


CHANGES: Final = {
    ChangeName.CONFIRM: _Change(
        result="confirmed",
        applies=lambda memory, _: memory.is_current,
        apply=lambda knowledge, kind, key, _: knowledge.confirm(kind, key),
        undo=lambda knowledge, kind, key, _: knowledge.undo_confirmation(kind, key),
    ),
    ChangeName.PIN: _tagging("pinned"),
    ChangeName.TAG: _tagging("tagged"),
    ChangeName.PROMOTE: _Change(
        result="made global",
        applies=lambda memory, _: memory.is_current and memory.scope != GLOBAL_SCOPE,
        apply=lambda knowledge, kind, key, _: knowledge.scopes.move_memory(kind, key, GLOBAL_SCOPE),
        undo=_take_from_global,
    ),
    ChangeName.FORGET: _Change(
        result="forgotten",
        applies=lambda memory, _: not memory.is_forgotten,
        apply=lambda knowledge, kind, key, _: knowledge.forget(kind, key),
        undo=lambda knowledge, kind, key, _: knowledge.restore(kind, key),
    ),
}


def add_bulk_changes(router: APIRouter, kind: MemoryType, path: str) -> None:
    """Add the changes of several facts or rules to their pages; the changes return to the list at the path."""

    @router.get("/forget", dependencies=[Depends(writer)])
    async def forget_form(request: Request, knowledge: KnowledgeOfCaller, ids: Ids) -> HTMLResponse:
        """Ask before memories are forgotten."""
        found = await _found(knowledge, kind, ids)
        return render_dialog(request, "knowledge/forget_many.html", found=found, kind=kind, back=path)

    @router.get("/tag", dependencies=[Depends(writer)])
    async def tag_form(request: Request, ids: Ids) -> HTMLResponse:
        """Ask for the tag of memories."""
        return _tag_dialog(request, ids)

    @router.post("/undo", dependencies=[Depends(writer)])
    async def undo(
        request: Request, knowledge: KnowledgeOfCaller, change: Annotated[ChangeName, Form()], ids: FormIds,
        tag: Text = "",
    ) -> Response:  # fmt: skip
        """Undo a change of memories; memories that changed since stay unchanged."""
        notice = await _undo_all(knowledge, kind, change, ids, tag)
        return done(request, notice, location=shown_page(request) or path, changed=CHANGED)

    def applying(change: ChangeName) -> Callable[..., Awaitable[Response]]:
        async def apply(
            request: Request, knowledge: KnowledgeOfCaller, ids: FormIds, tag: Text = ""
        ) -> Response:
            """Apply a change where it makes a difference, and report how many memories stayed unchanged."""
            tag = PINNED if change is ChangeName.PIN else " ".join(tag.split())
            try:
                notice, undo = await _apply_all(knowledge, kind, change, ids, tag)
            except InvalidInputError as error:
                if change is not ChangeName.TAG:
                    raise
                return _tag_dialog(request, ids, tag, message_of(error))
            return done(request, notice, location=path, changed=CHANGED, undo=undo)

        return apply

    # Each change has its own address, because a parameter would clash with the address of a memory's page.
    for change in ChangeName:
        router.post(f"/{change}", dependencies=[Depends(writer)])(applying(change))

    def _tag_dialog(request: Request, ids: Sequence[UUID], tag: str = "", error: str = "") -> HTMLResponse:
        errors = {"tag": error} if error else {}
        return render_dialog(
            request, "knowledge/tag_many.html", ids=ids, kind=kind, back=path, tag=tag, errors=errors
        )


async def _apply_all(
    knowledge: KnowledgeMemory, kind: MemoryType, change: ChangeName, ids: Sequence[UUID], tag: str
) -> tuple[str, Undo | None]:
    """Change memories; return the result in sentences, and the undo if a memory changed.

    Raises:
        InvalidInputError: No memory changed, and a memory refused the change.
        NotFoundError: No memory changed, and a memory is gone.
    """
    made = CHANGES[change]
    changed: list[UUID] = []
    refused: InvalidInputError | NotFoundError | None = None
    for memory in await _found(knowledge, kind, ids):
        if made.applies(memory, tag):
            # Each change is durable on its own, so a refusal must not hide the undo of the others.
            try:
                result = await made.apply(knowledge, kind, memory.id, tag)
                event_id = result.event_id if isinstance(result, ScopeMove) else None
                changed.append(event_id or memory.id)
            except (InvalidInputError, NotFoundError) as error:
                refused = error
    if refused is not None and not changed:
        raise refused
    notice = f"{plural(len(changed), kind)} {made.result}."
    if left := len(set(ids)) - len(changed):
        notice += f" {plural(left, kind)} left unchanged."
    return notice, undo_of(kind, change, changed, tag) if changed else None


async def _undo_all(
    knowledge: KnowledgeMemory, kind: MemoryType, change: ChangeName, ids: Sequence[UUID], tag: str
) -> str:
    """Undo a change of memories; return the result in sentences."""
    kept = 0
    for key in ids:
        try:
            await CHANGES[change].undo(knowledge, kind, key, tag)
        except (InvalidInputError, NotFoundError):
            kept += 1
    notice = f"The change of {plural(len(ids) - kept, kind)} was undone."
    return f"{notice} The change of {plural(kept, kind)} could not be undone." if kept else notice


def undo_of(kind: MemoryType, change: ChangeName, ids: Sequence[UUID], tag: str = "") -> Undo:
    """Return the undo of a change, with the ids that the change returned."""
    return Undo(
        url=f"/knowledge/{kind}s/undo",
        fields=(
            ("change", change),
            *(("tag", each) for each in (tag,) if each),
            *(("ids", str(one)) for one in ids),
        ),
    )


async def _found(knowledge: KnowledgeMemory, kind: MemoryType, ids: Sequence[UUID]) -> list[_Known]:
    """Return the existing memories, in the given order, without repeats."""
    found: list[_Known] = []
    for each in dict.fromkeys(ids):
        try:
            memory = await knowledge.read(kind, each)
        except NotFoundError:
            continue
        if isinstance(memory, Fact | Rule):
            found.append(memory)
    return found
