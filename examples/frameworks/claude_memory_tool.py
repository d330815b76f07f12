"""Claude's memory tool on knowledge memory. Needs `pip install 'commonplace[anthropic]'`.

The commands are those that Claude sends. With a key, pass the tool to `client.beta.messages.tool_runner`.
"""

import asyncio

from commonplace import KnowledgeMemory
from commonplace.adapters.anthropic_memory import CommonplaceMemoryTool

NOTES = "/memories/notes.md"


async def main() -> None:
    """Write a file, change it, and show its versions."""
    async with KnowledgeMemory.open() as memory:
        tool = CommonplaceMemoryTool(memory)
        for command in (
            {"command": "create", "path": NOTES, "file_text": "The port is 5433\n"},
            {"command": "str_replace", "path": NOTES, "old_str": "5433", "new_str": "5434"},
            {"command": "view", "path": NOTES},
        ):
            print(await tool.call(command))
        print(await tool.versions(NOTES))
        await tool.clear_all_memory()


if __name__ == "__main__":
    asyncio.run(main())
