"""What a person sees of sync on the dashboard and over REST, in each state of a home."""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from commonplace.core.settings import Settings
from commonplace.services.erasure.selection import By, Selection
from commonplace.services.sync.erasing import erase_everywhere
from commonplace.services.sync.home import SyncedHome
from support.dashboards import Dashboard
from support.database_stock import DatabaseStock
from support.deadlines import DEADLINE_S
from support.secured import STRANGER, Secured, secured
from support.synced_homes import DESKTOP, LAPTOP, PASSPHRASE, SyncedPair, synced_pair

pytestmark = pytest.mark.requirement("SYN-13.1")

PAGE = {"accept": "text/html"}
ON_PAGE = {"hx-request": "true", "hx-current-url": "/devices"}
"""The headers of a form on the page."""
STATUS = "/api/v1/sync/status"


@pytest.fixture
async def client(dashboard: Dashboard) -> AsyncIterator[httpx2.AsyncClient]:
    """A program on the machine of the service."""
    async with httpx2.AsyncClient(base_url=dashboard.url, timeout=DEADLINE_S) as client:
        yield client


@pytest.fixture
async def pair(
    dashboard: Dashboard, knowledge_databases: DatabaseStock, tmp_path: Path
) -> AsyncIterator[SyncedPair]:
    """The home of the service, and another one that joined it."""
    async with synced_pair(dashboard.memories, knowledge_databases, tmp_path) as pair:
        yield pair


async def page_of(client: httpx2.AsyncClient, path: str = "/devices") -> str:
    """Return the words of a page."""
    page = (await client.get(path, headers=PAGE)).text
    main = page[page.index("<main") :] if "<main" in page else page
    return " ".join(re.sub(r"<[^>]*>", " ", main).split())


async def status_of(client: httpx2.AsyncClient) -> dict[str, Any]:
    """Return the state of sync over REST."""
    answer = await client.get(STATUS)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_a_home_that_does_not_sync_says_how_to_begin(client: httpx2.AsyncClient) -> None:
    """In two sentences and two commands; asking for a sync says the same."""
    page = await page_of(client)
    assert "This home does not sync" in page
    assert "commonplace sync init" in page
    assert "commonplace sync join" in page
    assert "Sync now" not in page
    status = await status_of(client)
    assert (status["isSynced"], status["target"], status["devices"]) == (False, None, [])
    answer = await client.post("/devices/sync", headers=ON_PAGE)
    assert "does not sync" in answer.headers["hx-trigger"]


async def test_two_devices_that_synced(client: httpx2.AsyncClient, pair: SyncedPair) -> None:
    """The button brings what the other device learned, and says so; both devices are listed."""
    await pair.store_port(pair.other, 8096)
    await pair.sync_other()
    before = await page_of(client)
    assert "Last sync none yet" in before
    assert "commonplace sync revoke DEVICE" in before
    answer = await client.post("/devices/sync", headers=ON_PAGE)
    assert "1 change of other devices, 1 memory changed here" in answer.headers["hx-trigger"]
    assert await pair.own.knowledge.search("Jellyfin")

    page = await page_of(client)
    for words in (
        LAPTOP,
        "this device",
        DESKTOP,
        str(pair.folder),
        "Last seen",
        "does not ask the target",
    ):
        assert words in page
    assert "1 change of other devices, 1 memory changed here" in page
    status = await status_of(client)
    laptop, desktop = status["devices"]
    assert (laptop["name"], laptop["isThis"], laptop["state"]) == (LAPTOP, True, "syncs")
    assert (desktop["name"], desktop["isThis"], desktop["filesMissing"]) == (DESKTOP, False, 0)
    assert desktop["files"] > 0
    assert desktop["seenAt"] is not None
    assert (status["unsentChanges"], status["unsentFiles"], status["unwrittenMemories"]) == (0, 0, 0)
    assert (status["conflicts"], status["failure"], status["erasures"]) == (0, None, [])
    assert status["syncedAt"] == laptop["seenAt"]


async def test_a_target_that_cannot_be_reached(
    client: httpx2.AsyncClient, dashboard: Dashboard, pair: SyncedPair
) -> None:
    """The error stays until a sync works, changes wait meanwhile, and after a day the overview says it."""
    await pair.sync()
    await pair.store_port(pair.own, 8096)
    pair.block()
    answer = await client.post("/devices/sync", headers=ON_PAGE)
    assert "Not synced: the folder" in answer.headers["hx-trigger"]
    failed_at = dashboard.clock.now
    page = await page_of(client)
    for words in ("Every sync has failed since", "cannot be used", "Changes to send 1"):
        assert words in page
    assert "Every sync has failed" not in await page_of(client, "/overview/health")

    dashboard.clock.advance(days=1, minutes=1)
    with pytest.raises(Exception, match="cannot be used"):
        await pair.sync()
    health = await page_of(client, "/overview/health")
    assert "Every sync has failed since" in health
    status = await status_of(client)
    assert status["failure"]["since"] == failed_at.isoformat().replace("+00:00", "Z")
    assert str(pair.folder) in status["failure"]["error"]
    assert status["unsentChanges"] == 1

    pair.unblock()
    await pair.sync()
    status = await status_of(client)
    assert (status["failure"], status["unsentChanges"]) == (None, 0)
    assert "Every sync has failed" not in await page_of(client, "/overview/health")
    assert "Every sync has failed" not in await page_of(client)


