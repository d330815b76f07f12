"""The MCP servers as applications; :mod:`commonplace.web.http.mcp_endpoint` imports this module in the background.

Requests are stateless, so any number of processes can serve them.
"""

from dataclasses import replace
from functools import partial
from typing import NoReturn

from fastmcp import FastMCP
from fastmcp.server.dependencies import get_http_request
from fastmcp.server.http import StarletteWithLifespan
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import ToolResult
from mcp_types import CallToolRequestParams

from commonplace.access import Principal
from commonplace.apps import AppMemory
from commonplace.core.errors import InvalidInputError
from commonplace.core.request_context import RequestContext
from commonplace.core.tracing import span
from commonplace.mcp import combined
from commonplace.mcp.access import RoleGate
from commonplace.mcp.agent import server as agent
from commonplace.mcp.agent.caller_memories import CallerMemories
from commonplace.mcp.apps import server as apps
from commonplace.mcp.knowledge import server as knowledge
from commonplace.mcp.protocol.briefing import add_briefing
from commonplace.mcp.protocol.profiles import WHOLE
from commonplace.mcp.workspace import server as workspace
from commonplace.services.briefing import OF_KNOWLEDGE, BriefingPart, build_briefing
from commonplace.services.opening import Memories, OpenedMemories
from commonplace.services.review.queue import ReviewQueue
from commonplace.services.search.items import PARTS
from commonplace.web.http.access import actor_of, caller_of


def application(memories: Memories, name: str) -> StarletteWithLifespan:
    """Return a server over open memories, with the briefing; the caller runs its lifespan."""

    async def app_memory() -> AppMemory:
        return memories.apps

    async def queue() -> ReviewQueue:
        context = _context()
        own = memories.knowledge.acting_for(tenant_id=context.tenant_id, actor=context.actor)
        return ReviewQueue(memories=replace(memories, knowledge=own))

    match name:
        case "workspace":
            server = workspace.build_server(memories.workspace)
        case "knowledge":
            server = knowledge.build_server(memories.knowledge, caller=_context)
        case "apps":
            server = apps.build_server(app_memory)
        case "all":
            server = combined.build_server(
                memories.knowledge, memories.workspace, app_memory, queue=queue, caller=_context
            )
        case _:
            return _application(agent.build_server(partial(_agent_memories, memories), WHOLE))
    add_briefing(server, partial(_brief, memories))
    return _application(server)


async def _agent_memories(memories: Memories) -> CallerMemories:
    """Return the memories that the caller may use: of other tenants, knowledge memory only."""
    who, context = _principal(), _context()
    own = memories.knowledge.acting_for(tenant_id=context.tenant_id, actor=context.actor)
    opened = OpenedMemories.of(replace(memories, knowledge=own))
    if not who.of_installation:
        opened = OpenedMemories(operational=_refuse, apps=_refuse, workspace=_refuse, knowledge=lambda: own)

    async def brief(*, prompt: str, butler: str | None, budget_tokens: int | None) -> str:
        built = await build_briefing(
            replace(memories, knowledge=own),
            prompt=prompt,
            butler=butler,
            budget_tokens=budget_tokens,
            sections=None if who.of_installation else OF_KNOWLEDGE,
        )
        return built.text

    return CallerMemories(
        opened,
        memories.knowledge.database.settings,
        caller=context,
        brief=brief,
        parts=PARTS if who.of_installation else [BriefingPart.KNOWLEDGE],
    )


def _refuse() -> NoReturn:
    expected = "a fact, rule, episode or entity, because the other memories belong to the installation"
    raise InvalidInputError("kind", expected, "a memory of the installation")


async def _brief(
    memories: Memories, *, prompt: str = "", app: str | None = None, butler: str | None = None
) -> str:
    """Return the briefing on behalf of the caller; :class:`RoleGate` has already refused other tenants."""
    context = _context()
    own = memories.knowledge.acting_for(tenant_id=context.tenant_id, actor=context.actor)
    built = await build_briefing(replace(memories, knowledge=own), prompt=prompt, app=app, butler=butler)
    return built.text


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
    """Records a span for each call of a tool, with the name of the tool and without its arguments."""

    async def on_call_tool(
        self,
        context: MiddlewareContext[CallToolRequestParams],
        call_next: CallNext[CallToolRequestParams, ToolResult],
    ) -> ToolResult:
        """Pass a call on in a span."""
        with span("mcp.tool", tool=context.message.name):
            return await call_next(context)
