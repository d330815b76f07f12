"""Three PostgreSQL servers under Patroni: the machine of the primary is lost under load, and comes back."""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import asyncpg
import pytest

from commonplace.access import Role, Tokens
from commonplace.core.settings import Settings
from support.consolidation import NOTHING
from support.fleet import haproxy, running_fleet
from support.limits import require_within
from support.load import Load, ready_load, rows, stored, under
from support.model_api import ModelApi, Says, Waits
from support.patroni import SUPERUSER, Trio, trio
from support.pooler import pooled_url, pooler
from support.workers import until

log = logging.getLogger(__name__)
pytestmark = [pytest.mark.cluster, pytest.mark.allow_hosts(["127.0.0.1", "127.0.0.2", "127.0.0.3"])]

PASSWORD: Final = "change-me"
AFTER_PATRONI_S: Final = 2.0
"""How long after Patroni's failover writes may fail: HAProxy and PgBouncer have to find the primary."""

ROLES: Final = ["primary", "replica", "sync_standby"]
CONSOLIDATING: Final = {
    "COMMONPLACE_MODEL": "ollama:scripted",
    "COMMONPLACE_MODEL_TIMEOUT_S": "300",
    "COMMONPLACE_CONSOLIDATION_CRON": "* * * * *",
}
APPLIED: Final = "SELECT id FROM consolidation_runs WHERE state = 'applied' AND ended_at > $1"
CONSOLIDATED_TWICE: Final = """
SELECT episode_id FROM consolidation_runs, unnest(episode_ids) AS episode_id WHERE state = 'applied'
GROUP BY episode_id HAVING count(*) > 1
"""


async def make_database(servers: Trio) -> None:
    """Make the role and the database of the memories, as the handbook says."""
    for database, statements in {
        "postgres": (
            f"CREATE ROLE commonplace LOGIN PASSWORD '{PASSWORD}'",
            "CREATE DATABASE memory OWNER commonplace",
        ),
        "memory": ("CREATE EXTENSION vector",),
    }.items():
        connection = await asyncpg.connect(f"postgresql://{SUPERUSER}@127.0.0.1:{servers.port}/{database}")
        for statement in statements:
            await connection.execute(statement)
        await connection.close()


@asynccontextmanager
async def loaded(directory: Path, url: str, **variables: str) -> AsyncIterator[Load]:
    """Run three services and two workers on a database, behind HAProxy; yield a load on them."""
    async with Tokens.open(Settings(home=directory, database=url, postgres_url=url)) as tokens:
        token = await tokens.create(role=Role.ADMIN, name="load")
    variables |= {"COMMONPLACE_POSTGRES_URL": url, "COMMONPLACE_DATABASE": url}
    with running_fleet(directory, variables) as fleet, haproxy(fleet.ports, directory) as port:
        async with ready_load(fleet, port, token.secret) as load:
            yield load


async def have_all_roles(servers: Trio) -> bool:
    """Return whether there are a primary, a replica that it waits for, and one more."""
    roles = await asyncio.to_thread(lambda: [each.role() for each in servers.machines])
    return sorted(roles) == ROLES


async def failover(servers: Trio, after: datetime) -> datetime:
    """Return when Patroni's failover ended, as it reports itself."""
    ended: list[datetime] = []

    async def is_over() -> bool:
        ended.extend(at for at in await asyncio.to_thread(servers.failovers) if at > after)
        return bool(ended)

    await until(is_over, what="a failover")
    return ended[0]


async def test_the_loss_of_the_primarys_machine_loses_nothing(tmp_path: Path) -> None:
    """Patroni fails over; every acknowledged text is there, and the run that was under way takes effect once."""
    answer = threading.Event()
    with trio(tmp_path) as servers, ModelApi(Waits(answer, NOTHING), Says(NOTHING)) as model:
        await until(lambda: have_all_roles(servers), what="three servers")
        await make_database(servers)
        with pooler(servers.port, mode="transaction", size=12, password=PASSWORD) as port:
            url = pooled_url(port, "memory")
            settings = {"OLLAMA_HOST": model.url, **CONSOLIDATING}
            async with loaded(tmp_path, url, **settings) as load, under(load):
                await asyncio.to_thread(model.wait_until_asked)
                (lost,) = servers.with_role("primary")
                before, killed_at = load.count(), datetime.now(UTC)
                await asyncio.to_thread(lost.kill)
                failed_over_at = await failover(servers, killed_at)

                async def is_stored() -> bool:
                    return load.acknowledged_at[-1] > failed_over_at.timestamp()

                await until(is_stored, what="a write after the failover")
                answer.set()

                async def is_applied() -> bool:
                    return bool(await rows(url, APPLIED, failed_over_at))

                await until(is_applied, what="a run that ends after the failover")
                lost.start()
                await until(lambda: have_all_roles(servers), what="the return of the lost machine")
            found = await stored(url)
            twice = await rows(url, CONSOLIDATED_TWICE)
    patroni_s = (failed_over_at - killed_at).total_seconds()
    stored_at = next(at for at in load.acknowledged_at if at > failed_over_at.timestamp())
    service_s = stored_at - killed_at.timestamp()
    log.warning(
        "%d acknowledged before the loss, %d after it; seconds from the loss to the end of Patroni's failover: %.1f, "
        "to the next write: %.1f",
        before,
        load.count() - before,
        patroni_s,
        service_s,
    )
    for memory, texts in load.acknowledged.items():
        assert set(texts) <= set(found[memory])
    assert set(found["knowledge"].values()) == {1}
    assert twice == []
    require_within(service_s - patroni_s, AFTER_PATRONI_S)
