"""One MCP server with the tools of knowledge, workspace and app memory under distinct names.

Clients that refuse two tools with the same name cannot mount the ``knowledge`` and the ``workspace`` server together:
both have a ``memory_search``. Here the tools of workspace memory begin with ``workspace_``.
"""

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Final

from fastmcp import FastMCP

from commonplace.apps import AppMemory
from commonplace.core.request_context import RequestContext
from commonplace.core.settings import Settings
from commonplace.knowledge import KnowledgeMemory
from commonplace.mcp.apps import server as apps
from commonplace.mcp.knowledge import forwarding
from commonplace.mcp.knowledge import server as knowledge
from commonplace.mcp.protocol import stdio
from commonplace.mcp.protocol.briefing import add_briefing, from_settings
from commonplace.mcp.protocol.profiles import WHOLE, Profile, View
from commonplace.mcp.protocol.server import new_server
from commonplace.mcp.workspace import server as workspace
from commonplace.services.team_client import Service
from commonplace.workspace import WorkspaceMemory

SERVER_NAME: Final = "commonplace"
WORKSPACE: Final = "workspace"


def build_server(
    facts: KnowledgeMemory,
    notes: WorkspaceMemory,
    conversations: Callable[[], Awaitable[AppMemory]],
    *,
    caller: Callable[[], RequestContext] | None = None,
    service: Service | None = None,
    view: View = WHOLE,
) -> FastMCP:
    """Return an MCP server over open memories; the tools of app memory are in the full profile only.

    With ``service``, that service carries out the calls of knowledge memory, and ``facts`` is never opened. Each call
    of a tool of app memory calls ``conversations``. See :func:`.knowledge.server.build_server` for ``caller``.
    """
    of_workspace = replace(view, prefix=f"{view.prefix}_{WORKSPACE}" if view.prefix else WORKSPACE)
    is_full = view.profile is Profile.FULL
    instructions = [
        knowledge.instructions_for(view),
        workspace.instructions_for(of_workspace),
        *([apps.instructions_for(view)] if is_full else []),
    ]
    server = new_server(SERVER_NAME, "\n\n".join(instructions))
    if service is None:
        server.add_middleware(knowledge.BeginAfterHandshake(facts))
        knowledge.add_to(server, facts, caller=caller, view=view)
    else:
        forwarding.add_to(server, service, facts, view)
    workspace.add_tools(server, notes, of_workspace)
    if is_full:
        apps.add_tools(server, conversations, view)
    return server


async def serve_stdio(settings: Settings, view: View, *, service: Service | None = None) -> None:
    """Serve the memories of the settings on standard input and output until the client hangs up.

    Raises:
        InvalidInputError: The workspace is not a directory.
    """
    async with AsyncExitStack() as stack:
        facts = await stack.enter_async_context(knowledge.open_for_stdio(settings))
        notes = await stack.enter_async_context(WorkspaceMemory.open(settings))
        conversations = apps.OpenedByFirstCall(settings, stack)
        stdio.on_signal(conversations.release)
        server = build_server(facts, notes, conversations, service=service, view=view)
        if service is None:
            add_briefing(server, from_settings(settings, knowledge=facts))
        else:
            forwarding.add_own_briefing(server, settings, service, view.butler)
        await stdio.run(server)
