"""The queue: Procrastinate on the database of knowledge memory, in a schema of its own."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final, cast

import psycopg
from procrastinate import App, PsycopgConnector
from procrastinate.connector import BaseConnector
from procrastinate.exceptions import ConnectorException
from procrastinate.manager import JobManager
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import DictRow

from commonplace.core.errors import SettingsError, StorageUnavailableError
from commonplace.knowledge.workers.schema import SCHEMA
from commonplace.storage.postgres_access import CONNECT_TIMEOUT_S, Access
from commonplace.storage.postgres_url import is_pooled, mask_password, server_url

CONNECTIONS: Final = 3
"""Procrastinate's connections between jobs; another one listens. Jobs use the pool of knowledge memory."""

_SET_PATH: Final = f"SET LOCAL search_path TO {SCHEMA}"
_DESCRIBE: Final = """
INSERT INTO worker_details (worker_id, name, concurrency) VALUES (%(worker_id)s, %(name)s, %(concurrency)s)
"""


class _Connector(PsycopgConnector):
    """Procrastinate's connector, which sets the schema in each transaction, because poolers pass on no search path."""

    @asynccontextmanager
    async def _get_cursor(
        self, connection: psycopg.AsyncConnection | None = None
    ) -> AsyncGenerator[psycopg.AsyncCursor[DictRow]]:
        async with super()._get_cursor(connection) as cursor:
            await cursor.execute(_SET_PATH)
            yield cursor


class Roster(JobManager):
    """Procrastinate's job manager, whose workers have names.

    Args:
        connector: The connector of the queue.
        name: The worker's name: host and process id.
        concurrency: The maximum number of jobs at once.
        on_register: Called with the worker's number.
    """

    def __init__(
        self, connector: BaseConnector, *, name: str, concurrency: int, on_register: Callable[[int], None]
    ) -> None:
        super().__init__(connector)
        self._on_register = on_register
        self._name = name
        self._concurrency = concurrency

    async def register_worker(self) -> int:
        """Register a worker and record its name."""
        worker_id = await super().register_worker()
        await self.connector.execute_query_async(
            _DESCRIBE, worker_id=worker_id, name=self._name, concurrency=self._concurrency
        )
        self._on_register(worker_id)
        return worker_id


@asynccontextmanager
async def open_queue(
    access: Access, *, name: str, concurrency: int, on_register: Callable[[int], None]
) -> AsyncGenerator[App]:
    """Connect to a queue whose schema is up to date, and disconnect at the end of the block.

    Args:
        access: The access to the knowledge database.
        name: The worker's name.
        concurrency: The maximum number of jobs at once.
        on_register: Called with the worker's number.

    Raises:
        SettingsError: The URL has unknown parameters.
        StorageUnavailableError: The server cannot be reached, or went away. Messages hide the password.
    """
    connector = _Connector(
        conninfo=_conninfo(access),
        kwargs={"prepare_threshold": None} if is_pooled(access.url) else {},
        min_size=1,
        max_size=CONNECTIONS,
        timeout=CONNECT_TIMEOUT_S,
        name="queue",
    )
    app = App(connector=connector)
    app.job_manager = Roster(connector, name=name, concurrency=concurrency, on_register=on_register)
    try:
        await connector.open_async()
        yield app
    except (psycopg.Error, ConnectorException) as error:
        reason = mask_password(str(error.__cause__ or error).strip(), access.url)
        raise StorageUnavailableError(f"the queue in {access.where}: {reason}") from error
    finally:
        await connector.close_async()


def _conninfo(access: Access) -> str:
    """Return a libpq connection string; it sets the role when the connection is made."""
    try:
        parameters = cast("dict[str, Any]", conninfo_to_dict(server_url(access.url)))
    except psycopg.ProgrammingError as error:
        reason = mask_password(str(error).strip(), access.url)
        raise SettingsError(f"the PostgreSQL URL of {access.where}: {reason}") from None
    if access.role:
        parameters["options"] = f"{parameters.get('options') or ''} -c role={access.role}".strip()
    parameters |= {
        "application_name": "commonplace worker",
        "connect_timeout": CONNECT_TIMEOUT_S,
    }
    return make_conninfo("", **parameters)
