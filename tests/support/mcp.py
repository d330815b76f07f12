"""What tests of MCP servers share: a client's call, and a server on loopback."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from fastmcp import Client
from starlette.types import ASGIApp


async def ask(client: Client[Any], tool: str, **arguments: object) -> Any:  # noqa: ANN401 - JSON
    """Call a tool, and return its JSON or, where it has none, its text."""
    result = await client.call_tool(tool, arguments)
    return text(result) if result.structured_content is None else result.structured_content


async def refused(client: Client[Any], tool: str, **arguments: object) -> dict[str, str]:
    """Call a tool that refuses, and return its error, which the text says too."""
    result = await client.call_tool(tool, arguments, raise_on_error=False)
    assert result.is_error
    assert result.structured_content is not None
    error: dict[str, str] = result.structured_content["error"]
    assert text(result) == f"{error['message']}. {error['hint']}"
    return error


def text(result: Any) -> str:  # noqa: ANN401 - the client's result
    """Return the one block of text of a result."""
    (block,) = result.content
    return block.text


@asynccontextmanager
async def served(app: ASGIApp) -> AsyncIterator[str]:
    """Serve an application on a free port of loopback; yield its URL."""
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error", ws="none"))
    serving = asyncio.create_task(server.serve())
    try:
        while not server.started:
            assert not serving.done()
            await asyncio.sleep(0.01)
        (listening,) = server.servers
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        await serving
