"""The MCP servers over HTTP, for clients with a token or on this machine.

Their modules take a second to import, so the service imports them in the background. Each server is built for the first
request to it. Only requests to an MCP server wait for the import.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from importlib import import_module
from typing import Any, Final

from fastapi import FastAPI
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from commonplace.core.request_context import request_context
from commonplace.services.opening import Memories
from commonplace.web.http.access import actor_of, caller_of, of_another_tenant
from commonplace.web.http.middleware import HttpMiddleware
from commonplace.web.http.problems import FORBIDDEN
from commonplace.web.http.refusals import problem_response

SERVERS: Final = {
    "/mcp/workspace": "workspace",
    "/mcp/knowledge": "knowledge",
    "/mcp/apps": "apps",
    "/mcp/all": "all",
    "/mcp/agent": "agent",
}
"""The servers by path: ``all`` has the tools of the first three under distinct names, ``agent`` a few over all."""

OF_TENANTS: Final = frozenset({"knowledge", "agent"})
"""The servers for callers of other tenants, who see knowledge memory only."""


class McpServers:
    """The servers; they run inside :meth:`running` while the memories are open."""

    def __init__(self, memories: Memories) -> None:
        self._memories = memories
        self._servers: dict[str, asyncio.Future[ASGIApp]] = {}
        self._owners: list[asyncio.Task[None]] = []
        self._loading: asyncio.Task[Any] | None = None
        self._stopping = asyncio.Event()

    def mount(self, app: FastAPI) -> None:
        """Mount the servers at their paths, with and without a slash at the end."""
        for path, name in SERVERS.items():
            server = _acting(self._on_demand(name), installation=name not in OF_TENANTS)
            app.mount(path, server, name=f"mcp {name}")
        app.add_middleware(_WithSlash)

    @asynccontextmanager
    async def running(self, _app: FastAPI) -> AsyncGenerator[None]:
        """Import the servers in the background, and end those that were built."""
        load = asyncio.to_thread(import_module, "commonplace.web.http.mcp_servers")
        self._loading = asyncio.create_task(load, name="MCP modules")
        try:
            yield
        finally:
            self._stopping.set()
            await asyncio.gather(self._loading, *self._owners, return_exceptions=True)

    def _on_demand(self, name: str) -> ASGIApp:
        """Return an application that passes requests to a server, which the first of them builds."""

        async def pass_on(scope: Scope, receive: Receive, send: Send) -> None:
            if self._loading is None:
                raise RuntimeError("the lifespan of the service is not running")
            module = await asyncio.shield(self._loading)
            if name not in self._servers:
                self._servers[name] = ready = asyncio.get_running_loop().create_future()
                owner = self._own(partial(module.application, self._memories, name), ready)
                self._owners.append(asyncio.create_task(owner, name=f"MCP server {name}"))
            server = await asyncio.shield(self._servers[name])
            await server(scope, receive, send)

        return pass_on

    async def _own(self, build: Callable[[], Any], ready: asyncio.Future[ASGIApp]) -> None:
        """Enter and leave the lifespan of a server in one task, as it requires."""
        async with AsyncExitStack() as stack:
            try:
                application = build()
                await stack.enter_async_context(application.lifespan(application))
            except Exception as error:  # noqa: BLE001 - raised to each request for the server
                ready.set_exception(error)
                ready.exception()
            else:
                ready.set_result(application)
            await self._stopping.wait()


def _acting(app: ASGIApp, *, installation: bool = False) -> ASGIApp:
    """Return an application that runs each request in the context of its caller.

    A server of the installation refuses callers of other tenants.
    """

    async def act(scope: Scope, receive: Receive, send: Send) -> None:
        who = caller_of(HTTPConnection(scope)).principal
        if installation and not who.of_installation:
            await problem_response(FORBIDDEN.problem(of_another_tenant(who)))(scope, receive, send)
            return
        with request_context(tenant_id=who.tenant_id, actor=actor_of(who)):
            await app(scope, receive, send)

    return act


class _WithSlash(HttpMiddleware):
    """Adds the slash at the end of a server's path, because clients are configured with and without it."""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] in SERVERS:
            scope = {**scope, "path": f"{scope['path']}/", "raw_path": f"{scope['path']}/".encode()}
        await self.app(scope, receive, send)
