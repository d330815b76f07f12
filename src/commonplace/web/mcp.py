"""The MCP servers over HTTP, for clients that bring a token or are on this machine.

What they are made of takes a second to load, which nobody else should wait for: it is loaded beside the first requests,
and who asks for a server before that waits.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from importlib import import_module
from typing import Any, Final

from fastapi import FastAPI
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from commonplace.core.context import request_context
from commonplace.memories import Memories
from commonplace.web.access import actor_of, caller_of
from commonplace.web.problems import FORBIDDEN, problem_response

WORKSPACE: Final = "/mcp/workspace"
KNOWLEDGE: Final = "/mcp/knowledge"


class McpServers:
    """Both servers; :meth:`running` has to be entered for as long as they are served.

    Args:
        memories: Open for as long as that.
    """

    def __init__(self, memories: Memories) -> None:
        self._memories = memories
        self._loading: asyncio.Future[Mapping[str, ASGIApp]] | None = None
        self._stopping = asyncio.Event()

    def mount(self, app: FastAPI) -> None:
        """Add the servers to the service, at their paths with and without a slash at the end."""
        app.mount(WORKSPACE, _InstallationOnly(_Loaded(self, "workspace")), name="mcp workspace")
        app.mount(KNOWLEDGE, _Acting(_Loaded(self, "knowledge")), name="mcp knowledge")
        app.add_middleware(_WithSlash)

    @asynccontextmanager
    async def running(self, _app: FastAPI) -> AsyncGenerator[None]:
        """Load the servers in the background, and run what they run beside requests."""
        self._loading = asyncio.get_running_loop().create_future()
        owner = asyncio.create_task(self._own(self._loading), name="MCP servers")
        try:
            yield
        finally:
            self._stopping.set()
            await owner

    async def application(self, name: str) -> ASGIApp:
        """Return a server as an application, when it is loaded."""
        if self._loading is None:
            raise RuntimeError("the lifespan of the service does not run")
        return (await asyncio.shield(self._loading))[name]

    async def _own(self, loading: asyncio.Future[Mapping[str, ASGIApp]]) -> None:
        """Enter and leave the lifespans of the servers, which have to be left by the task that entered them."""
        async with AsyncExitStack() as stack:
            try:
                module = await asyncio.to_thread(import_module, "commonplace.web.mcp_servers")
                applications: dict[str, Any] = module.applications(self._memories)
                for application in applications.values():
                    await stack.enter_async_context(application.lifespan(application))
            except Exception as error:  # noqa: BLE001 - whoever asks for a server is told
                loading.set_exception(error)
                loading.exception()
            else:
                loading.set_result(applications)
            await self._stopping.wait()


class _Loaded:
    """A server that may still be loading."""

    def __init__(self, servers: McpServers, name: str) -> None:
        self._servers = servers
        self._name = name

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        application = await self._servers.application(self._name)
        await application(scope, receive, send)


class _Acting:
    """Puts a request into its context, for what it changes."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        who = caller_of(HTTPConnection(scope)).principal
        with request_context(tenant_id=who.tenant_id, actor=actor_of(who)):
            await self._app(scope, receive, send)


class _InstallationOnly(_Acting):
    """Refuses callers of other tenants: the workspace belongs to the installation."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        who = caller_of(HTTPConnection(scope)).principal
        if not who.of_installation:
            detail = f"the workspace belongs to the installation, and the token to tenant {who.tenant_id!r}"
            await problem_response(FORBIDDEN.problem(detail))(scope, receive, send)
            return
        await super().__call__(scope, receive, send)


class _WithSlash:
    """Takes the path of a server without the slash at its end for the one with it: clients are told either."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] in {WORKSPACE, KNOWLEDGE}:
            scope = {**scope, "path": f"{scope['path']}/", "raw_path": f"{scope['path']}/".encode()}
        await self._app(scope, receive, send)
