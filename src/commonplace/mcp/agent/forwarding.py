"""Calls of the tools for agents whose knowledge memory is a service.

The id or the kind of a memory says where it is: facts, rules, episodes and entities are at the service, the others on
this machine. A search asks both.
"""

import json
from collections.abc import Mapping
from itertools import chain, zip_longest
from typing import Any, Final
from uuid import UUID

import mcp_types
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import ToolResult

from commonplace.core.errors import (
    InvalidInputError,
    StorageUnavailableError,
)
from commonplace.mcp.agent.tools import DEFAULT_LIMIT, TOOLS
from commonplace.mcp.knowledge.forwarding import ask_service
from commonplace.mcp.protocol.profiles import View
from commonplace.services.memory_ids import MemoryKind, parse_memory_id
from commonplace.services.team_client import TeamClient

SERVER: Final = "agent"
AT_SERVICE: Final = frozenset({MemoryKind.FACT, MemoryKind.RULE, MemoryKind.EPISODE, MemoryKind.ENTITY})
SCOPED: Final = {"memory_search": ("scope",), "memory_add": ("scope", "butler")}
"""The parameters that a call gets from the view if it does not name them."""


def elsewhere(service: TeamClient) -> StorageUnavailableError:
    """Return the error for a use of the knowledge memory of this machine."""
    return StorageUnavailableError(f"knowledge memory is at {service.url}, not on this machine")


class ForwardKnowledge(Middleware):
    """Middleware that has a service carry out the calls about memories that it holds."""

    def __init__(self, service: TeamClient, view: View) -> None:
        self._service = service
        self._view = view
        names = view.names(TOOLS)
        self._tools = {names.shown(spec.name): spec.name for spec in TOOLS}

    async def on_call_tool(
        self,
        context: MiddlewareContext[mcp_types.CallToolRequestParams],
        call_next: CallNext[mcp_types.CallToolRequestParams, ToolResult],
    ) -> ToolResult:
        """Send a call to the service if it is about its memories; a search asks both."""
        tool = self._tools.get(context.message.name, "")
        arguments = {
            key: value for key, value in (context.message.arguments or {}).items() if value is not None
        }
        if tool == "memory_search":
            mine, theirs = await call_next(context), await self._asked(tool, arguments)
            limit = arguments.get("limit", DEFAULT_LIMIT)
            return mine if mine.is_error else _merged(mine, theirs, limit)
        if _is_at_service(arguments):
            return await self._asked(tool, arguments)
        return await call_next(context)

    async def _asked(self, tool: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Return the answer of the service, or an error that says what to do."""
        own = dict.fromkeys(SCOPED.get(tool, ()) if self._view.butler else (), self._view.butler)
        return await ask_service(self._service, tool, {**own, **arguments}, server=SERVER)


def _is_at_service(arguments: Mapping[str, Any]) -> bool:
    """Return whether a call names a memory, or a kind of memory, that the service holds; malformed ids are local."""
    if "memory_id" in arguments:
        try:
            memory_id = parse_memory_id(str(arguments["memory_id"]))
        except InvalidInputError:
            return False
        return isinstance(memory_id, UUID) or memory_id.kind in AT_SERVICE
    return arguments.get("kind") in AT_SERVICE


def _merged(mine: ToolResult, theirs: ToolResult, limit: object) -> ToolResult:
    """Return the results of both in turn; a service that does not answer is a problem, not an error."""
    here, there = mine.structured_content or {}, theirs.structured_content or {}
    problems = [*here.get("problems", ()), *there.get("problems", ())]
    if theirs.is_error:
        problems.append(f"knowledge: {there.get('error', {}).get('message', 'no answer')}")
    pairs = zip_longest(there.get("results", ()), here.get("results", ()))
    results = [each for each in chain.from_iterable(pairs) if each is not None]
    notes = [each["note"] for each in (there, here) if "note" in each]
    answer: dict[str, Any] = {"results": results[: int(str(limit))]}
    if notes:
        answer["note"] = " ".join(notes)
    if problems:
        answer["problems"] = problems
    if not results and "hint" in here:
        answer["hint"] = here["hint"]
    return ToolResult(content=json.dumps(answer, ensure_ascii=False), structured_content=answer)
