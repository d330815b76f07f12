"""The ``knowledge`` MCP server on standard input and output for the memory of a service.

Tools, prompts and resources are those of the local server; calls go to the service. So the handshake and the list of
tools need no connection, and a call works again as soon as the service does.
"""

import json
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote, urlencode

import mcp_types
from fastmcp import FastMCP
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import ToolResult

from commonplace.core.errors import AccessError, CommonplaceError, SettingsError
from commonplace.core.settings import Settings
from commonplace.knowledge import KnowledgeMemory
from commonplace.mcp.knowledge import server as local
from commonplace.mcp.knowledge.resources import BLOCK_URI
from commonplace.mcp.protocol import stdio
from commonplace.mcp.protocol.briefing import add_briefing, from_settings
from commonplace.mcp.protocol.profiles import ToolNames, View
from commonplace.mcp.protocol.server import new_server
from commonplace.mcp.protocol.tool import OUTAGE_HINT, refusal
from commonplace.services.team_client import TeamClient

OF_BUTLER: Final = ("butler", "scope")
TOKEN_HINT: Final = "Continue without memory, and tell the user about the token."  # noqa: S105 - a sentence


class Forward(Middleware):
    """Middleware that has the service carry out each call of a tool.

    ``tools`` has the schemas of the tools by their plain names; ``butler`` is the default of ``butler`` and ``scope``.
    """

    def __init__(
        self,
        service: TeamClient,
        tools: Mapping[str, Mapping[str, Any]],
        names: ToolNames,
        butler: str | None,
    ) -> None:
        self._service = service
        self._tools = tools
        self._names = names
        self._butler = butler

    async def on_call_tool(
        self,
        context: MiddlewareContext[mcp_types.CallToolRequestParams],
        call_next: CallNext[mcp_types.CallToolRequestParams, ToolResult],
    ) -> ToolResult:
        """Send a call to the service, and return its result, or an error that says what to do."""
        name = next((tool for tool in self._tools if self._names.shown(tool) == context.message.name), None)
        if name is None:
            return await call_next(context)
        given = {key: value for key, value in (context.message.arguments or {}).items() if value is not None}
        if self._butler is not None:
            known = self._tools[name]["properties"]
            given = {key: self._butler for key in OF_BUTLER if key in known} | given
        return await ask_service(self._service, name, given)


async def ask_service(
    service: TeamClient, tool: str, arguments: Mapping[str, Any], *, server: str = "knowledge"
) -> ToolResult:
    """Return the answer of a service to a call of a tool, or an error that says what to do."""
    try:
        answer = await service.call("tools/call", {"name": tool, "arguments": arguments}, server=server)
    except (AccessError, SettingsError) as error:
        return refusal(f"memory is out of reach: {error}", hint=TOKEN_HINT)
    except CommonplaceError as error:
        return refusal(f"memory is out of reach: {error}", hint=OUTAGE_HINT)
    result = mcp_types.CallToolResult.model_validate(answer)
    return ToolResult(
        content=result.content,
        structured_content=result.structured_content,
        is_error=bool(result.is_error),
    )


class RemoteTexts:
    """Texts of knowledge memory for resources and prompts, as a service writes them."""

    def __init__(self, service: TeamClient) -> None:
        self._service = service

    async def context(self, prompt: str, butler: str) -> str:
        """Return the block for a prompt."""
        query = urlencode({"prompt": prompt, "butler": butler}, quote_via=quote)
        return await self._read(f"{BLOCK_URI}?{query}")

    async def read(self, memory_type: str, memory_id: str) -> object:
        """Return a memory as JSON."""
        return json.loads(await self._read(f"commonplace://memory/{quote(memory_type)}/{quote(memory_id)}"))

    async def _read(self, uri: str) -> str:
        answer = await self._service.call("resources/read", {"uri": uri})
        return str(answer["contents"][0]["text"])


def add_to(server: FastMCP, service: TeamClient, memory: KnowledgeMemory, view: View) -> None:
    """Add tools, resources and prompts that use the memory of a service to a server.

    The memory of this machine gives the defaults that the tools show; it is never opened.
    """
    plain = {tool.name: tool.parameters for tool in local.build_tools(memory, view=View(butler=view.butler))}
    server.add_middleware(Forward(service, plain, view.names(local.TOOLS), view.butler))
    texts = RemoteTexts(service)

    async def of_service() -> RemoteTexts:
        return texts

    local.add_to(server, memory, view=view, texts=of_service)


async def serve_stdio(settings: Settings, view: View, *, service: TeamClient) -> None:
    """Serve the knowledge memory of a service on standard input and output until the client hangs up."""
    async with local.open_for_stdio(settings) as memory:
        server = new_server(local.SERVER_NAME, local.instructions_for(view))
        add_to(server, service, memory, view)
        add_own_briefing(server, settings, service, view.butler)
        await stdio.run(server)


def add_own_briefing(server: FastMCP, settings: Settings, service: TeamClient, own: str | None) -> None:
    """Add the briefing with the sections of a service to a server; ``own`` is the default of ``butler``."""
    brief = from_settings(settings, service=service, besides=("operational",))

    async def brief_own(prompt: str = "", app: str | None = None, butler: str | None = None) -> str:
        return await brief(prompt=prompt, app=app, butler=butler or own)

    add_briefing(server, brief_own)
