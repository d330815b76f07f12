"""Databases of operational and app memory for tests, migrated once a run."""

from collections.abc import AsyncIterator
from functools import partial

import pytest

from commonplace.storage.embedded import Membership
from support.apart import run_apart
from support.database_stock import DatabaseStock
from support.postgres import make_template
from support.run_share import GROUP, RunShare


@pytest.fixture(scope="session")
def operational_template(embedded_cluster: Membership, run_share: RunShare) -> str:
    """The name of a database with the newest schema of operational and app memory; nobody is connected to it."""
    make = partial(make_template, embedded_cluster, "operational", "apps")
    return run_share.once(f"template of operational memory {GROUP}", lambda: run_apart(make()))


@pytest.fixture(scope="session")
async def operational_databases(
    embedded_cluster: Membership, operational_template: str
) -> AsyncIterator[DatabaseStock]:
    """The databases of operational and app memory, for one test after the other."""
    stock = DatabaseStock(embedded_cluster, operational_template)
    yield stock
    await stock.close()


@pytest.fixture
async def database_url(operational_databases: DatabaseStock) -> AsyncIterator[str]:
    """The URL of a migrated database of operational and app memory, for one test."""
    async with operational_databases.lend() as database:
        yield database.url
