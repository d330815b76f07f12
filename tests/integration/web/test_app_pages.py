"""The pages of app memory and the overview over HTTP: who may see and change what, files, errors."""

import json
import re
import time
from collections.abc import AsyncIterator

import pytest

from commonplace.core.settings import Settings
from support.apps import fill
from support.secured import STRANGER, Secured, secured

PAGE = {"accept": "text/html"}
PART = {**PAGE, "hx-request": "true"}
PAGES = ("/apps", "/apps/cal", "/apps/cal/context")
FORMS = ("/apps/-/new", "/apps/cal/uninstall", "/apps/cal/purge", "/apps/cal/import")


@pytest.fixture
async def service(settings: Settings) -> AsyncIterator[Secured]:
    """A service that asks for tokens, with an app that remembers two conversations."""
    async with secured(settings) as service:
        await service.memories.apps.registry.register("cal", name="Calendar")
        await fill(service.memories.apps, "cal", 2)
        yield service


@pytest.mark.parametrize("path", [*PAGES, *FORMS, "/show/a:1", "/show/a:1/edit", "/overview/health"])
async def test_no_page_has_styles_or_scripts_of_its_own(service: Secured, path: str) -> None:
    """So that the strictest policy holds: nothing but files of this service."""
    async with service.client("admin", **PAGE) as client:
        answer = await client.get(path)
    assert answer.status_code == 200
    for forbidden in ("style=", "<style", "<script>", "onclick=", "javascript:"):
        assert forbidden not in answer.text


@pytest.mark.requirement("APP-10.5")
async def test_nobody_sees_anything_without_a_token_of_the_installation(service: Secured) -> None:
    """Who brings none is led to the login; another tenant's token opens nothing."""
    async with service.client(None, **PAGE) as client:
        for path in PAGES:
            answer = await client.get(path)
            assert answer.status_code in {303, 401}
            assert "matter1" not in answer.text
    async with service.client(STRANGER, **PAGE) as client:
        for path in (*PAGES, "/apps/cal/export", "/overview/health"):
            answer = await client.get(path)
            assert answer.status_code == 403
            assert "matter1" not in answer.text


async def test_a_role_sees_the_changes_that_it_may_make(service: Secured) -> None:
    """A reader none, a writer deletes single ones, an admin does the rest; routes refuse what pages leave out."""
    offered = {"reader": (False, False), "writer": (True, False), "admin": (True, True)}
    for role, (deletes, purges) in offered.items():
        async with service.client(role, **PAGE) as client:
            page = (await client.get("/apps/cal")).text
            assert "matter1" in page
            assert ("/show/a:1/forget" in page, "/apps/cal/purge" in page) == (deletes, purges)
            assert ("Register an app" in (await client.get("/apps")).text) == purges
            assert (await client.get("/show/a:1/edit")).status_code == (200 if deletes else 403)
            for path in FORMS:
                assert (await client.get(path)).status_code == (200 if purges else 403)
    async with service.client("writer", **PAGE) as client:
        for path in ("/apps", "/apps/cal/uninstall", "/apps/cal/purge", "/apps/cal/import"):
            assert (await client.post(path, data={"app_id": "x"})).status_code == 403
    assert len(await service.memories.apps.list_memories("cal")) == 2


@pytest.mark.requirement("APP-16.3")
async def test_the_file_of_an_export(service: Secured) -> None:
    """It is a download under the app's name, kept by no cache, and the same as the API's."""
    async with service.client("reader", **PAGE) as client:
        answer = await client.get("/apps/cal/export")
    assert answer.headers["content-type"] == "application/json"
    assert "filename*=UTF-8''cal-memories.json" in answer.headers["content-disposition"]
    assert answer.headers["cache-control"] == "no-store"
    assert len(json.loads(answer.text)["memories"]) == 2


async def test_changes_without_scripts_and_under_ones_own_name(service: Secured) -> None:
    """A form that is posted leads back to the page; the history names who it was."""
    async with service.client("admin", **PAGE) as client:
        deleted = await client.post("/show/a:1/forget", headers={"referer": "http://127.0.0.1/apps/cal"})
        page = await client.get("/apps/cal")
        purged = await client.post("/apps/cal/purge")
        gone = await client.post("/apps/cal/uninstall", data={"purge": "yes"})
    assert (deleted.status_code, deleted.headers["location"]) == (303, "/apps/cal")
    assert "by the admin" in page.text
    assert purged.headers["location"] == "/apps/cal"
    assert gone.headers["location"] == "/apps"
    assert await service.memories.apps.registry.list() == []


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("/apps/none", 404, "no app with id"),
        ("/apps/a%20b", 404, "no app with id"),
        ("/show/a:99", 404, "no digest with id"),
        ("/apps/cal?by=magic", 422, "by"),
        ("/apps?offset=-1", 422, "offset"),
        ("/overview/none", 404, "no card with id"),
    ],
)
async def test_errors_are_pages_or_lines(service: Secured, path: str, status: int, words: str) -> None:
    """A page that cannot be shown says why; a part of one says it in a line of text."""
    async with service.client("admin", **PAGE) as client:
        page = await client.get(path)
        line = await client.get(path, headers=PART)
    assert (page.status_code, line.status_code) == (status, status)
    assert words in page.text
    assert page.text.startswith("<!doctype html>")
    assert words in line.text


async def test_a_list_that_became_shorter_shows_its_last_page(service: Secured) -> None:
    """An offset behind the end is no empty page."""
    async with service.client("reader", **PAGE) as client:
        for path in ("/apps?offset=500", "/apps/cal?offset=500", "/apps/cal?search=matter1&offset=500"):
            answer = await client.get(path, headers=PART)
            assert any(end in answer.text for end in ("1 of 1<", "2 of 2<"))


async def test_pages_come_at_once_with_many_memories(service: Secured) -> None:
    """Six hundred memories in the spaces of many users: each page within 200 ms of work."""
    apps = service.memories.apps
    await apps.registry.register("busy")
    moment = "2026-03-01T00:00:00Z"
    memories = [
        {
            "content": f"User {user} keeps matter {number}.",
            "userId": f"user-{user}",
            "createdAt": moment,
            "updatedAt": moment,
        }
        for user in range(60)
        for number in range(10)
    ]
    await apps.import_document("busy", {"memories": memories})
    async with service.client("admin", **PAGE) as client:
        for path in ("/apps", "/apps/busy", "/apps/busy?search=matter+7", "/"):
            times_s: list[float] = []
            for _ in range(5):
                began = time.process_time()
                answer = await client.get(path)
                times_s.append(time.process_time() - began)
                assert answer.status_code == 200
            assert min(times_s) < 0.2, (path, times_s)
        assert "50 of 600" in (await client.get("/apps/busy")).text
        user_page = (await client.get("/apps/busy?user=user-7")).text
    assert len(re.findall(r"User \d+ keeps matter \d\.</a>", user_page)) == 10
    assert "User 6 keeps" not in user_page
