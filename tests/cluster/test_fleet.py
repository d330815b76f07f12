"""Three services and two workers behind HAProxy, on one database behind PgBouncer."""

import asyncio
import itertools
import logging
import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import pytest

from commonplace.access import Role, Tokens
from commonplace.core.settings import Settings
from commonplace.storage.embedded import Membership
from support.fleet import Fleet, haproxy, running_fleet
from support.load import CREATED, OK, Load, ready_load, stored, under
from support.pooler import pooled_url, pooler
from support.postgres import fresh_database

log = logging.getLogger(__name__)
pytestmark = pytest.mark.cluster

KILLS: Final = 8
BETWEEN_KILLS_S: Final = 3.0


@pytest.fixture
async def url(embedded_cluster: Membership, knowledge_template: str) -> AsyncIterator[str]:
    """The URL of an empty database behind PgBouncer, which pools by transaction."""
    async with fresh_database(embedded_cluster, template=knowledge_template) as direct:
        with pooler(embedded_cluster.sockets, mode="transaction", size=12) as port:
            yield pooled_url(port, urlsplit(direct).path.lstrip("/"))


@pytest.fixture
async def fleet(url: str, tmp_path: Path) -> AsyncIterator[tuple[Fleet, Load]]:
    """A fleet behind HAProxy, and a load on it that begins with the test."""
    settings = Settings(home=tmp_path, database=url, postgres_url=url)
    async with Tokens.open(settings) as tokens:
        token = await tokens.create(role=Role.ADMIN, name="load")
    variables = {"COMMONPLACE_POSTGRES_URL": url, "COMMONPLACE_DATABASE": url}
    with running_fleet(tmp_path, variables) as running, haproxy(running.ports, tmp_path) as port:
        async with ready_load(running, port, token.secret) as load:
            yield running, load


async def test_killed_processes_lose_nothing(fleet: tuple[Fleet, Load], url: str) -> None:
    """Acknowledged texts are stored, each once; only requests that a killed process was answering fail."""
    running, load = fleet
    killed: list[tuple[float, float]] = []  # the kill, and the moment when the process was gone
    async with under(load):
        for name in itertools.islice(itertools.cycle(running.names), KILLS):
            await asyncio.sleep(BETWEEN_KILLS_S)
            began = time.monotonic()
            await asyncio.to_thread(running.end, name, signal.SIGKILL)
            killed.append((began, time.monotonic()))
            await asyncio.to_thread(running.start, name)
    found = await stored(url)
    failed = load.failed()
    log.warning(
        "%d acknowledged, %d requests, %d failed, %d kills",
        load.count(),
        len(load.tries),
        len(failed),
        KILLS,
    )
    for memory, texts in load.acknowledged.items():
        assert set(texts) <= set(found[memory])
    assert {count for texts in found.values() for count in texts.values()} == {1}
    for each in failed:
        assert any(each.began <= gone and kill <= each.ended for kill, gone in killed), (each, killed)


async def test_a_rolling_restart_fails_no_request(fleet: tuple[Fleet, Load], url: str) -> None:
    """Each process is told to stop; it answers what it has begun, and HAProxy turns to the others."""
    running, load = fleet
    async with under(load):
        for name in running.names:
            await asyncio.to_thread(running.end, name, signal.SIGTERM)
            await asyncio.to_thread(running.start, name)
    log.warning("%d acknowledged, %d requests", load.count(), len(load.tries))
    assert {each.status for each in load.tries} == {OK, CREATED}
    found = await stored(url)
    assert {name: sorted(texts.elements()) for name, texts in found.items()} == {
        name: sorted(texts) for name, texts in load.acknowledged.items()
    }
    assert {process.poll() for process in running.processes.values()} == {None}
