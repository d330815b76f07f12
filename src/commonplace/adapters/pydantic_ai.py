"""The memory tools as a toolset of Pydantic AI."""

from functools import partial

from pydantic_ai import FunctionToolset, Tool

from commonplace.adapters.toolset import Toolset
from commonplace.knowledge import KnowledgeMemory
from commonplace.mcp.protocol.profiles import Profile


def memory_toolset(
    memory: KnowledgeMemory,
    *,
    butler: str | None = None,
    prefix: str = "",
    profile: Profile = Profile.AGENT,
) -> FunctionToolset[object]:
    """Return a toolset for ``Agent(toolsets=[…])``; the model reads why a call was refused.

    See :class:`.Toolset` for the arguments.

    Raises:
        InvalidInputError: The prefix cannot be part of a name.
    """
    tools = Toolset(memory, butler=butler, prefix=prefix, profile=profile)

    async def call(name: str, /, **arguments: object) -> str:
        # A refusal is returned as an answer: a second ModelRetry would end the run, and memory must never end a run.
        return (await tools.call(name, arguments)).text

    return FunctionToolset(
        [
            Tool.from_schema(partial(call, each.name), each.name, each.description, each.parameters)
            for each in tools.tools.values()
        ],
        instructions=tools.instructions,
    )
