"""The MCP servers over HTTP, for clients with a token or on this machine.

Their modules take a second to import, so the service imports them in the background. Only requests to an MCP server
wait for the import.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
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
        self._loading: asyncio.Future[Mapping[str, ASGIApp]] | None = None
        self._stopping = asyncio.Event()

    def mount(self, app: FastAPI) -> None:
        """Mount the servers at their paths, with and without a slash at the end."""
        for path, name in SERVERS.items():
            server = _acting(self._loaded(name), installation=name not in OF_TENANTS)
            app.mount(path, server, name=f"mcp {name}")
        app.add_middleware(_WithSlash)

    @asynccontextmanager
    async def running(self, _app: FastAPI) -> AsyncGenerator[None]:
        """Load the servers in the background and run their lifespans."""
        self._loading = asyncio.get_running_loop().create_future()
        owner = asyncio.create_task(self._own(self._loading), name="MCP servers")
        try:
            yield
        finally:
            self._stopping.set()
            await owner

    def _loaded(self, name: str) -> ASGIApp:
        """Return an application that passes requests to a server as soon as it is loaded."""

        async def load(scope: Scope, receive: Receive, send: Send) -> None:
            if self._loading is None:
                raise RuntimeError("the lifespan of the service is not running")
            servers = await asyncio.shield(self._loading)
            await servers[name](scope, receive, send)

        return load

    async def _own(self, loading: asyncio.Future[Mapping[str, ASGIApp]]) -> None:
        """Enter and leave the lifespans of the servers in one task, as they require."""
        async with AsyncExitStack() as stack:
            try:
                module = await asyncio.to_thread(import_module, "commonplace.web.http.mcp_servers")
                applications: dict[str, Any] = module.applications(self._memories)
                for application in applications.values():
                    await stack.enter_async_context(application.lifespan(application))
            except Exception as error:  # noqa: BLE001 - raised to each request for a server
                loading.set_exception(error)
                loading.exception()
            else:
                loading.set_result(applications)
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
