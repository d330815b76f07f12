"""Runs the service until it is told to stop, and ends it in order."""

import asyncio
import logging
import signal
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from importlib import import_module
from typing import Final

import uvicorn
from fastapi import FastAPI

from commonplace.access.tokens import Tokens
from commonplace.core.errors import AccessError, CommonplaceError
from commonplace.core.settings import Settings
from commonplace.embedding import EmbeddingOptions, get_embedding_engine
from commonplace.knowledge.memory import KnowledgeMemory
from commonplace.llm import Model, open_model
from commonplace.memories import Memories
from commonplace.web.loopback import url_of
from commonplace.web.security import SecurityOptions
from commonplace.web.service import create_app
from commonplace.web.tracing import tracing

PATIENCE_S: Final = 10
"""How long requests that are under way have when the service stops."""

CATCH_UP_EVERY_S: Final = 60
"""How often digests that wait for energy or for a model are looked for, and sessions whose process is gone."""

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
                lifespan="on",
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


async def serve(
    settings: Settings,
    listener: socket.socket,
    *,
    security: SecurityOptions | None = None,
    worker: bool = True,
    on_ready: Callable[[str], None],
) -> None:
    """Serve the memories that the settings name, until SIGINT or SIGTERM.

    Then requests that are under way are answered, and digests that are under way are awaited. A second signal gives
    that up.

    Args:
        settings: Which memories.
        listener: See :func:`~commonplace.web.loopback.listen`; closed at the end.
        security: What stands before the memories; for loopback without a login where it is not given.
        worker: Whether background work runs in this process too.
        on_ready: Called with the URL as soon as requests are taken.

    Raises:
        SettingsError: The settings name a model that cannot be used, or an extra that is not installed.
        AccessError: A login is required, and no token lets anybody administer the service.
        StorageError: A database cannot be opened, or is newer than this release.
    """
    url = url_of(listener)
    with listener:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(tracing(settings.otel_endpoint))
            tokens = await stack.enter_async_context(Tokens.open(settings))
            if security is not None and security.login_required:
                await _require_admin(tokens)
            engine = get_embedding_engine(EmbeddingOptions.from_settings(settings))
            model = await stack.enter_async_context(open_model(settings, engine=engine))
            memories = await stack.enter_async_context(Memories.open(settings, model=model))
            memories.knowledge.begin()
            if worker:
                await stack.enter_async_context(_working(settings, memories.knowledge, model))
            app = create_app(
                memories,
                tokens=tokens,
                security=security,
                settings=settings,
                worker=worker,
                model=model,
            )
            server = Server(app, on_ready=lambda: on_ready(url))
            chores = {
                "lost sessions": memories.operational.interrupt_lost_sessions,
                "deferred digests": memories.apps.loop.run_deferred,
            }
            catching_up = asyncio.create_task(catch_up(chores))
            try:
                with _first_signal(server.stop):
                    await server.serve(sockets=[listener])
            finally:
                catching_up.cancel()
                await asyncio.gather(catching_up, return_exceptions=True)


@asynccontextmanager
async def _working(settings: Settings, knowledge: KnowledgeMemory, model: Model) -> AsyncGenerator[None]:
    """Let a worker work beside the service; what it is made of is loaded meanwhile, so that nobody waits for it."""
    stopping = asyncio.Event()

    async def work() -> None:
        # Before the database is open there is nothing to do, and nothing to wait for at the end.
        ended = asyncio.create_task(stopping.wait())
        opening = knowledge.database.begin()
        await asyncio.wait([ended, opening], return_when=asyncio.FIRST_COMPLETED)
        if stopping.is_set():
            return
        module = await asyncio.to_thread(import_module, "commonplace.knowledge.workers.worker")
        async with module.in_process_worker(settings, knowledge=knowledge, model=model):
            await ended

    working = asyncio.create_task(work(), name="background work")
    try:
        yield
    finally:
        stopping.set()
        await working


async def _require_admin(tokens: Tokens) -> None:
    if not await tokens.has_admin():
        raise AccessError(
            "a token is required, and there is none that lets anybody in: make an admin's with "
            "`commonplace token create --role admin`"
        )


async def catch_up(
    chores: Mapping[str, Callable[[], Awaitable[object]]], *, every_s: float = CATCH_UP_EVERY_S
) -> None:
    """Put right what processes that are gone left behind, now and from time to time, whatever goes wrong.

    Args:
        chores: What is done, by the words that the log has for it; each by itself.
        every_s: How long to wait before it is done again.
    """
    while True:
        for what, chore in chores.items():
            try:
                await chore()
            except CommonplaceError as error:
                log.error("%s wait for another minute: %s", what, error)  # noqa: TRY400 - a line is enough
            except Exception:
                log.exception("%s wait for another minute", what)
        await asyncio.sleep(every_s)
