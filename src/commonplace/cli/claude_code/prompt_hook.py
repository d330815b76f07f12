"""Hook of a prompt. Every prompt waits for it, so this module imports little."""

from typing import Final

from commonplace.cli.claude_code.call import HookCall
from commonplace.llm.injected import BETWEEN, FRAME_CHARS, as_data, cut_lines, framed
from commonplace.workspace import HEADER, WorkspaceMemory

MAX_INJECTED_CHARS: Final = 10_000
"""The client cuts longer output to its first 2 KB and the path of a file. Source: measured."""


async def user_prompt(call: HookCall) -> str:
    """Return the block of workspace memory for a prompt, without a database or a model."""
    async with WorkspaceMemory.open(call.settings) as memory:
        block = as_data(await memory.context(call.prompt))
    most = MAX_INJECTED_CHARS - FRAME_CHARS - len(BETWEEN)
    return framed([cut_lines(block, most, title=HEADER)])
