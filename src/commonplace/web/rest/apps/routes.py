"""REST of app memory for operators, beyond the admin API of the specification. Source: APP-11, APP-12, APP-16."""

from typing import Annotated, Final, Literal

from fastapi import Body, Query

from commonplace.apps import DAY, AppStatus, Document, ImportReceipt
from commonplace.web.http.access import installation_admin, installation_reader
from commonplace.web.http.app_parameters import AppId, OpenAppMemory, UserId
from commonplace.web.http.paging import WantedPage
from commonplace.web.http.problems import (
    MODEL_UNAVAILABLE,
    NOT_FOUND,
    REFUSED,
    STORAGE_UNAVAILABLE,
    TOO_LARGE,
)
from commonplace.web.rest.api import Api
from commonplace.web.rest.apps.shapes import (
    AppShape,
    AppsShape,
    DigestsShape,
    EnergyShape,
    ExportShape,
    HitsShape,
    StatisticsShape,
)

MAX_QUERY_CHARS: Final = 1000
SOMETHING_TO_READ: Final = r"[^\s\x00]"

api = Api("/api/v1", "app memory")


@api("GET /apps", installation_reader, "The apps of the page")
async def list_apps(
    memory: OpenAppMemory,
    page: WantedPage,
    status: Annotated[AppStatus | None, Query(description="the status of the apps")] = None,
) -> AppsShape:
    """List the apps.

    Return apps by id, including uninstalled apps, with the number of their digests.
    """
    found = await memory.registry.list(status=status, limit=page.one_more, offset=page.offset)
    apps = [AppShape.of(one) for one in found]
    return page.envelope(AppsShape, "apps", apps, total=await memory.registry.count(status=status))


@api(
    "GET /apps/{appId}/search",
    installation_reader,
    "The results",
    NOT_FOUND,
    STORAGE_UNAVAILABLE,
    MODEL_UNAVAILABLE,
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
            description="`words`: digests that contain the words; `meaning`: digests with a similar meaning"
        ),
    ] = "words",
    user_id: UserId = None,
) -> HitsShape:
    """Search the digests of an app.

    Return the digests that a conversation of the app may see, best first: its own, and digests shared by other apps.
    """
    hits = await memory.search(app_id, query, by=by, user_id=user_id)
    return HitsShape.model_validate({"hits": hits})


@api("GET /apps/{appId}/export", installation_reader, "The document", NOT_FOUND)
async def export_memories(memory: OpenAppMemory, app_id: AppId) -> ExportShape:
    """Export the digests of an app.

    Return the digests of all users of the app as one document for an import.
    """
    return ExportShape.model_validate((await memory.export(app_id)).as_json())


@api(
    "POST /apps/{appId}/import",
    installation_admin,
    "The result for each digest",
    NOT_FOUND,
    REFUSED,
    TOO_LARGE,
)
async def import_memories(
    memory: OpenAppMemory,
    app_id: AppId,
    document: Annotated[Document, Body(description="a document from an export")],
) -> ImportReceipt:
    """Import digests into an app.

    Add the digests of a document from any app; existing digests stay unchanged.

    Digests that the app already has count as known, so an import can be repeated. A digest is refused, while the
    others are added, if its text, metadata or ids look like they contain a secret, if its metadata is too large, or if
    the app has ten digests already. Text that is too long for a digest is shortened.
    """
    return await memory.import_document(app_id, document.model_dump(mode="json", by_alias=True))


@api("GET /app-memory/statistics", installation_reader, "The statistics")
async def app_statistics(memory: OpenAppMemory) -> StatisticsShape:
    """Read the statistics of app memory.

    Return counts from the database, over all processes and restarts.
    """
    return StatisticsShape.of(await memory.figures.total())


@api("GET /app-memory/energy", installation_reader, "The energy")
async def app_energy(memory: OpenAppMemory) -> EnergyShape:
    """Read the energy of app memory.

    Return the level of the energy budget. At or below a fifth of its capacity, digests and compactions wait.
    """
    return EnergyShape.of(await memory.energy.status(), await memory.energy.spent(DAY))


@api("GET /app-memory/digests", installation_reader, "The digests of the page")
async def waiting_digests(memory: OpenAppMemory, page: WantedPage) -> DigestsShape:
    """List waiting digests.

    Return ended conversations without a digest, oldest first.
    """
    waiting = await memory.digests.waiting()
    found = waiting[page.offset : page.offset + page.one_more]
    return page.envelope(DigestsShape, "digests", found, total=len(waiting))
