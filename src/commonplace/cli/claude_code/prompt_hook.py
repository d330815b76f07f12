"""The hook of a prompt. It holds up every prompt: nothing that costs much is imported here."""

from typing import Final

from commonplace.cli.claude_code.call import HookCall
from commonplace.llm.injected import BETWEEN, FRAME_CHARS, as_data, cut_lines, framed
from commonplace.workspace.context import HEADER
from commonplace.workspace.memory import WorkspaceMemory

MAX_INJECTED_CHARS: Final = 10_000
"""Of more, the client passes on the first 2 KB and the path of a file. Source: measured."""


async def user_prompt(call: HookCall) -> str:
    """Return the block of workspace memory for a prompt; neither a database nor a model is touched."""
    async with WorkspaceMemory.open(call.settings) as memory:
        block = as_data(await memory.context_block(call.prompt))
    most = MAX_INJECTED_CHARS - FRAME_CHARS - len(BETWEEN)
    return framed([cut_lines(block, most, title=HEADER)])
