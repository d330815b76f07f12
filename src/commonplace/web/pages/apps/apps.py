"""Pages of app memory: the list of apps, and one app with its memories (APP-12, APP-16)."""

import json
from typing import Annotated, Final, Literal
from urllib.parse import quote

from fastapi import Query, Request
from fastapi.responses import HTMLResponse, Response
from pydantic import Field

from commonplace.apps import HOUR, MAX_ID_CHARS, MAX_MEMORIES, AppMemory, Digest, SpentEnergy
from commonplace.core.text import visible
from commonplace.web.http.access import OpenMemories, installation_reader
from commonplace.web.http.app_parameters import AppId
from commonplace.web.http.limits import SearchWords
from commonplace.web.pages.layout.errors import pages
from commonplace.web.pages.layout.paging import PAGE_SIZE, ListFilters, Pager, counted_pager, read_page
from commonplace.web.pages.layout.rendering import NOT_KEPT, link, render
from commonplace.web.pages.layout.series import Series

PATH: Final = "/apps"
CHANGES_SHOWN: Final = 10
USERS_OFFERED: Final = 200
"""The number of users that the page of an app suggests; others can be typed."""

COMMON: Final = "common"
SPACES: Final = (("", "Any"), (COMMON, "Common"))
WAYS: Final = (("", "Words"), ("meaning", "Meaning"))

User = Annotated[str, Query(max_length=MAX_ID_CHARS)]

router = pages(PATH, installation_reader)


class AppFilters(ListFilters):
    """The filters of the list of apps."""

    words: SearchWords = Field(default="", alias="search")


@router.get("")
async def apps_page(
    request: Request, memories: OpenMemories, wanted: Annotated[AppFilters, Query()]
) -> HTMLResponse:
    """Show apps, statistics and waiting digests; HTMX gets only the refreshing part."""
    apps = memories.apps
    page, pager = await read_page(request, wanted, apps.figures.apps)
    return render(
        request,
        "apps/list.html",
        apps=page.apps,
        pager=pager,
        statistics=await apps.figures.total(),
        policy=apps.energy.policy,
        spent=_series(await apps.figures.energy_by_hour()),
        waiting=await apps.digests.open(),
        failed=await apps.digests.failed(),
        most=MAX_MEMORIES,
    )


class DigestFilters(ListFilters):
    """The filters of the memories of an app."""

    search: SearchWords = ""
    by: Literal["", "words", "meaning"] = ""
    space: Literal["", "common"] = ""
    user: User = ""


@router.get("/{appId}")
async def app_page(
    request: Request, memories: OpenMemories, app_id: AppId, wanted: Annotated[DigestFilters, Query()]
) -> HTMLResponse:
    """Show the memories, statistics and recent changes of one app."""
    apps = memories.apps
    app, spaces = await apps.registry.get(app_id), await apps.spaces.list(app_id)
    url = f"{PATH}/{app_id}"
    found, pager = await _found(apps, app_id, url, wanted)
    return render(
        request,
        "apps/one.html",
        app=app,
        url=url,
        memories=found,
        filters=pager.query,
        space_choices=SPACES,
        ways=WAYS,
        users=[visible(one.user_id) for one in spaces if one.user_id is not None][:USERS_OFFERED],
        count=sum(one.memories for one in spaces),
        pager=pager,
        shares=await apps.shares.of_app(app_id),
        figures=await apps.figures.of_app(app_id),
        spent=_series(await apps.figures.energy_by_hour(app_id)),
        waiting=await apps.digests.open(app_id),
        failed=await apps.digests.failed(app_id),
        changes=await apps.changes.list(app_id, limit=CHANGES_SHOWN),
        most=MAX_MEMORIES,
        conversation_url=conversation_url,
    )


@router.get("/{appId}/context")
async def context_page(
    request: Request, memories: OpenMemories, app_id: AppId, user: User = ""
) -> HTMLResponse:
    """Show the context of a conversation of an app, with memories that other apps share."""
    wanted = user.strip()
    context = await memories.apps.context(app_id, user_id=wanted or None)
    return render(
        request,
        "apps/context.html",
        app=await memories.apps.registry.get(app_id),
        user=wanted,
        context=context,
    )


@router.get("/{appId}/conversation")
async def conversation_page(
    request: Request, memories: OpenMemories, app_id: AppId, conversation: User
) -> HTMLResponse:
    """Show the messages of a conversation and the digests made from it."""
    found = await memories.apps.conversations.get(conversation, app_id=app_id)
    digests = await memories.apps.list_memories(app_id)
    return render(
        request,
        "apps/conversation.html",
        app=await memories.apps.registry.get(app_id),
        conversation=found,
        messages=await memories.apps.conversations.messages(conversation),
        digests=[one for one in digests if one.source_conversation_id == conversation],
    )


def conversation_url(app_id: str, conversation_id: str) -> str:
    """Return the address of the page of a conversation."""
    return link(f"{PATH}/{app_id}/conversation", conversation=conversation_id)


@router.get("/{appId}/export")
async def export(memories: OpenMemories, app_id: AppId) -> Response:
    """Return the memories of an app as a file for an import (APP-16.3)."""
    document = json.dumps((await memories.apps.export(app_id)).as_json(), ensure_ascii=False, indent=2)
    named = f"attachment; filename=\"memories.json\"; filename*=UTF-8''{quote(app_id, safe='')}-memories.json"
    return Response(
        document, media_type="application/json", headers={"Content-Disposition": named, **NOT_KEPT}
    )


async def _found(apps: AppMemory, app_id: str, url: str, wanted: DigestFilters) -> tuple[list[Digest], Pager]:
    """Return a page of the memories of an app that match the filters."""
    common, user_id = wanted.space == COMMON, wanted.user or None
    if wanted.search:
        by = wanted.by or "words"
        found = await apps.spaces.search(app_id, wanted.search, by=by, common=common, user_id=user_id)
        pager = counted_pager(url, wanted.query, offset=wanted.offset, total=len(found))
        return found[pager.offset : pager.offset + PAGE_SIZE], pager
    total = sum(
        one.memories
        for one in await apps.spaces.list(app_id)
        if (not common or one.user_id is None) and (user_id is None or one.user_id == user_id)
    )
    pager = counted_pager(url, wanted.query, offset=wanted.offset, total=total)
    return await apps.spaces.memories(
        app_id, common=common, user_id=user_id, limit=PAGE_SIZE, offset=pager.offset
    ), pager


def _series(spent: SpentEnergy) -> Series:
    return Series(name="energy", moments=spent.hours, values=spent.units, span=HOUR)
