"""Named statements, checked against a real server."""

from commonplace.storage.store import Store


async def prepare_all(store: Store) -> int:
    """Let the server parse every statement of a store; return how many there are."""
    queries = store._queries
    names = [name for name in queries.available_queries if not name.endswith("_cursor")]
    async with store.writing() as sql:
        for name in names:
            statement = getattr(queries, name)
            if store._database.dialect == "postgresql":
                await sql.connection.prepare(statement.sql)
            else:
                parameters = dict.fromkeys(statement.parameters or ())
                async with sql.connection.execute(f"EXPLAIN {statement.sql}", parameters) as cursor:
                    assert await cursor.fetchall()
    return len(names)
