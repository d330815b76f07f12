"""One MCP server with the tools of knowledge, workspace and app memory under distinct names.

Clients that refuse two tools of one name cannot mount the ``knowledge`` and the ``workspace`` server together: both
have a ``memory_search``. Here the tools of workspace memory begin with ``workspace_``.
"""

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial
from typing import Final

from fastmcp import FastMCP

from commonplace.apps import AppMemory
from commonplace.core.context import RequestContext
from commonplace.core.settings import Settings
from commonplace.knowledge import KnowledgeMemory
from commonplace.mcp import stdio, workspace
from commonplace.mcp.apps import server as apps
from commonplace.mcp.briefing import add_briefing, from_settings
from commonplace.mcp.knowledge import forwarding
from commonplace.mcp.knowledge import server as knowledge
from commonplace.mcp.profiles import Profile
from commonplace.mcp.server import new_server
from commonplace.projects import Projects
from commonplace.remote import Service
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
    butler: str | None = None,
    prefix: str = "",
    profile: Profile = Profile.FULL,
) -> FastMCP:
    """Return an MCP server over open memories.

    Args:
        facts: May be lazy.
        notes: An open memory.
        conversations: Returns the open memory; called for each call of a tool.
        caller: Returns the authenticated tenant and actor of each call of knowledge memory; ``None`` for its own.
        service: Carries out the calls of knowledge memory, and ``facts`` is never opened; ``None`` for ``facts``.
        butler: The default of ``butler`` and ``scope``.
        prefix: Stands before the names of all tools and prompts.
        profile: The tools to show; those of app memory are in the full profile only.

    Raises:
        InvalidInputError: The prefix cannot be part of a name.
    """
    of_workspace = f"{prefix}_{WORKSPACE}" if prefix else WORKSPACE
    instructions = [
        knowledge.instructions_for(butler=butler, prefix=prefix),
        workspace.instructions_for(prefix=of_workspace),
        *([apps.instructions_for(prefix=prefix)] if profile is Profile.FULL else []),
    ]
    server = new_server(SERVER_NAME, "\n\n".join(instructions))
    if service is None:
        server.add_middleware(knowledge.BeginAfterHandshake(facts))
        knowledge.add_to(server, facts, caller=caller, butler=butler, prefix=prefix, profile=profile)
    else:
        forwarding.add_to(server, service, facts, butler=butler, prefix=prefix, profile=profile)
    workspace.add_tools(server, notes, prefix=of_workspace, profile=profile)
    if profile is Profile.FULL:
        apps.add_tools(server, conversations, prefix=prefix)
    return server


async def serve_stdio(
    settings: Settings,
    *,
    service: Service | None = None,
    of_project: bool = False,
    butler: str | None = None,
    prefix: str = "",
    profile: Profile = Profile.FULL,
) -> None:
    """Serve the memories of the settings on standard input and output until the client hangs up.

    Args:
        settings: The settings.
        service: See :func:`build_server`.
        of_project: Make the project of the workspace the default of ``butler`` and ``scope``.
        butler: Another default.
        prefix: See :func:`build_server`.
        profile: See :func:`build_server`.

    Raises:
        InvalidInputError: The workspace is not a directory, or the prefix cannot be part of a name.
    """
    own = butler or (Projects(settings.home).butler_at(settings.workspace) if of_project else None)
    async with AsyncExitStack() as stack:
        facts = await stack.enter_async_context(knowledge.open_for_stdio(settings))
        notes = await stack.enter_async_context(WorkspaceMemory.open(settings))
        conversations = apps.OpenedByFirstCall(settings, stack)
        stdio.on_signal(conversations.release)
        server = build_server(
            facts, notes, conversations, service=service, butler=own, prefix=prefix, profile=profile
        )
        if service is None:
            add_briefing(server, from_settings(settings, knowledge=facts))
        else:
            forwarding.add_own_briefing(server, settings, service, own)
        await stdio.run(server)


def main(
    *,
    server: str | None = None,
    token_file: str = "",
    project: bool = False,
    butler: str | None = None,
    prefix: str = "",
    profile: Profile = Profile.FULL,
) -> int:
    """Serve on standard input and output; return the exit status."""
    service = None if server is None else Service.at(server, token_file)
    return stdio.serve(
        partial(
            serve_stdio, service=service, of_project=project, butler=butler, prefix=prefix, profile=profile
        )
    )
