"""One MCP server with the tools of knowledge, workspace and app memory under distinct names.

Clients that refuse two tools with the same name cannot mount the ``knowledge`` and the ``workspace`` server together:
both have a ``memory_search``. Here the tools of workspace memory begin with ``workspace_``. Only this server has the
tools of the review queue, which spans all memories. :mod:`commonplace.mcp.agent.server` has a few tools over all
memories instead.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from importlib import import_module
from typing import Final

from fastmcp import FastMCP

from commonplace.apps import AppMemory
from commonplace.core.request_context import RequestContext
from commonplace.core.settings import Settings
from commonplace.knowledge import KnowledgeMemory
from commonplace.mcp import review
from commonplace.mcp.apps import server as apps
from commonplace.mcp.knowledge import forwarding
from commonplace.mcp.knowledge import server as knowledge
from commonplace.mcp.protocol import stdio
from commonplace.mcp.protocol.briefing import add_briefing, from_settings
from commonplace.mcp.protocol.profiles import WHOLE, View
from commonplace.mcp.protocol.server import new_server
from commonplace.mcp.workspace import server as workspace
from commonplace.services.review.queue import ReviewQueue
from commonplace.services.team_client import TeamClient
from commonplace.workspace import WorkspaceMemory

SERVER_NAME: Final = "commonplace"
WORKSPACE: Final = "workspace"


def build_server(
    facts: KnowledgeMemory,
    notes: WorkspaceMemory,
    conversations: Callable[[], Awaitable[AppMemory]],
    *,
    queue: Callable[[], Awaitable[ReviewQueue]] | None = None,
    caller: Callable[[], RequestContext] | None = None,
    service: TeamClient | None = None,
    view: View = WHOLE,
) -> FastMCP:
    """Return an MCP server over open memories.

    Each call of a tool of app memory or of the review queue calls ``conversations`` or ``queue``; without ``queue``,
    there are no tools of the review queue. With ``service``, that service carries out the calls of knowledge memory,
    and ``facts`` is never opened. See :func:`.knowledge.server.build_server` for ``caller``.
    """
    of_workspace = replace(view, prefix=f"{view.prefix}_{WORKSPACE}" if view.prefix else WORKSPACE)
    instructions = [
        knowledge.instructions_for(view),
        workspace.instructions_for(of_workspace),
        apps.instructions_for(view),
        *([] if queue is None else [review.instructions_for(view)]),
    ]
    server = new_server(SERVER_NAME, "\n\n".join(instructions))
    if service is None:
        server.add_middleware(knowledge.BeginAfterHandshake(facts))
        knowledge.add_to(server, facts, caller=caller, view=view)
    else:
        forwarding.add_to(server, service, facts, view)
    workspace.add_tools(server, notes, of_workspace)
    apps.add_tools(server, conversations, view)
    if queue is not None:
        review.add_tools(server, queue, view)
    return server


class QueueOfFirstCall:
    """The review queue over the memories of a server; its first call opens operational memory.

    ``stack`` closes operational memory; the other memories are open, or open at their first use.
    """

    def __init__(
        self,
        settings: Settings,
        stack: AsyncExitStack,
        facts: KnowledgeMemory,
        notes: WorkspaceMemory,
        conversations: Callable[[], Awaitable[AppMemory]],
    ) -> None:
        self._settings = settings
        self._stack = stack
        self._facts = facts
        self._notes = notes
        self._conversations = conversations
        self._opening = asyncio.Lock()
        self._queue: ReviewQueue | None = None

    async def __call__(self) -> ReviewQueue:
        """Return the queue; if a memory cannot be opened, the next call tries again."""
        async with self._opening:
            if self._queue is None:
                self._queue = await self._opened()
            return self._queue

    async def _opened(self) -> ReviewQueue:
        # Imported here, because the handshake must not wait for operational memory.
        memories = import_module("commonplace.services.opening").Memories
        operational = import_module("commonplace.operational").OperationalMemory
        return ReviewQueue(
            memories=memories(
                operational=await self._stack.enter_async_context(operational.open(self._settings)),
                apps=await self._conversations(),
                workspace=self._notes,
                knowledge=self._facts,
            )
        )


async def serve_stdio(settings: Settings, view: View, *, service: TeamClient | None = None) -> None:
    """Serve the memories of the settings on standard input and output until the client hangs up.

    Raises:
        InvalidInputError: The workspace is not a directory.
    """
    async with AsyncExitStack() as stack:
        facts = await stack.enter_async_context(knowledge.open_for_stdio(settings))
        notes = await stack.enter_async_context(WorkspaceMemory.open(settings))
        conversations = apps.OpenedByFirstCall(settings, stack)
        stdio.on_signal(conversations.release)
        # The items of a service are in its own queue, and no queue spans both.
        queue = None if service else QueueOfFirstCall(settings, stack, facts, notes, conversations)
        server = build_server(facts, notes, conversations, queue=queue, service=service, view=view)
        if service is None:
            add_briefing(server, from_settings(settings, knowledge=facts))
        else:
            forwarding.add_own_briefing(server, settings, service, view.butler)
        await stdio.run(server)
