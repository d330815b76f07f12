"""REST of app memory for operators, beyond the admin API of the specification. Source: APP-11, APP-12, APP-16."""

from typing import Annotated, Final, Literal

from fastapi import APIRouter, Body, Depends, Query

from commonplace.apps import DAY, AppStatus, Document
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
    status: Annotated[AppStatus | None, Query(description="the status of the apps")] = None,
) -> AppsShape:
    """Return apps by id, including uninstalled apps, with the number of their memories."""
    found = await memory.registry.list_apps(status=status, limit=page.one_more, offset=page.offset)
    apps = [AppShape.of(one) for one in found]
    return page.envelope(AppsShape, "apps", apps, total=await memory.registry.count_apps(status=status))


@router.get(
    "/apps/{appId}/search",  # noqa: FAST003 - AppId takes it
    operation_id="searchMemories",
    dependencies=[Depends(installation_reader)],
    response_description="The results",
    summary="Search the memories of an app",
    responses=may_answer(NOT_FOUND, INVALID_INPUT, STORAGE_UNAVAILABLE, MODEL_UNAVAILABLE),
)
async def search_memories(
    memory: OpenAppMemory,
    app_id: AppId,
    query: Annotated[
        str,
        Query(max_length=MAX_QUERY_CHARS, pattern=SOMETHING_TO_READ, description="the words to search for"),
    ],
    by: Annotated[
        Literal["words", "meaning"],
        Query(
            description="`words`: memories that contain the words; `meaning`: memories with a similar meaning"
        ),
    ] = "words",
    user_id: UserId = None,
) -> HitsShape:
    """Return memories that a conversation of the app may see, best first: its own and those that other apps share."""
    hits = await memory.search(app_id, query, by=by, user_id=user_id)
    return HitsShape.model_validate({"hits": hits})


@router.get(
    "/apps/{appId}/export",  # noqa: FAST003 - AppId takes it
    operation_id="exportMemories",
    dependencies=[Depends(installation_reader)],
    response_description="The document",
    summary="Export the memories of an app",
    responses=may_answer(NOT_FOUND, INVALID_INPUT),
)
async def export_memories(memory: OpenAppMemory, app_id: AppId) -> ExportShape:
    """Return all memories of the app, of every user, as one document for an import."""
    return ExportShape.model_validate((await memory.export(app_id)).as_json())


@router.post(
    "/apps/{appId}/import",  # noqa: FAST003 - AppId takes it
    operation_id="importMemories",
    dependencies=[Depends(installation_admin)],
    response_description="The result for each memory",
    summary="Import memories into an app",
    responses=may_answer(REFUSED, NOT_FOUND, INVALID_INPUT, TOO_LARGE),
)
async def import_memories(
    memory: OpenAppMemory,
    app_id: AppId,
    document: Annotated[Document, Body(description="a document from an export")],
) -> ImportShape:
    """Add the memories of a document, from any app, to an app; existing memories stay as they are.

    Memories that the app already has count as known, so an import can be repeated. A memory is refused, and the others
    are added, if its text, metadata or ids look like they contain a secret, if its metadata is too large, or if the app
    has ten memories already. Text that is too long for a memory is shortened.
    """
    return ImportShape.of(
        await memory.import_document(app_id, document.model_dump(mode="json", by_alias=True))
    )


@router.get(
    "/app-memory/statistics",
    operation_id="appStatistics",
    dependencies=[Depends(installation_reader)],
    response_description="The statistics",
    summary="Read the statistics of app memory",
)
async def statistics(memory: OpenAppMemory) -> StatisticsShape:
    """Return counts from the database, across all processes and restarts."""
    return StatisticsShape.of(await memory.statistics())


@router.get(
    "/app-memory/energy",
    operation_id="appEnergy",
    dependencies=[Depends(installation_reader)],
    response_description="The energy",
    summary="Read the energy of app memory",
)
async def energy(memory: OpenAppMemory) -> EnergyShape:
    """Return the level of the energy budget. At or below a fifth of its capacity, digests and compactions wait."""
    return EnergyShape.of(await memory.energy.status(), await memory.energy.spent(DAY))


@router.get(
    "/app-memory/digests",
    operation_id="waitingDigests",
    dependencies=[Depends(installation_reader)],
    response_description="The digests of the page",
    summary="List waiting digests",
    responses=may_answer(INVALID_INPUT),
)
async def waiting_digests(memory: OpenAppMemory, page: WantedPage) -> DigestsShape:
    """Return ended conversations without a digest, oldest first."""
    waiting = await memory.waiting_digests()
    found = waiting[page.offset : page.offset + page.one_more]
    return page.envelope(DigestsShape, "digests", found, total=len(waiting))
