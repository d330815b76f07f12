"""The memory tools for models with function calling, and as a toolset of Pydantic AI."""

import json
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel

from commonplace.adapters.pydantic_ai import memory_toolset
from commonplace.adapters.toolset import Toolset
from commonplace.core.errors import InvalidInputError
from commonplace.knowledge import KnowledgeMemory, Narrowing
from commonplace.mcp.protocol.profiles import Profile


async def test_a_model_calls_tools_by_its_api(memory: KnowledgeMemory) -> None:
    """Definitions in the form of three APIs; calls with JSON or a mapping; the butler is the default."""
    tools = Toolset(memory, butler="ops", prefix="brain")
    names = [tool["function"]["name"] for tool in tools.for_chat_completions()]
    assert names == [tool["name"] for tool in tools.for_responses()]
    assert names == [tool["name"] for tool in tools.for_messages()] == list(tools.tools)
    assert "brain_memory_store_fact" in names
    assert "brain_memory_store_fact" in tools.instructions
    fact = {"subject": "staging", "predicate": "port", "content": "5434"}
    stored = await tools.call("brain_memory_store_fact", json.dumps(fact))
    assert not stored.is_error
    assert "superseded_id" not in json.loads(stored.text)
    assert (await memory.lists.facts(narrowing=Narrowing(scope="ops")))[0].content == "5434"
    found = json.loads((await tools.call("brain_memory_search", {"query": "staging port"})).text)
    assert found["results"][0]["content"] == "5434"
    assert len(Toolset(memory, profile=Profile.FULL).tools) == 19


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("memory_find", {}, 'no tool "memory_find": expected one of memory_store_episode'),
        ("memory_search", "[1]", 'arguments: expected a JSON object, got "[1]"'),
        ("memory_search", "{", "arguments: expected a JSON object"),
        ("memory_search", "[" * 100_000, 'arguments: expected a JSON object, got "[[['),
        ("memory_search", None, "arguments: expected a JSON object, got nothing"),
        ("memory_search", "", "query: expected a value"),
        ("memory_store_rule", {"content": "ghp_abcdefghijklmnopqrstuvwxyz0123456789"}, "a secret"),
    ],
)
async def test_a_bad_call_gets_an_answer(
    memory: KnowledgeMemory,
    name: str,
    arguments: Any,  # noqa: ANN401 - models send anything
    expected: str,
) -> None:
    """That the model can act on."""
    answer = await Toolset(memory).call(name, arguments)
    assert answer.is_error
    assert expected in answer.text


async def test_an_agent_of_pydantic_ai_has_the_tools(memory: KnowledgeMemory) -> None:
    """The framework's test model calls each tool with arguments made from its schema."""
    toolset = memory_toolset(memory, butler="ops")
    model = TestModel(call_tools=["memory_store_fact", "memory_store_rule", "memory_recall", "memory_search"])
    result = await Agent(model, toolsets=[toolset]).run("Remember this")
    assert set(json.loads(result.output)) == set(model.call_tools)
    assert len(await memory.lists.facts()) == 1
    parameters = model.last_model_request_parameters
    assert parameters is not None
    assert len(parameters.function_tools) == 9


async def test_a_refusal_does_not_end_the_run(memory: KnowledgeMemory) -> None:
    """However often a call is refused: the model reads why, and goes on."""
    answers: list[str] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        assert "memory_store_fact" in (info.instructions or "")
        last = messages[-1].parts[-1]
        if isinstance(last, ToolReturnPart):
            answers.append(str(last.content))
        if len(answers) == 4:
            return ModelResponse(parts=[TextPart("done")])
        permanence = "stable" if len(answers) == 3 else "forever"
        fact = {"subject": "a", "predicate": "b", "content": "c", "permanence": permanence}
        return ModelResponse(parts=[ToolCallPart("memory_store_fact", fact)])

    agent = Agent(FunctionModel(answer), toolsets=[memory_toolset(memory)])
    assert (await agent.run("Remember c")).output == "done"
    assert "permanence: expected one of permanent, stable" in answers[0]
    (fact,) = await memory.lists.facts()
    assert fact.permanence == "stable"


async def test_a_prefix_must_fit_a_name(memory: KnowledgeMemory) -> None:
    """An agent may use two toolsets of one memory under two prefixes, but not under any text."""
    both = [memory_toolset(memory, prefix="own"), memory_toolset(memory, prefix="team")]
    await Agent(TestModel(call_tools=[]), toolsets=both).run("Hi")
    with pytest.raises(InvalidInputError):
        memory_toolset(memory, prefix="my memory")
