"""Preparation: each table of memories becomes the shared partition of a new table with its name; no row is copied."""

from commonplace.knowledge.connection.session import KnowledgeSession
from commonplace.knowledge.partitions.exchanging import exchange, validate_foreign_keys
from commonplace.knowledge.partitions.layout import (
    TABLES,
    Partition,
    execute_all,
    partitions,
    require_rights,
    shared_name,
)
from commonplace.knowledge.reembedding.moves import alone
from commonplace.storage.database import Statements


class PreparingMethods(KnowledgeSession):
    """The method of knowledge memory that prepares the tables; the memory's own tenant does not matter."""

    async def prepare_partitions(self) -> list[Partition]:
        """Partition each table of memories by tenant, with one shared partition; return the partitions.

        Memories can be stored and searched meanwhile, except during one transaction of milliseconds. If the tables are
        already prepared, only the leftovers of an interrupted call are finished.

        Raises:
            StorageUnavailableError: The server cannot be reached or is too old, this role may not change the tables,
                another process moves memories, or the tables stay in use.

        Source: SCL-05.
        """
        async with self._owning() as pool:
            await require_rights(pool)
            async with alone(pool):
                if not await partitions(pool):
                    await exchange(pool, _prepare)
                await validate_foreign_keys(pool)
            return await partitions(pool)


async def _prepare(sql: Statements) -> None:
    for table in TABLES:
        await execute_all(sql, await sql.preparing_steps(table_name=table, leaf=shared_name(table)))
