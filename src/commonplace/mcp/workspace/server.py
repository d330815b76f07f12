"""The ``workspace`` MCP server: the three memory tools of one workspace.

Start it with ``python -m commonplace.mcp.workspace.server``. A client may wait no longer than a second for the first
answer, so nothing imported here needs a database or a model.
"""

import sys
from typing import Any, Final

from fastmcp import FastMCP
from fastmcp.tools import Tool as McpTool
from fastmcp.tools import ToolResult
from mcp_types import ToolAnnotations
from pydantic import PrivateAttr

from commonplace.core.settings import Settings
from commonplace.mcp.protocol import stdio
from commonplace.mcp.protocol.briefing import add_briefing, from_settings
from commonplace.mcp.protocol.profiles import WHOLE, Profile, ToolNames, View
from commonplace.mcp.protocol.server import new_server
from commonplace.workspace import TOOLS, Tool, WorkspaceMemory, call_tool, system_prompt_section

SERVER_NAME = "workspace"


def _answers(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    """Return the output schema of a tool that answers with these properties, or with ``ok: false`` and an error."""
    refusal = {
        "ok": {"type": "boolean"},
        "error": {"type": "string", "description": "The reason, and how to correct the call."},
    }
    return {
        "type": "object",
        "properties": {**refusal, **properties},
        "anyOf": [{"required": list(required)}, {"required": ["ok", "error"]}],
    }


_FOUND: Final = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "text": {"type": "string"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "ts": {"type": "string", "format": "date-time"},
    },
    "required": ["id", "text", "tags", "ts"],
}
_IDS: Final = {"type": "array", "items": {"type": "string"}}
OUTPUTS: Final = {
    "memory_store": _answers(
        {
            "id": {"type": "string"},
            "repeated": {"type": "boolean", "description": "Whether the memory was there already."},
            "same": _IDS | {"description": "Older memories that say the same in other words."},
            "opposed": _IDS | {"description": "Older memories that this one may contradict, or not replace."},
            "replaced": {"type": "string", "description": "The memory that this one replaced."},
            "note": {"type": "string"},
        },
        "ok",
        "id",
    ),
    "memory_search": _answers(
        {"count": {"type": "integer"}, "memories": {"type": "array", "items": _FOUND}}, "count", "memories"
    ),
    "memory_delete": _answers({}, "ok"),
}
"""The output schema of each tool. Source: WSP-02, WSP-05, WSP-06."""


class _WorkspaceTool(McpTool):
    """One built-in tool as an MCP tool.

    Arguments reach it as the model sent them, because the specification defines the answer to bad arguments, which
    differs from that of the framework's own validation.
    """

    _memory: WorkspaceMemory = PrivateAttr()
    _tool: Tool = PrivateAttr()
    _names: ToolNames = PrivateAttr()

    @classmethod
    def wrap(cls, tool: Tool, memory: WorkspaceMemory, view: View) -> "_WorkspaceTool":
        is_short, names = view.profile is Profile.AGENT, view.names(TOOLS)
        wrapped = cls(
            name=names.shown(tool.name),
            title=tool.title,
            description=names.within(
                tool.description.partition(". ")[0] + "." if is_short else tool.description
            ),
            parameters=tool.parameters,
            output_schema=OUTPUTS[tool.name],
            annotations=ToolAnnotations(
                read_only_hint=tool.reads_only,
                destructive_hint=tool.destroys,
                idempotent_hint=False,
                open_world_hint=False,
            ),
        )
        wrapped._memory, wrapped._tool, wrapped._names = memory, tool, names
        return wrapped

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        answer = await call_tool(self._memory, self._tool.name, arguments)
        if "error" in answer:
            answer["error"] = self._names.within(answer["error"])
        return ToolResult(structured_content=answer)


def build_server(memory: WorkspaceMemory, *, view: View = WHOLE) -> FastMCP:
    """Return an MCP server with ``memory_store``, ``memory_search`` and ``memory_delete`` over an open memory.

    Its instructions are the section of the system prompt in the specification (WSP-12).
    """
    server = new_server(SERVER_NAME, instructions_for(view))
    add_tools(server, memory, view)
    return server


def instructions_for(view: View) -> str:
    """Return the instructions of a server."""
    return view.names(TOOLS).within(system_prompt_section())


def add_tools(server: FastMCP, memory: WorkspaceMemory, view: View) -> None:
    """Add the tools to a server; in the profile of an agent, their descriptions are short."""
    for tool in TOOLS:
        server.add_tool(_WorkspaceTool.wrap(tool, memory, view))


async def serve_stdio(settings: Settings, view: View) -> None:
    """Serve the workspace of the settings, by default the current directory, until the client closes standard input.

    Raises:
        InvalidInputError: The workspace is not a directory.
        SettingsError: Its ``agent.json`` cannot be used.
    """
    async with WorkspaceMemory.open(settings) as memory:
        server = build_server(memory, view=view)
        add_briefing(server, from_settings(settings))
        await stdio.run(server)


if __name__ == "__main__":
    sys.exit(stdio.serve(serve_stdio))
