"""The pages of app memory: which apps there are and how they use it, and what one app remembers (APP-12, APP-16)."""

import json
from typing import Annotated, Final, Literal
from urllib.parse import quote

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse, Response

from commonplace.apps.memories import MAX_MEMORIES, Memory
from commonplace.apps.memory import AppMemory
from commonplace.apps.names import MAX_ID_CHARS
from commonplace.apps.statistics import HOUR
from commonplace.apps.views import SpentEnergy
from commonplace.core.text import visible
from commonplace.web.access import OpenMemories, installation_reader
from commonplace.web.apps.rest.parameters import AppId
from commonplace.web.dashboard.errors import PageRoute
from commonplace.web.dashboard.paging import PAGE_SIZE, Offset, Pager, last_offset, page_at
from commonplace.web.dashboard.rendering import NOT_KEPT, render
from commonplace.web.dashboard.series import Series

PATH: Final = "/apps"
MAX_SEARCH_CHARS: Final = 200
CHANGES_SHOWN: Final = 10
USERS_OFFERED: Final = 200
"""How many users the page of an app offers to choose from; others can be typed."""

COMMON: Final = "common"
SPACES: Final = (("", "All"), (COMMON, "Common"))
WAYS: Final = (("", "By words"), ("meaning", "By meaning"))

Search = Annotated[str, Query(max_length=MAX_SEARCH_CHARS)]
User = Annotated[str, Query(max_length=MAX_ID_CHARS)]
SpaceName = Annotated[Literal["", "common"], Query()]
Way = Annotated[Literal["", "words", "meaning"], Query()]

router = APIRouter(
    prefix=PATH, route_class=PageRoute, include_in_schema=False, dependencies=[Depends(installation_reader)]
)


@router.get("")
async def apps_page(
    request: Request, memories: OpenMemories, search: Search = "", offset: Offset = 0
) -> HTMLResponse:
    """Show apps, how all of them use their memory, and which digests wait; to HTMX the part that lives."""
    apps, words = memories.apps, search.strip()
    page, offset = await page_at(lambda at: apps.views.apps(words=words, limit=PAGE_SIZE, offset=at), offset)
    return render(
        request,
        "apps/list.html",
        apps=page.apps,
        search=words,
        pager=Pager(path=PATH, query={"search": words}, offset=offset, total=page.total),
        statistics=await apps.statistics(),
        policy=apps.energy.policy,
        spent=_series(await apps.views.energy()),
        waiting=await apps.views.open_digests(),
        failed=await apps.views.failed_digests(),
        most=MAX_MEMORIES,
    )


@router.get("/{appId}")  # noqa: FAST003 - AppId takes it
async def app_page(
    request: Request,
    memories: OpenMemories,
    app_id: AppId,
    search: Search = "",
    by: Way = "",
    space: SpaceName = "",
    user: User = "",
    offset: Offset = 0,
) -> HTMLResponse:
    """Show what one app remembers, how it uses its memory, and what happened to it."""
    apps, views = memories.apps, memories.apps.views
    app, query, user = await apps.registry.get(app_id), search.strip(), user.strip()
    spaces = await views.spaces(app_id)
    found, total = await _found(apps, app_id, query, by=by, space=space, user=user, offset=offset)
    filters = {"search": query, "by": by, "space": space, "user": user}
    url = f"{PATH}/{app_id}"
    return render(
        request,
        "apps/one.html",
        app=app,
        url=url,
        memories=found,
        filters=filters,
        space_choices=SPACES,
        ways=WAYS,
        users=[visible(one.user_id) for one in spaces if one.user_id is not None][:USERS_OFFERED],
        count=sum(one.memories for one in spaces),
        pager=Pager(path=url, query=filters, offset=min(offset, last_offset(total)), total=total),
        shares=await views.shares(app_id),
        figures=await views.figures(app_id),
        spent=_series(await views.energy(app_id)),
        waiting=await views.open_digests(app_id),
        failed=await views.failed_digests(app_id),
        changes=await views.changes(app_id, limit=CHANGES_SHOWN),
        most=MAX_MEMORIES,
    )


@router.get("/{appId}/context")  # noqa: FAST003 - AppId takes it
async def context_page(
    request: Request, memories: OpenMemories, app_id: AppId, user: User = ""
) -> HTMLResponse:
    """Show the block that a conversation of an app is given, with what other apps share."""
    wanted = user.strip()
    context = await memories.apps.context(app_id, user_id=wanted or None)
    return render(
        request,
        "apps/context.html",
        app=await memories.apps.registry.get(app_id),
        user=wanted,
        context=context,
    )


@router.get("/{appId}/export")  # noqa: FAST003 - AppId takes it
async def export(memories: OpenMemories, app_id: AppId) -> Response:
    """Hand out an app's memories as a file, which an import takes (APP-16.3)."""
    document = json.dumps(await memories.apps.export(app_id), ensure_ascii=False, indent=2)
    named = f"attachment; filename=\"memories.json\"; filename*=UTF-8''{quote(app_id, safe='')}-memories.json"
    return Response(
        document, media_type="application/json", headers={"Content-Disposition": named, **NOT_KEPT}
    )


async def _found(
    apps: AppMemory, app_id: str, query: str, *, by: str, space: str, user: str, offset: int
) -> tuple[list[Memory], int]:
    """Return a page of what an app remembers, and how much its filters let through."""
    common, user_id = space == COMMON, user or None
    if query:
        found = await apps.views.find(
            app_id, query, by="meaning" if by == "meaning" else "words", common=common, user_id=user_id
        )
        offset = min(offset, last_offset(len(found)))
        return found[offset : offset + PAGE_SIZE], len(found)
    total = sum(
        one.memories
        for one in await apps.views.spaces(app_id)
        if (not common or one.user_id is None) and (user_id is None or one.user_id == user_id)
    )
    offset = min(offset, last_offset(total))
    held = await apps.views.memories(app_id, common=common, user_id=user_id, limit=PAGE_SIZE, offset=offset)
    return held, total


def _series(spent: SpentEnergy) -> Series:
    return Series(name="energy", moments=spent.hours, values=spent.units, span=HOUR)
