"""A new MCP server with the version of this package."""

from collections.abc import Sequence
from importlib.metadata import version

from fastmcp import FastMCP
from fastmcp.server.middleware import Middleware


def new_server(name: str, instructions: str, *, middleware: Sequence[Middleware] = ()) -> FastMCP:
    """Return a server without tools.

    Args:
        name: The name that clients see.
        instructions: The text that clients show their model.
        middleware: Called for each message.
    """
    return FastMCP(name, instructions=instructions, version=version("commonplace"), middleware=middleware)
