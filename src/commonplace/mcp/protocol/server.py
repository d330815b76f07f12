"""A new MCP server with the version of this package."""

import logging
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from fastmcp import FastMCP
from fastmcp.exceptions import PromptError
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from mcp_types import GetPromptRequestParams

_log = logging.getLogger(__name__)


class RefuseMissingArguments(Middleware):
    """Middleware that refuses a prompt without its required arguments; the library would log two tracebacks."""

    async def on_get_prompt(
        self, context: MiddlewareContext[GetPromptRequestParams], call_next: CallNext[Any, Any]
    ) -> Any:  # noqa: ANN401 - whatever the next one returns
        """Check the arguments."""
        wanted = context.message
        server = context.fastmcp_context and context.fastmcp_context.fastmcp
        prompt = await server.get_prompt(wanted.name) if server else None
        for each in (prompt and prompt.arguments) or ():
            if each.required and each.name not in (wanted.arguments or {}):
                message = f"{each.name}: expected a value, got nothing"
                _log.warning("the prompt %s was refused: %s", wanted.name, message)
                raise PromptError(message, log_level=logging.DEBUG)
        return await call_next(context)


def new_server(name: str, instructions: str, *, middleware: Sequence[Middleware] = ()) -> FastMCP:
    """Return a server without tools, whose instructions clients show their model."""
    checked = [RefuseMissingArguments(), *middleware]
    return FastMCP(
        name,
        instructions=instructions,
        version=version("commonplace"),
        middleware=checked,
        # No resource is a file, and a short id such as f:3k7q2 looks like a path with a drive.
        resource_security=None,
    )