async def test_a_device_that_was_revoked(client: httpx2.AsyncClient, pair: SyncedPair) -> None:
    """It stays in the list, with its state; the revoked one sees why it does not sync."""
    await pair.sync_other()
    await pair.sync()
    async with SyncedHome.open(pair.settings) as home:
        await home.revoke(DESKTOP, passphrase=f"{PASSPHRASE} again")
    status = await status_of(client)
    assert [each["state"] for each in status["devices"]] == ["syncs", "revoked"]
    assert re.search(rf"{DESKTOP} \w+ revoked", await page_of(client))
    with pytest.raises(Exception, match="revoked"):
        await pair.sync_other()
    async with SyncedHome.open(pair.other.knowledge.database.settings) as home:
        failure = home.status().failure
    assert failure is not None
    assert "revoked" in failure.error


async def test_a_fact_that_two_devices_changed(client: httpx2.AsyncClient, pair: SyncedPair) -> None:
    """It is counted on the page, over REST and in the warnings, until a person has decided."""
    await pair.store_port(pair.own, 8096)
    await pair.store_port(pair.other, 8920)
    await pair.sync()
    await pair.sync_other()
    await pair.sync()
    assert (await status_of(client))["conflicts"] == 1
    assert "Conflicts to review 1" in await page_of(client)
    warnings = (await client.get("/api/v1/health")).json()["warnings"]
    assert "1 fact that two devices changed waits for your decision." in [each["text"] for each in warnings]
    (held,) = [
        each for each in (await client.get("/api/v1/reviews")).json()["items"] if each["topic"] == "held"
    ]
    decided = await client.post(f"/api/v1/reviews/{held['id']}", json={"verdict": "forget"})
    assert decided.status_code == 200, decided.text
    assert (await status_of(client))["conflicts"] == 0


async def test_an_erasure_that_a_device_has_not_done(client: httpx2.AsyncClient, pair: SyncedPair) -> None:
    """The page names the device until it has synced."""
    await pair.store_port(pair.own, 8096)
    for sync in (pair.sync, pair.sync_other, pair.sync):
        await sync()
    await erase_everywhere(pair.settings, Selection(by=By.SUBJECT, value="Jellyfin"))
    for sync in (pair.sync, pair.sync):
        await sync()
    assert f"still on {DESKTOP}" in await page_of(client)
    status = await status_of(client)
    (erasure,) = status["erasures"]
    (desktop,) = [each["id"] for each in status["devices"] if each["name"] == DESKTOP]
    assert erasure["waiting"] == [desktop]
    for sync in (pair.sync_other, pair.sync, pair.sync_other, pair.sync):
        await sync()
    assert "All devices have done 1 erasure." in await page_of(client)
    assert [each["waiting"] for each in (await status_of(client))["erasures"]] == [[]]


async def test_the_history_names_the_device(client: httpx2.AsyncClient, pair: SyncedPair) -> None:
    """The audit log says the device of a change in words, and finds its changes by these words."""
    key = await pair.store_port(pair.other, 8096)
    await pair.store_port(pair.own, 8920)
    await pair.sync_other()
    await pair.sync()
    page = await page_of(client, f"/knowledge/events?memory={key}")
    assert f"device {DESKTOP}" in page
    assert f"sync:{DESKTOP}" not in page
    for words in (f"device {DESKTOP}", f"sync:{DESKTOP}"):
        found = await client.get("/knowledge/events", params={"actor": words}, headers=PAGE)
        assert str(key) in found.text
        assert f'value="device {DESKTOP}"' in found.text


async def test_who_sees_the_devices(settings: Settings, knowledge_url: str) -> None:
    """Readers of the installation see them, writers may sync, and other tenants see nothing."""
    here = settings.model_copy(update={"postgres_url": knowledge_url})
    async with secured(here) as service:
        assert await _answers(service, "reader") == (200, 200, 403)
        assert await _answers(service, "writer") == (200, 200, 303)
        assert await _answers(service, STRANGER) == (403, 403, 403)


async def _answers(service: Secured, who: str) -> tuple[int, ...]:
    async with service.client(who, **PAGE) as client:
        answers = [await client.get("/devices"), await client.get(STATUS), await client.post("/devices/sync")]
    return tuple(each.status_code for each in answers)
