"""Runs the service until it is told to stop, and ends it in order."""

import asyncio
import logging
import signal
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final

import uvicorn
from fastapi import FastAPI

from commonplace.apps.memory import AppMemory
from commonplace.core.errors import CommonplaceError
from commonplace.core.settings import Settings
from commonplace.web.loopback import url_of
from commonplace.web.service import create_app

PATIENCE_S: Final = 10
"""How long requests that are under way have when the service stops."""

CATCH_UP_EVERY_S: Final = 60
"""How often digests that wait for energy or for a model are looked for."""

log = logging.getLogger(__name__)

STOPPING: Final = (signal.SIGINT, signal.SIGTERM)


class Server(uvicorn.Server):
    """A server that says when it takes requests, and leaves signals to its caller.

    Args:
        app: What it serves.
        on_ready: Called when it takes requests.
    """

    def __init__(self, app: FastAPI, *, on_ready: Callable[[], None]) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                lifespan="off",
                ws="none",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=PATIENCE_S,
            )
        )
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to take requests."""
        await super().startup(sockets)
        self._on_ready()

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Leave signals alone: uvicorn raises them again when it has ended, and digests would not be awaited."""
        yield

    def stop(self) -> None:
        """Take no more requests, and end when those under way are answered."""
        self.should_exit = True


@contextmanager
def _first_signal(call: Callable[[], None]) -> Generator[None]:
    """Inside the block, call a function on the first signal to stop; the second does what it would without this."""
    loop = asyncio.get_running_loop()

    def release() -> None:
        for number in STOPPING:
            loop.remove_signal_handler(number)

    def on_signal() -> None:
        release()
        call()

    for number in STOPPING:
        loop.add_signal_handler(number, on_signal)
    try:
        yield
    finally:
        release()


async def serve(settings: Settings, listener: socket.socket, *, on_ready: Callable[[str], None]) -> None:
    """Serve the memories that the settings name, until SIGINT or SIGTERM.

    Then requests that are under way are answered, and digests that are under way are awaited. A second signal gives
    that up.

    Args:
        settings: Which memories.
        listener: See :func:`~commonplace.web.loopback.listen`; closed at the end.
        on_ready: Called with the URL as soon as requests are taken.

    Raises:
        SettingsError: The settings name a model that cannot be used.
        StorageError: A database cannot be opened, or is newer than this release.
    """
    url = url_of(listener)
    with listener:
        async with AppMemory.open(settings) as app_memory:
            server = Server(create_app(app_memory), on_ready=lambda: on_ready(url))
            catching_up = asyncio.create_task(_catch_up(app_memory))
            try:
                with _first_signal(server.stop):
                    await server.serve(sockets=[listener])
            finally:
                catching_up.cancel()
                await asyncio.gather(catching_up, return_exceptions=True)


async def _catch_up(app_memory: AppMemory) -> None:
    """Make the digests that an earlier process left waiting, now and from time to time."""
    while True:
        try:
            await app_memory.loop.run_deferred()
        except CommonplaceError as error:
            log.error("deferred digests wait for another minute: %s", error)  # noqa: TRY400 - a line is enough
        await asyncio.sleep(CATCH_UP_EVERY_S)
