"""Workspace memory under ``/api/v1/workspace``."""

from datetime import datetime
from http import HTTPStatus
from typing import Annotated, Final, Self

from fastapi import APIRouter, Body, Depends, Path, Query
from pydantic import Field

from commonplace.web.access import OpenMemories, installation_reader, installation_writer
from commonplace.web.problems import INVALID_INPUT, NOT_FOUND, REFUSED, SECRET_REFUSED, TOO_LARGE, may_answer
from commonplace.web.shape import Shape, Wanted
from commonplace.workspace import Memory, Scope, WorkspaceMemory

MAX_QUERY_CHARS: Final = 1000
MAX_MESSAGE_CHARS: Final = 10_000

router = APIRouter(prefix="/api/v1/workspace", tags=["workspace memory"], responses=may_answer(INVALID_INPUT))


class NoteShape(Shape):
    """A fact of the workspace."""

    id: str = Field(description="`m-` and a number; no id is used twice")
    text: str
    scope: Scope = Field(description="the subject of the fact")
    tags: list[str]
    created_at: datetime

    @classmethod
    def of(cls, memory: Memory) -> Self:
        """Return the shape of a memory."""
        return cls(
            id=memory.id,
            text=memory.text,
            scope=memory.scope,
            tags=list(memory.tags),
            created_at=memory.created_at,
        )


class NotesShape(Shape):
    """Facts of the workspace, newest first, at most 20."""

    memories: list[NoteShape]
    count: int


class StoredNoteShape(Shape):
    """A stored fact, and the oldest facts that were deleted to make room for it."""

    memory: NoteShape
    pruned: list[NoteShape]


class DeletedNoteShape(Shape):
    """A deleted fact."""

    id: str


class BlockShape(Shape):
    """Text for a prompt."""

    text: str = Field(description="empty if there is no fact to show")


class NewNote(Wanted):
    """A fact to store."""

    text: str = Field(description="1 to 500 characters")
    tags: list[str] = Field(default_factory=list, description="at most five")
    scope: Scope = Field(default=Scope.WORKSPACE, description="the subject of the fact")


def workspace(memories: OpenMemories) -> WorkspaceMemory:
    """Return the workspace memory of the service."""
    return memories.workspace


Workspace = Annotated[WorkspaceMemory, Depends(workspace)]
NoteId = Annotated[str, Path(alias="memoryId", max_length=100, description="the id of a memory, such as m-4")]


@router.get(
    "/memories",
    operation_id="searchNotes",
    dependencies=[Depends(installation_reader)],
    response_description="The facts found",
    summary="Find facts of the workspace",
)
async def search(
    memory: Workspace,
    query: Annotated[
        str | None, Query(max_length=MAX_QUERY_CHARS, description="a part of the text, searched as one piece")
    ] = None,
    tag: Annotated[
        str | None, Query(max_length=MAX_QUERY_CHARS, description="a whole tag of the fact")
    ] = None,
) -> NotesShape:
    """With query and tag, both must match; with neither, the most recent facts are returned."""
    found = await memory.search(query, tag=tag)
    return NotesShape(memories=[NoteShape.of(one) for one in found.memories], count=found.count)


@router.post(
    "/memories",
    operation_id="storeNote",
    dependencies=[Depends(installation_writer)],
    status_code=HTTPStatus.CREATED,
    response_description="The fact is on the disk",
    summary="Store a fact of the workspace",
    responses=may_answer(REFUSED, INVALID_INPUT, SECRET_REFUSED, TOO_LARGE),
)
async def store(
    memory: Workspace, wanted: Annotated[NewNote, Body(description="the fact")]
) -> StoredNoteShape:
    """There is no update: delete the old fact and store the new one."""
    receipt = await memory.store(wanted.text, tags=wanted.tags, scope=wanted.scope)
    return StoredNoteShape(
        memory=NoteShape.of(receipt.memory), pruned=[NoteShape.of(one) for one in receipt.pruned]
    )


@router.delete(
    "/memories/{memoryId}",  # noqa: FAST003 - NoteId takes it
    operation_id="deleteNote",
    dependencies=[Depends(installation_writer)],
    response_description="The fact is deleted",
    summary="Delete a fact of the workspace",
    responses=may_answer(NOT_FOUND),
)
async def delete(memory: Workspace, memory_id: NoteId) -> DeletedNoteShape:
    """The fact is deleted for good, and its id is never used again."""
    return DeletedNoteShape(id=(await memory.delete(memory_id)).id)


@router.get(
    "/context",
    operation_id="workspaceContext",
    dependencies=[Depends(installation_reader)],
    response_description="The block",
    summary="The block for a model call",
)
async def context(
    memory: Workspace,
    message: Annotated[str, Query(max_length=MAX_MESSAGE_CHARS, description="the last message of the user")],
) -> BlockShape:
    """The facts that match the last message, selected as `agent.json` says."""
    return BlockShape(text=await memory.context(message))
