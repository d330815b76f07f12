"""An agent of Pydantic AI with memory tools. Needs `pip install 'commonplace[pydantic-ai]'`.

The test model calls one tool with arguments made from its schema: name a real model for real arguments.
"""

import asyncio

from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel

from commonplace import KnowledgeMemory
from commonplace.adapters.pydantic_ai import memory_toolset


async def main() -> None:
    """Run an agent that stores a fact."""
    async with KnowledgeMemory.open() as memory:
        model = TestModel(call_tools=["memory_store_fact"])
        agent = Agent(model, toolsets=[memory_toolset(memory, butler="assistant")])
        print((await agent.run("Remember that the port is 5434")).output)


if __name__ == "__main__":
    asyncio.run(main())
