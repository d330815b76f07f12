"""The host's MCP server on loopback, for its own sessions only."""

import asyncio
import secrets
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

import uvicorn
from fastmcp import FastMCP
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

PATH: Final = "/mcp/"
_START_S: Final = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """The URL of the tools, and the bearer token for them; both end with the host."""

    url: str
    token: str = field(repr=False)


class _BearerOnly:
    """Middleware that requires the token, because other programs and users of the machine can reach loopback too."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            given = Headers(scope=scope).get("authorization", "")
            if not secrets.compare_digest(given.encode(), self._expected.encode()):
                response = PlainTextResponse(
                    "a bearer token is required\n", 401, {"WWW-Authenticate": "Bearer"}
                )
                await response(scope, receive, send)
                return
        await self._app(scope, receive, send)


@asynccontextmanager
async def serve_tools(server: FastMCP) -> AsyncGenerator[Endpoint]:
    """Serve the tools on a free port of loopback while the block runs.

    Raises:
        TimeoutError: The server did not start.
    """
    token = secrets.token_urlsafe(32)
    app = _BearerOnly(server.http_app(path=PATH, host_origin_protection=True), token)
    http = uvicorn.Server(
        uvicorn.Config(
            app, host="127.0.0.1", port=0, log_config=None, access_log=False, ws="none", lifespan="on"
        )
    )
    serving = asyncio.create_task(http.serve(), name="the host's MCP server")
    try:
        async with asyncio.timeout(_START_S):
            while not http.started:
                if serving.done():
                    await serving
                await asyncio.sleep(0.01)
        port = http.servers[0].sockets[0].getsockname()[1]
        yield Endpoint(url=f"http://127.0.0.1:{port}{PATH}", token=token)
    finally:
        http.should_exit = True
        await serving
