"""Workspace memory under ``/api/v1/workspace``."""

from http import HTTPStatus
from typing import Annotated, Final

from fastapi import Depends, Path, Query
from pydantic import Field

from commonplace.web.http.access import OpenMemories, installation_reader, installation_writer
from commonplace.web.http.paging import CountedPageShape, WantedPage
from commonplace.web.http.problems import NOT_FOUND, STATE_CONFLICT
from commonplace.web.http.shape import RequestShape, Shape, shows
from commonplace.web.rest.api import BODY, Api
from commonplace.workspace import (
    DeleteReceipt,
    Note,
    NoteScope,
    StoreReceipt,
    Tags,
    Text,
    WorkspaceMemory,
)

MAX_QUERY_CHARS: Final = 1000
MAX_MESSAGE_CHARS: Final = 10_000

api = Api("/api/v1/workspace", "workspace memory")


@shows(Note, without={"number"})
class NoteShape(Shape):
    """A note of the workspace.

    Attributes:
        scope: the subject of the note
        id: `m-` and a number; no id is used twice
    """

    id: str


class NotesShape(CountedPageShape):
    """A page of notes of the workspace, newest first."""

    memories: list[NoteShape]


@shows(StoreReceipt)
class StoredNoteShape(Shape):
    """A stored note.

    Attributes:
        pruned: the oldest notes, which were deleted to make room for it
        repeated: whether the note was there before; nothing was stored
        same: older notes that say the same in other words
        opposed: older notes that this one may contradict or not replace; each pair waits for a decision
        replaced: the note that this one replaced
    """

    memory: NoteShape
    pruned: list[NoteShape]
    same: list[NoteShape]
    opposed: list[NoteShape]
    replaced: NoteShape | None


@shows(DeleteReceipt, without={"deleted"})
class DeletedNoteShape(Shape):
    """A deleted note."""

    id: str


class BlockShape(Shape):
    """Text for a prompt.

    Attributes:
        text: empty if there is no note to show
    """

    text: str


class NewNote(RequestShape):
    """A note to store.

    Attributes:
        text: 1 to 500 characters
        tags: at most five
        scope: the subject of the note
        replaces: the id of the note that this one corrects
    """

    text: Text
    tags: Tags = Field(default_factory=list)
    scope: NoteScope = NoteScope.WORKSPACE
    replaces: Annotated[str | None, Field(max_length=100)] = None


async def workspace(memories: OpenMemories) -> WorkspaceMemory:
    """Return the workspace memory of the service."""
    return memories.workspace


Workspace = Annotated[WorkspaceMemory, Depends(workspace)]
NoteId = Annotated[str, Path(alias="memoryId", max_length=100, description="the id of a note, such as m-4")]


@api("GET /memories", installation_reader, "The notes found")
async def search_notes(
    memory: Workspace,
    page: WantedPage,
    query: Annotated[str | None, Query(max_length=MAX_QUERY_CHARS)] = None,
    tag: Annotated[str | None, Query(max_length=MAX_QUERY_CHARS)] = None,
) -> NotesShape:
    """Find notes of the workspace.

    If query and tag are given, both must match; with neither, all notes are found.

    Parameters:
        query: text that the note contains, searched as one piece
        tag: a complete tag of the note
    """
    found = (await memory.search(query, tag=tag, limit=None)).memories
    return page.envelope(NotesShape, "memories", found[page.offset :], total=len(found))


@api(
    "POST /memories",
    installation_writer,
    "The note is stored",
    STATE_CONFLICT,
    NOT_FOUND,
    *BODY,
    status=HTTPStatus.CREATED,
)
async def store_note(memory: Workspace, wanted: NewNote) -> StoreReceipt:
    """Store a note of the workspace.

    A note that is there already is returned as it is. To correct a note, name its id in `replaces`.

    Parameters:
        body: the note
    """
    return await memory.store(**wanted.model_dump())


@api("DELETE /memories/{memoryId}", installation_writer, "The note is deleted", NOT_FOUND)
async def delete_note(memory: Workspace, memory_id: NoteId) -> DeleteReceipt:
    """Delete a note of the workspace.

    The note is deleted for good, and its id is never used again.
    """
    return await memory.delete(memory_id)


@api("GET /context", installation_reader, "The block")
async def workspace_context(
    memory: Workspace, message: Annotated[str, Query(max_length=MAX_MESSAGE_CHARS)]
) -> BlockShape:
    """Read the block for a model call.

    The block has the notes that match the last message, within the limits of `agent.json`.

    Parameters:
        message: the last message of the user
    """
    return BlockShape(text=await memory.context(message))
