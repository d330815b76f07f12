"""A new MCP server with the version of this package."""

import logging
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any, Final

from fastmcp import FastMCP
from fastmcp.exceptions import PromptError
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from mcp_types import (
    DiscoverRequest,
    DiscoverResult,
    GetPromptRequestParams,
    InitializeRequest,
    InitializeResult,
)

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


class WithoutCapability(Middleware):
    """Middleware that does not announce something that the library announces always.

    Args:
        name: The field of the capabilities, such as ``logging``.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    async def on_initialize(
        self,
        context: MiddlewareContext[InitializeRequest],
        call_next: CallNext[InitializeRequest, InitializeResult | None],
    ) -> InitializeResult | None:
        """Answer the handshake of earlier versions of the protocol."""
        result = await call_next(context)
        if result is not None:
            setattr(result.capabilities, self._name, None)
        return result

    async def on_discover(
        self,
        context: MiddlewareContext[DiscoverRequest],
        call_next: CallNext[DiscoverRequest, DiscoverResult | dict[str, Any]],
    ) -> DiscoverResult | dict[str, Any]:
        """Answer a client without a handshake."""
        result = await call_next(context)
        if isinstance(result, DiscoverResult):
            setattr(result.capabilities, self._name, None)
        return result


NO_LOGGING: Final = WithoutCapability("logging")
"""The protocol of 2026-07-28 deprecates the level of logging."""


def new_server(name: str, instructions: str, *, middleware: Sequence[Middleware] = ()) -> FastMCP:
    """Return a server without tools, whose instructions clients show their model."""
    checked = [RefuseMissingArguments(), NO_LOGGING, *middleware]
    return FastMCP(
        name,
        instructions=instructions,
        version=version("commonplace"),
        middleware=checked,
        # No resource is a file, and a short id such as f:3k7q2 looks like a path with a drive.
        resource_security=None,
    )
