"""What operators ask of app memory beyond its specification's admin API. Source: APP-11, APP-12, APP-16."""

from typing import Annotated, Final, Literal

from fastapi import APIRouter, Body, Depends, Query

from commonplace.apps.exchange import Document
from commonplace.apps.registry import AppStatus
from commonplace.apps.statistics import DAY
from commonplace.web.access import installation_admin, installation_reader
from commonplace.web.apps.rest.parameters import AppId, OpenAppMemory, UserId
from commonplace.web.apps.rest.shapes import (
    AppShape,
    AppsShape,
    DigestsShape,
    EnergyShape,
    ExportShape,
    HitsShape,
    ImportShape,
    StatisticsShape,
)
from commonplace.web.paging import WantedPage
from commonplace.web.problems import (
    INVALID_INPUT,
    MODEL_UNAVAILABLE,
    NOT_FOUND,
    REFUSED,
    STORAGE_UNAVAILABLE,
    TOO_LARGE,
    may_answer,
)

MAX_QUERY_CHARS: Final = 1000
SOMETHING_TO_READ: Final = r"[^\s\x00]"

router = APIRouter(prefix="/api/v1", tags=["app memory"])


@router.get(
    "/apps",
    operation_id="listApps",
    dependencies=[Depends(installation_reader)],
    response_description="The apps of the page",
    summary="List the apps",
    responses=may_answer(INVALID_INPUT),
)
async def list_apps(
    memory: OpenAppMemory,
    page: WantedPage,
    status: Annotated[AppStatus | None, Query(description="only those of this status")] = None,
) -> AppsShape:
    """Apps by id, uninstalled ones too, with the number of their memories; a page at a time."""
    found = await memory.registry.list_apps(status=status, limit=page.one_more, offset=page.offset)
    apps = [AppShape.of(one) for one in found]
    return page.envelope(AppsShape, "apps", apps, total=await memory.registry.count_apps(status=status))


@router.get(
    "/apps/{appId}/search",  # noqa: FAST003 - AppId takes it
    operation_id="searchMemories",
    dependencies=[Depends(installation_reader)],
    response_description="What was found",
    summary="Find among the memories of an app",
    responses=may_answer(NOT_FOUND, INVALID_INPUT, STORAGE_UNAVAILABLE, MODEL_UNAVAILABLE),
)
async def search_memories(
    memory: OpenAppMemory,
    app_id: AppId,
    query: Annotated[
        str,
        Query(
            max_length=MAX_QUERY_CHARS, pattern=SOMETHING_TO_READ, description="what to look for, in words"
        ),
    ],
    by: Annotated[
        Literal["words", "meaning"],
        Query(
            description="`words`: memories that hold them; `meaning`: memories that are near in what they say"
        ),
    ] = "words",
    user_id: UserId = None,
) -> HitsShape:
    """What a conversation of the app could be shown, best first: its memories, and those that others share with it."""
    hits = await memory.search(app_id, query, by=by, user_id=user_id)
    return HitsShape.model_validate({"hits": hits})


@router.get(
    "/apps/{appId}/export",  # noqa: FAST003 - AppId takes it
    operation_id="exportMemories",
    dependencies=[Depends(installation_reader)],
    response_description="The document",
    summary="Take out the memories of an app",
    responses=may_answer(NOT_FOUND, INVALID_INPUT),
)
async def export_memories(memory: OpenAppMemory, app_id: AppId) -> ExportShape:
    """All memories of the app, of every user, as one document that an import takes."""
    return ExportShape.model_validate(await memory.export(app_id))


@router.post(
    "/apps/{appId}/import",  # noqa: FAST003 - AppId takes it
    operation_id="importMemories",
    dependencies=[Depends(installation_admin)],
    response_description="What became of each memory",
    summary="Take memories into an app",
    responses=may_answer(REFUSED, NOT_FOUND, INVALID_INPUT, TOO_LARGE),
)
async def import_memories(
    memory: OpenAppMemory,
    app_id: AppId,
    document: Annotated[Document, Body(description="a document as an export gives it")],
) -> ImportShape:
    """Add the memories of a document to an app, whichever app they come from; nothing that is there changes.

    Those that the app has already count as known, so that an import may be repeated. A memory that looks like it
    holds a secret, in its text, metadata or ids, has too much metadata, or finds the app's ten places taken, is refused
    by itself; the others are added. Text that is too long for a memory is shortened.
    """
    return ImportShape.of(
        await memory.import_document(app_id, document.model_dump(mode="json", by_alias=True))
    )


@router.get(
    "/app-memory/statistics",
    operation_id="appStatistics",
    dependencies=[Depends(installation_reader)],
    response_description="The figures",
    summary="How app memory is used",
)
async def statistics(memory: OpenAppMemory) -> StatisticsShape:
    """Figures of the database, over all processes and restarts."""
    return StatisticsShape.of(await memory.statistics())


@router.get(
    "/app-memory/energy",
    operation_id="appEnergy",
    dependencies=[Depends(installation_reader)],
    response_description="The budget",
    summary="The energy that digests are paid from",
)
async def energy(memory: OpenAppMemory) -> EnergyShape:
    """The level of the budget. At or below a fifth of its capacity, digests and compactions wait."""
    return EnergyShape.of(await memory.energy.status(), await memory.energy.spent(DAY))


@router.get(
    "/app-memory/digests",
    operation_id="waitingDigests",
    dependencies=[Depends(installation_reader)],
    response_description="The digests of the page",
    summary="List the digests that wait",
    responses=may_answer(INVALID_INPUT),
)
async def waiting_digests(memory: OpenAppMemory, page: WantedPage) -> DigestsShape:
    """Conversations that have ended and whose memory is still to be made, the longest waiting first."""
    waiting = await memory.waiting_digests()
    found = waiting[page.offset : page.offset + page.one_more]
    return page.envelope(DigestsShape, "digests", found, total=len(waiting))
