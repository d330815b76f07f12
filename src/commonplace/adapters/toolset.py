"""The memory tools for any model with function calling: definitions for its API, and one function that runs calls."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from mcp_types import TextContent

from commonplace.core.errors import InvalidInputError
from commonplace.core.quoting import quoted
from commonplace.knowledge import KnowledgeMemory
from commonplace.mcp.knowledge.server import build_tools, instructions_for
from commonplace.mcp.protocol.profiles import Profile, View

if TYPE_CHECKING:
    from fastmcp.tools import Tool


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAnswer:
    """The answer to a call, as text for the model; ``is_error`` if the call was refused."""

    text: str
    is_error: bool


class Toolset:
    """The tools of knowledge memory.

    Args:
        memory: An open memory.
        butler: The agent whose memory this is; calls need not name it.
        prefix: A prefix for the names of the tools.
        profile: The tools to offer.

    Raises:
        InvalidInputError: The prefix cannot be part of a name.
    """

    def __init__(
        self,
        memory: KnowledgeMemory,
        *,
        butler: str | None = None,
        prefix: str = "",
        profile: Profile = Profile.AGENT,
    ) -> None:
        view = View(butler=butler, prefix=prefix, profile=profile)
        self.tools: Mapping[str, Tool] = {tool.name: tool for tool in build_tools(memory, view=view)}
        """The tools by name, each with a description and the JSON Schema of its parameters."""
        self.instructions = instructions_for(view)
        """How to use the tools, for the system prompt."""

    def for_chat_completions(self) -> list[dict[str, Any]]:
        """Return the definitions for OpenAI's Chat Completions API and the many APIs compatible with it."""
        return [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters,
                },
            }
            for tool in self.tools.values()
        ]

    def for_responses(self) -> list[dict[str, Any]]:
        """Return the definitions for OpenAI's Responses API."""
        return [
            {"type": "function", "strict": False, **each["function"]} for each in self.for_chat_completions()
        ]

    def for_messages(self) -> list[dict[str, Any]]:
        """Return the definitions for Anthropic's Messages API."""
        return [
            {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
            for tool in self.tools.values()
        ]

    async def call(self, name: str, arguments: Mapping[str, Any] | str) -> ToolAnswer:
        """Run a model's call.

        Args:
            name: The name of a tool.
            arguments: The arguments, or their JSON as OpenAI's APIs send it.

        Returns:
            The answer; if the call cannot be run, it says what to do.
        """
        tool = self.tools.get(name)
        if tool is None:
            return ToolAnswer(
                text=f"no tool {quoted(name)}: expected one of {', '.join(self.tools)}", is_error=True
            )
        try:
            given: object = json.loads(arguments or "{}") if isinstance(arguments, str) else arguments
        except (ValueError, RecursionError):
            given = None
        if not isinstance(given, Mapping):
            refusal = InvalidInputError("arguments", "a JSON object", arguments)
            return ToolAnswer(text=str(refusal), is_error=True)
        result = await tool.run(dict(cast("Mapping[str, Any]", given)))
        texts = [block.text for block in result.content if isinstance(block, TextContent)]
        return ToolAnswer(text="\n".join(texts), is_error=result.is_error)
