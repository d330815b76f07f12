"""Preload of MCP servers: imports and builds everything that their first answers need, before they are forked."""

import asyncio
from importlib import import_module
from typing import Final, NoReturn

from fastmcp import Client

from commonplace.core.settings import Settings
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge import KnowledgeMemory
from commonplace.mcp.agent.server import build_server
from commonplace.mcp.knowledge.server import add_to
from commonplace.mcp.protocol.profiles import View

NEEDED: Final = (
    "commonplace.cli.main",
    "commonplace.cli.commands.mcp",
    "commonplace.mcp.workspace.server",
    "mcp.server.stdio",
)
"""Further modules that the command imports."""


def preload() -> None:
    """List the tools, prompts and resources of a server without starting a database or a thread."""
    for module in NEEDED:
        import_module(module)
    asyncio.run(_list_all())


async def _list_all() -> None:
    async with KnowledgeMemory.open(Settings(), engine=EmbeddingEngine(), lazy=True) as memory:
        server = build_server(_no_memories, View(butler="preload"))
        add_to(server, memory, view=View(butler="preload", prefix="knowledge"))
        async with Client(server) as client:
            await client.list_tools()
            await client.list_prompts()
            await client.list_resources()


async def _no_memories() -> NoReturn:
    raise AssertionError("the preload calls no tool")
