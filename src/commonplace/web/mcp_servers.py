"""The MCP servers as applications; loaded by :mod:`commonplace.web.mcp`, and slowly.

Requests stand alone, without sessions that only one process would know: any number of processes may serve them.
"""

from fastmcp import FastMCP
from fastmcp.server.dependencies import get_http_request
from fastmcp.server.http import StarletteWithLifespan
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import ToolResult
from mcp_types import CallToolRequestParams

from commonplace.access.roles import Principal
from commonplace.core.context import RequestContext
from commonplace.core.tracing import span
from commonplace.mcp import workspace
from commonplace.mcp.access import RoleGate
from commonplace.mcp.knowledge import server as knowledge
from commonplace.memories import Memories
from commonplace.web.access import actor_of, caller_of


def applications(memories: Memories) -> dict[str, StarletteWithLifespan]:
    """Return both servers over open memories; their lifespans have to be run."""
    return {
        "workspace": _application(workspace.build_server(memories.workspace)),
        "knowledge": _application(knowledge.build_server(memories.knowledge, caller=_context)),
    }


def _application(server: FastMCP) -> StarletteWithLifespan:
    server.add_middleware(ToolSpans())
    server.add_middleware(RoleGate(_principal))
    return server.http_app(path="/", stateless_http=True, json_response=True)


def _principal() -> Principal:
    return caller_of(get_http_request()).principal


def _context() -> RequestContext:
    who = _principal()
    return RequestContext(tenant_id=who.tenant_id, actor=actor_of(who))


class ToolSpans(Middleware):
    """A span for each call of a tool, with its name and none of its arguments."""

    async def on_call_tool(
        self,
        context: MiddlewareContext[CallToolRequestParams],
        call_next: CallNext[CallToolRequestParams, ToolResult],
    ) -> ToolResult:
        """Pass a call on, and trace it."""
        with span("mcp.tool", tool=context.message.name):
            return await call_next(context)
