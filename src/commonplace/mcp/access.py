"""The role that each tool requires over HTTP, where each caller's token has a role.

On standard input and output there is one caller, who started the server.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import mcp_types
from fastmcp.exceptions import AuthorizationError
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import Tool, ToolResult

from commonplace.access import Principal, Role
from commonplace.core.quoting import quoted
from commonplace.mcp.agent.tools import TOOLS as AGENT_TOOLS
from commonplace.mcp.apps.tools import TOOLS as APP_TOOLS
from commonplace.mcp.combined import WORKSPACE
from commonplace.mcp.knowledge.server import TOOLS as KNOWLEDGE_TOOLS
from commonplace.mcp.protocol.briefing import URI as BRIEFING_URI
from commonplace.mcp.protocol.tool import refusal
from commonplace.mcp.review import TOOLS as REVIEW_TOOLS
from commonplace.workspace import TOOLS as WORKSPACE_TOOLS

ROLES: Final[Mapping[str, Role]] = {
    **{
        name: Role.READER if tool.reads_only else Role.WRITER
        for tool in WORKSPACE_TOOLS
        for name in (tool.name, f"{WORKSPACE}_{tool.name}")
    },
    **{spec.name: spec.role for spec in (*AGENT_TOOLS, *KNOWLEDGE_TOOLS, *APP_TOOLS, *REVIEW_TOOLS)},
}
"""The tools of all servers; workspace tools also under their names in the server ``all``. A name of several servers
requires the same role in each.

Any other tool requires an admin.
"""


def role_for(tool: str) -> Role:
    """Return the role that a tool requires."""
    return ROLES.get(tool, Role.ADMIN)


class RoleGate(Middleware):
    """Middleware that shows the caller of a request the tools that the caller may use, and refuses the others."""

    def __init__(self, caller: Callable[[], Principal]) -> None:
        self._caller = caller

    async def on_list_tools(
        self, context: MiddlewareContext[Any], call_next: CallNext[Any, Sequence[Tool]]
    ) -> Sequence[Tool]:
        """List only the tools that the caller may use, because a model would try the others."""
        role = self._caller().role
        return [tool for tool in await call_next(context) if role.includes(role_for(tool.name))]

    async def on_call_tool(
        self,
        context: MiddlewareContext[mcp_types.CallToolRequestParams],
        call_next: CallNext[mcp_types.CallToolRequestParams, ToolResult],
    ) -> ToolResult:
        """Run a tool, or return an error if it requires a higher role."""
        name = context.message.name
        who, needed = self._caller(), role_for(name)
        if who.role.includes(needed):
            return await call_next(context)
        message = f"{name} requires the role {needed}, but the token has the role {who.role}"
        return refusal(message, hint="Continue without this tool; the same call will be refused again.")

    async def check_resource_access(
        self, context: MiddlewareContext[mcp_types.ReadResourceRequestParams]
    ) -> None:
        """Refuse the briefing to other tenants, because it shows memories of the installation.

        Raises:
            AuthorizationError: The caller belongs to another tenant.
        """
        who = self._caller()
        if str(context.message.uri).startswith(BRIEFING_URI) and not who.of_installation:
            raise AuthorizationError(
                f"{context.message.uri} belongs to the installation, but the token belongs to tenant "
                f"{quoted(who.tenant_id)}"
            )
