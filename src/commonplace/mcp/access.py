"""The role that each tool requires over HTTP, where the token of a caller has a role.

On standard input and output there is one caller, who started the server.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import mcp_types
from fastmcp.exceptions import AuthorizationError
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import Tool, ToolResult

from commonplace.access import Principal, Role

ROLES: Final[Mapping[str, Role]] = {
    # memory_get and memory_recall count a use of the memories, which does not change their content.
    **dict.fromkeys(
        (
            "memory_search",
            "memory_recall",
            "memory_get",
            "memory_context",
            "memory_stats",
            "entity_get",
            "entity_resolve",
        ),
        Role.READER,
    ),
    **dict.fromkeys(
        (
            "memory_store",
            "memory_delete",
            "memory_store_episode",
            "memory_store_fact",
            "memory_store_rule",
            "memory_confirm",
            "memory_mark_helpful",
            "memory_mark_harmful",
            "memory_forget",
            "entity_create",
            "entity_update",
        ),
        Role.WRITER,
    ),
    **dict.fromkeys(
        ("memory_run_consolidation", "memory_run_episode_cleanup", "entity_merge"),
        Role.ADMIN,
    ),
}
"""The tools of both servers; any other tool requires an admin."""


def role_for(tool: str) -> Role:
    """Return the role that a tool requires."""
    return ROLES.get(tool, Role.ADMIN)


class RoleGate(Middleware):
    """Middleware that shows callers the tools that they may use, and refuses the others.

    Args:
        caller: Returns the caller of the current request.
    """

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
        hint = "Continue without this tool; the same call will be refused again."
        return ToolResult(
            content=f"{message}. {hint}",
            structured_content={"error": {"message": message, "hint": hint}},
            is_error=True,
        )

    async def check_resource_access(
        self, context: MiddlewareContext[mcp_types.ReadResourceRequestParams]
    ) -> None:
        """Refuse resources to other tenants, because resources show memories of the installation.

        Raises:
            AuthorizationError: The caller belongs to another tenant.
        """
        who = self._caller()
        if not who.of_installation:
            raise AuthorizationError(
                f"{context.message.uri} belongs to the installation, but the token belongs to tenant {who.tenant_id!r}"
            )
