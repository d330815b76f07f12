"""The ``workspace`` MCP server: the three memory tools of one workspace.

Start it with ``python -m commonplace.mcp.workspace``. A client may wait no longer than a second for the first answer,
so nothing imported here needs a database or a model.
"""

import sys
from typing import Any

from fastmcp import FastMCP
from fastmcp.tools import Tool as McpTool
from fastmcp.tools import ToolResult
from mcp_types import ToolAnnotations
from pydantic import PrivateAttr

from commonplace.core.settings import Settings
from commonplace.mcp import stdio
from commonplace.mcp.briefing import add_briefing, from_settings
from commonplace.workspace import TOOLS, Tool, WorkspaceMemory, call_tool, system_prompt_section

SERVER_NAME = "workspace"


class _WorkspaceTool(McpTool):
    """One built-in tool as an MCP tool.

    Arguments reach it as the model sent them, because the specification defines the answer to bad arguments, which
    differs from that of the framework's own validation.
    """

    _memory: WorkspaceMemory = PrivateAttr()

    @classmethod
    def wrap(cls, tool: Tool, memory: WorkspaceMemory) -> "_WorkspaceTool":
        wrapped = cls(
            name=tool.name,
            title=tool.title,
            description=tool.description,
            parameters=tool.parameters,
            annotations=ToolAnnotations(
                read_only_hint=tool.reads_only,
                destructive_hint=tool.destroys,
                idempotent_hint=False,
                open_world_hint=False,
            ),
        )
        wrapped._memory = memory
        return wrapped

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        return ToolResult(structured_content=await call_tool(self._memory, self.name, arguments))


def build_server(memory: WorkspaceMemory) -> FastMCP:
    """Return an MCP server with ``memory_store``, ``memory_search`` and ``memory_delete`` over an open memory.

    Its instructions are the section of the system prompt in the specification (WSP-12).
    """
    server = FastMCP(SERVER_NAME, instructions=system_prompt_section())
    for tool in TOOLS:
        server.add_tool(_WorkspaceTool.wrap(tool, memory))
    return server


async def serve_stdio(settings: Settings) -> None:
    """Serve the workspace of the settings on standard input and output until the client closes it.

    Raises:
        InvalidInputError: The workspace is not a directory.
        SettingsError: Its ``agent.json`` cannot be used.
    """
    async with WorkspaceMemory.open(settings) as memory:
        server = build_server(memory)
        add_briefing(server, from_settings(settings))
        await stdio.run(server)


def main() -> int:
    """Serve the workspace of the settings, by default the current directory, and return the exit status."""
    return stdio.serve(serve_stdio)


if __name__ == "__main__":
    sys.exit(main())
