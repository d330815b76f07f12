"""Views for reading, of both databases."""

from pathlib import Path

import pytest

from commonplace.access.statements import AccessStatements
from commonplace.access.tokens import SQL_DIRECTORY
from commonplace.storage.database import load_queries
from commonplace.storage.postgres_database import PostgresDatabase
from commonplace.storage.sqlite import SQLiteDatabase


@pytest.mark.parametrize("once", [False, True])
async def test_only_several_statements_need_a_transaction_of_sqlite(tmp_path: Path, *, once: bool) -> None:
    """One statement is a consistent view by itself."""
    database = await SQLiteDatabase.open(tmp_path / "new.db")
    async with database.reading(load_queries(AccessStatements, [SQL_DIRECTORY], "sqlite"), once=once) as sql:
        assert sql.connection.in_transaction is not once
    assert not sql.connection.in_transaction
    await database.close()


@pytest.mark.parametrize("once", [False, True])
async def test_only_several_statements_need_a_transaction_of_postgresql(
    postgres_url: str, *, once: bool
) -> None:
    """One statement is a consistent view by itself."""
    database = await PostgresDatabase.open(postgres_url)
    async with database.reading(
        load_queries(AccessStatements, [SQL_DIRECTORY], "postgresql"), once=once
    ) as sql:
        assert sql.connection.is_in_transaction() is not once
    await database.close()
