"""The session of the OpenAI Agents SDK, beside the SDK's own and in real runs."""

from typing import Any

import pytest
from agents import Agent, RunConfig, Runner, SQLiteSession, function_tool
from agents.memory import Session, SessionSettings
from agents.testing import ScriptedModel
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseReasoningItem,
)

from commonplace.adapters.openai_agents import CommonplaceSession
from commonplace.knowledge import KnowledgeMemory, Narrowing

QUIET = RunConfig(tracing_disabled=True)
ITEMS: list[Any] = [
    {"role": "user", "content": "Hi \u00e9\u4e16 \U0001f600"},
    {"id": "rs_1", "type": "reasoning", "summary": []},
    {"type": "function_call", "call_id": "c1", "name": "port", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c1", "output": "5434"},
    {"id": "m1", "role": "assistant", "type": "message", "status": "completed",
     "content": [{"type": "output_text", "text": "It is 5434", "annotations": []}]},
]  # fmt: skip


def says(text: str) -> ResponseOutputMessage:
    """Return a message of the model."""
    part = ResponseOutputText(annotations=[], text=text, type="output_text")
    return ResponseOutputMessage(id="m", content=[part], role="assistant", status="completed", type="message")


async def test_it_answers_as_the_session_of_the_sdk(memory: KnowledgeMemory) -> None:
    """Items come back as they were, in order, the last ones for a limit; pop and clear remove them."""
    ours, theirs = CommonplaceSession("a", memory), SQLiteSession("a")
    other = CommonplaceSession("b", memory)
    assert isinstance(ours, Session)
    await other.add_items(ITEMS[:1])
    for session in (ours, theirs):
        assert (await session.get_items(), await session.pop_item()) == ([], None)
        await session.add_items([])
        await session.add_items(ITEMS[:2])
        await session.add_items(ITEMS[2:])
        assert await session.get_items() == ITEMS
        assert await session.get_items(limit=2) == ITEMS[-2:]
        assert await session.get_items(limit=99) == ITEMS
        assert await session.pop_item() == ITEMS[-1]
        assert await session.get_items() == ITEMS[:-1]
        await session.clear_session()
        assert await session.get_items() == []
    assert await other.get_items() == ITEMS[:1]
    theirs.close()
    assert await CommonplaceSession("b", memory, scope="elsewhere").get_items() == []
    limited = CommonplaceSession("b", memory, session_settings=SessionSettings(limit=1))
    await limited.add_items(ITEMS[:2])
    assert await limited.get_items() == [ITEMS[1]]
    assert len(await limited.get_items(limit=5)) == 3


async def test_a_session_of_any_name_can_be_read(memory: KnowledgeMemory) -> None:
    """PostgreSQL takes no NUL, in a name that is stored or in one that is looked for."""
    session = CommonplaceSession("a/b\n\x00\U0001f600", memory)
    await session.add_items(ITEMS[:1])
    assert await session.get_items() == ITEMS[:1]


async def test_an_agent_remembers_the_conversation(memory: KnowledgeMemory) -> None:
    """Two runs with tools and reasoning: the model of the second gets everything that the first one said."""

    @function_tool
    def port() -> str:
        """Return the port."""
        return "5434"

    call = ResponseFunctionToolCall(arguments="{}", call_id="c1", name="port", type="function_call", id="f1")
    thought = ResponseReasoningItem(id="rs_1", summary=[], type="reasoning")
    model = ScriptedModel([[thought, call], [says("It is 5434")], [says("As I said, 5434")]])
    agent = Agent(name="ops", model=model, tools=[port])
    first = await Runner.run(agent, "Which port?", session=CommonplaceSession("s", memory), run_config=QUIET)
    assert first.final_output == "It is 5434"
    await Runner.run(agent, "Again?", session=CommonplaceSession("s", memory), run_config=QUIET)
    seen = model.calls[-1].input
    assert [item.get("type", item.get("role")) for item in seen] == [
        "user", "reasoning", "function_call", "function_call_output", "message", "user",
    ]  # fmt: skip
    assert seen[4]["content"][0]["text"] == "It is 5434"


async def test_a_session_becomes_an_episode(memory: KnowledgeMemory) -> None:
    """What was asked and answered, without calls of tools, for consolidation; the session goes on."""
    session = CommonplaceSession("s", memory)
    await session.add_items(ITEMS)
    receipt = await session.store_episode("ops")
    assert receipt.stored
    (episode,) = await memory.lists.episodes(narrowing=Narrowing(scope="ops"))
    assert episode.content == "Asked: Hi \u00e9\u4e16 \U0001f600\nAnswered: It is 5434"
    assert len(await session.get_items()) == len(ITEMS)


@pytest.mark.parametrize("where", ["content", "arguments", "output"])
async def test_secrets_are_masked_wherever_they_are(memory: KnowledgeMemory, where: str) -> None:
    """The item stays an item: one secret does not cost the conversation."""
    secret = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
    session = CommonplaceSession("s", memory)
    await session.add_items([{"role": "user", where: f"take {secret} now", "password": "hunter2hunter2"}])  # type: ignore[list-item]
    (item,) = await session.get_items()
    assert item.keys() == {"role", where, "password"}
    assert secret not in str(item)
    assert "[hidden: " in item[where]
