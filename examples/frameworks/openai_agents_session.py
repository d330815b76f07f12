"""A persistent conversation of the OpenAI Agents SDK. Needs `pip install 'commonplace[openai-agents]'`.

The model is scripted, so no key is needed: leave out `model` for a real one.
"""

import asyncio

from agents import Agent, RunConfig, Runner
from agents.testing import ScriptedModel
from openai.types.responses import ResponseOutputMessage, ResponseOutputText

from commonplace import KnowledgeMemory
from commonplace.adapters.openai_agents import CommonplaceSession


def says(text: str) -> list[ResponseOutputMessage]:
    """Return an answer of the scripted model."""
    part = ResponseOutputText(annotations=[], text=text, type="output_text")
    return [
        ResponseOutputMessage(id="m", content=[part], role="assistant", status="completed", type="message")
    ]


async def main() -> None:
    """Talk twice in one session, then store the conversation as an episode."""
    agent = Agent(name="ops", model=ScriptedModel([says("Noted: port 5434."), says("You said 5434.")]))
    async with KnowledgeMemory.open() as memory:
        for question in ("The port of staging is 5434.", "Which port?"):
            session = CommonplaceSession("ticket-7", memory)
            result = await Runner.run(
                agent, question, session=session, run_config=RunConfig(tracing_disabled=True)
            )
            print(result.final_output, len(await session.get_items()), "items")
        await CommonplaceSession("ticket-7", memory).store_episode("ops")


if __name__ == "__main__":
    asyncio.run(main())
