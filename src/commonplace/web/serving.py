"""Running the service until a signal stops it, with an orderly shutdown."""

import asyncio
import logging
import signal
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, nullcontext
from functools import partial
from typing import Final

import uvicorn
from fastapi import FastAPI

import commonplace.knowledge
from commonplace.access import Tokens
from commonplace.core.errors import AccessError, CommonplaceError
from commonplace.core.settings import Settings
from commonplace.knowledge import KnowledgeMemory
from commonplace.llm import Model, open_consolidation_model, open_model
from commonplace.services.background.following import following
from commonplace.services.opening import Memories
from commonplace.web.http.loopback import url_of
from commonplace.web.http.security import SecurityOptions
from commonplace.web.http.tracing import tracing
from commonplace.web.service import create_app
from commonplace.web.warming import warm

PATIENCE_S: Final = 10
"""The time that running requests get when the service stops."""

CATCH_UP_EVERY_S: Final = 60
"""The interval at which deferred digests and lost sessions are handled."""

log = logging.getLogger(__name__)

STOPPING: Final = (signal.SIGINT, signal.SIGTERM)


class HttpServer(uvicorn.Server):
    """A server that reports when it accepts requests and leaves signals to its caller."""

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
        self._app = app
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to accept requests."""
        await super().startup(sockets)
        self._on_ready()

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Do not capture signals: uvicorn would raise them again at its end, and running digests would be lost."""
        yield

    def stop(self) -> None:
        """Accept no more requests, and end when the running requests are answered."""
        self.should_exit = True

    def drain(self, drain_s: float) -> None:
        """Answer health checks with 503, so that load balancers stop sending requests, and stop after some seconds."""
        self._app.state.draining = True
        asyncio.get_running_loop().call_later(drain_s, self.stop)


@contextmanager
def _first_signal(call: Callable[[], None]) -> Generator[None]:
    """Call a function on the first signal to stop inside the block; a second signal has its usual effect."""
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
    drain_s: float = 0.0,
    on_ready: Callable[[str], None],
) -> None:
    """Serve the memories of the settings until SIGINT or SIGTERM.

    Running requests are then finished, and running digests go back to the queue; a second signal cuts them off.

    Args:
        settings: The memories to serve.
        listener: A socket of :func:`~commonplace.web.http.loopback.listen`; closed at the end.
        security: The access options; by default those of loopback without a login.
        worker: Whether background work runs in this process too.
        drain_s: Seconds after a signal in which health checks fail and requests are still accepted.
        on_ready: Called with the URL when the service accepts requests.

    Raises:
        SettingsError: The settings name an unusable model or an extra that is not installed.
        AccessError: A login is required, and no valid admin token exists.
        StorageError: A database cannot be opened, or is newer than this release.
    """
    url = url_of(listener)
    with listener:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(
                tracing(settings.otel_endpoint, with_content=settings.otel_content)
            )
            tokens = await stack.enter_async_context(Tokens.open(settings))
            if security is not None and security.login_required:
                await _require_admin(tokens)
            model = await stack.enter_async_context(open_model(settings))
            consolidating = model
            if settings.consolidation_model is not None:
                consolidating = await stack.enter_async_context(open_consolidation_model(settings))
            memories = await stack.enter_async_context(Memories.open(settings, model=model))
            memories.knowledge.begin()
            if worker:
                await stack.enter_async_context(_working(settings, memories.knowledge, consolidating))
                await stack.enter_async_context(following(settings, lambda: nullcontext(memories.knowledge)))
            app = create_app(
                memories,
                tokens=tokens,
                security=security,
                settings=settings,
                worker=worker,
                model=model,
            )
            app.state.model = consolidating
            server = HttpServer(app, on_ready=lambda: on_ready(url))
            chores = {
                "lost sessions": memories.operational.upkeep.interrupt_lost_sessions,
                "deferred digests": memories.apps.digests.run_deferred,
            }
            catching_up = asyncio.create_task(catch_up(chores))
            warming = asyncio.create_task(warm(app))
            try:
                with _first_signal(partial(server.drain, drain_s)):
                    await server.serve(sockets=[listener])
                await memories.apps.digests.cancel()  # A model may take longer than the service has to stop.
            finally:
                catching_up.cancel()
                warming.cancel()
                await asyncio.gather(catching_up, warming, return_exceptions=True)


@asynccontextmanager
async def _working(settings: Settings, knowledge: KnowledgeMemory, model: Model) -> AsyncGenerator[None]:
    """Run a worker beside the service; its modules are imported in the background."""
    stopping = asyncio.Event()

    async def work() -> None:
        # Before the database is open there is no work to do, and none to wait for at the end.
        ended = asyncio.create_task(stopping.wait())
        opening = knowledge.database.begin()
        await asyncio.wait([ended, opening], return_when=asyncio.FIRST_COMPLETED)
        if stopping.is_set():
            return
        in_process_worker = await asyncio.to_thread(lambda: commonplace.knowledge.in_process_worker)
        async with in_process_worker(settings, knowledge=knowledge, model=model):
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
            "a login is required, and no valid admin token exists; create one with "
            "`commonplace token create --role admin`"
        )


async def catch_up(
    chores: Mapping[str, Callable[[], Awaitable[object]]], *, every_s: float = CATCH_UP_EVERY_S
) -> None:
    """Run chores now and at intervals; a chore that fails is logged under its name and runs again."""
    while True:
        for name, chore in chores.items():
            try:
                await chore()
            except CommonplaceError as error:
                log.error("%s failed; the next try is in %g s: %s", name, every_s, error)  # noqa: TRY400 - a line is enough
            except Exception:
                log.exception("%s failed; the next try is in %g s", name, every_s)
        await asyncio.sleep(every_s)
