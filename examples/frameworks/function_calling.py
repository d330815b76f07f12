"""Memory tools for any model with function calling, without a framework."""

import asyncio

from commonplace import KnowledgeMemory
from commonplace.adapters.toolset import Toolset


async def main() -> None:
    """Print the tools, and run a call as a model would send it."""
    async with KnowledgeMemory.open() as memory:
        tools = Toolset(memory, butler="assistant")
        print([each["function"]["name"] for each in tools.for_chat_completions()])
        arguments = '{"subject": "staging", "predicate": "port", "content": "The port is 5434"}'
        print(await tools.call("memory_store_fact", arguments))
        print(await tools.call("memory_search", '{"query": "port of staging"}'))


if __name__ == "__main__":
    asyncio.run(main())
