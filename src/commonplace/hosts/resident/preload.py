"""Preload of the fork server: imports and builds everything that forks need for their first answers.

No step opens a connection or starts a thread, because neither survives a fork.
"""

import asyncio
from functools import partial
from importlib import import_module
from typing import Final, NoReturn

from fastmcp import Client

from commonplace import apps, knowledge, operational
from commonplace.core.settings import Settings, load_settings
from commonplace.embedding import EmbeddingEngine, EmbeddingOptions, prepare_model
from commonplace.hosts.resident.huge_pages import use_huge_pages
from commonplace.judge import judge
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
"""Further modules that the first answers of MCP servers need."""

_MODULES: Final = (
    "commonplace.services.briefing",
    "commonplace.mcp.agent.caller_memories",
    "commonplace.operational.memory",
    "commonplace.embedding.onnx_backend",
    "aiosqlite",
    "anyio._backends._asyncio",
    "encodings.ascii",
    "rich.markdown",
    "typer._adapters",
    "typer._click.decorators",
)
"""Modules that commands and servers import later."""


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


def _prepare_commands() -> None:
    import_module("commonplace.cli.main").prepare()


def _prepare_models() -> None:
    """Open the models of this home, if an embedding was computed here before: a first one writes files."""
    if prepare_model(EmbeddingOptions.from_settings(load_settings(read_current_directory=False).settings)):
        judge.prepare()


LATER: Final = (
    _prepare_commands,
    *(partial(import_module, name) for name in _MODULES),
    operational.prepare_statements,
    apps.prepare_statements,
    knowledge.prepare_statements,
    knowledge.compile_patterns,
    _prepare_models,
    use_huge_pages,
)
"""Steps that make commands, and later answers of servers, fast. They run while no command waits."""
