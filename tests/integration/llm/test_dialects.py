"""Servers of OpenAI's protocol that support less than OpenAI's: the real client finds out what they accept."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from commonplace.core.errors import ModelOutputError, ModelRefusedError
from commonplace.core.settings import Settings
from commonplace.llm import Model, open_model
from commonplace.llm.dialect import AnswerForm, Dialect, DialectFile, LimitName
from support.model_api import INPUT_TOKENS, Decides, Fails, ModelApi, Says, Server

PURPOSE = "test"
VALUE = {"action": "edit", "target": 7}
TOOLS, SCHEMA = "tools", "response_format"
LLAMA_CPP = Server(VALUE, refuses={TOOLS: (500, "tools param requires --jinja flag")})
OLD_LLAMA_CPP = Server(
    VALUE,
    refuses={
        TOOLS: (500, "Unsupported param: tools"),
        SCHEMA: (400, 'response_format type must be one of "text" or "json_object", but got: json_schema'),
    },
)
VLLM = Server(VALUE, refuses={TOOLS: (400, 'tool_choice = "required" is not supported!')})
OPENROUTER = Server(VALUE, refuses={TOOLS: (404, "No endpoints found that support tool use.")})
SILENT = Server(VALUE, refuses={TOOLS: (400, "Bad Request"), SCHEMA: (422, "Unprocessable Entity")})
DEAF = Server(VALUE, ignores=frozenset({TOOLS, "tool_choice", SCHEMA}))


class Decision(BaseModel):
    """A form with a closed set and a number."""

    action: Literal["delete", "edit"]
    target: int


@pytest.fixture
def api() -> Iterator[ModelApi]:
    """A server with an empty script."""
    with ModelApi() as server:
        yield server


def environ(api: ModelApi) -> dict[str, str]:
    """Return the variable that leads the client to the server."""
    return {"OPENAI_BASE_URL": f"{api.url}/v1", "OLLAMA_HOST": api.url}


def named(settings: Settings, model: str = "openai:qwen3:8b") -> Settings:
    """Return settings that name a model."""
    return settings.model_copy(update={"model": model})


def forms(api: ModelApi) -> list[str]:
    """Return the form of each request, in order."""
    return [
        "tool" if "tools" in asked.body else "schema" if SCHEMA in asked.body else "text"
        for asked in api.asked
    ]


async def decide(model: Model) -> Any:  # noqa: ANN401 - compared with a value
    """Return the decision of a model."""
    return (await model.complete("Decide.", purpose=PURPOSE, output=Decision)).value.model_dump()


@pytest.mark.requirement("DIG-05.1")
@pytest.mark.parametrize(
    ("server", "tried"),
    [
        (Server(VALUE), ["tool"]),
        (LLAMA_CPP, ["tool", "schema"]),
        (OLD_LLAMA_CPP, ["tool", "schema", "text"]),
        (VLLM, ["tool", "schema"]),
        (OPENROUTER, ["tool", "schema"]),
        (SILENT, ["tool", "schema", "text"]),
        (DEAF, ["tool", "schema"]),
    ],
    ids=["openai", "llama.cpp", "old llama.cpp", "vllm", "openrouter", "silent", "deaf"],
)
async def test_the_form_is_tried_once_and_remembered(
    api: ModelApi, settings: Settings, server: Server, tried: list[str]
) -> None:
    """The second call of the process, and the first of the next one, begin with the form that worked."""
    api.script(server)
    async with open_model(named(settings), environ=environ(api)) as model:
        assert await decide(model) == VALUE
        assert forms(api) == tried
        assert await decide(model) == VALUE
    async with open_model(named(settings), environ=environ(api)) as model:
        assert await decide(model) == VALUE
    assert forms(api) == [*tried, tried[-1], tried[-1]]


@pytest.mark.requirement("DIG-05.1")
async def test_a_model_of_ollama_without_schemas_gets_the_form_as_text(
    api: ModelApi, settings: Settings
) -> None:
    """Ollama is asked by schema first."""
    api.script(Server(VALUE, refuses={SCHEMA: (400, "json_schema is not supported")}))
    async with open_model(named(settings, "ollama:gemma3:1b"), environ=environ(api)) as model:
        assert await decide(model) == VALUE
    assert forms(api) == ["schema", "text"]


@pytest.mark.requirement("DIG-05.1")
async def test_what_is_remembered_holds_for_one_model_at_one_address(
    api: ModelApi, settings: Settings
) -> None:
    """Another model of the same server is tried for itself; the file names no address."""
    api.script(LLAMA_CPP)
    for model_name in ("openai:a", "openai:b"):
        async with open_model(named(settings, model_name), environ=environ(api)) as model:
            await decide(model)
    assert forms(api) == ["tool", "schema"] * 2
    files = list((settings.home / "model-dialects").iterdir())
    assert len(files) == 2
    assert json.loads(files[0].read_text()) == {"form": "schema", "limit": "max_tokens"}


@pytest.mark.requirement("DIG-05.1")
@pytest.mark.parametrize("server", [LLAMA_CPP, DEAF], ids=["refuses", "ignores"])
async def test_a_server_that_lost_its_tools_is_tried_again(
    api: ModelApi, settings: Settings, server: Server
) -> None:
    """It was restarted without them since the last process."""
    for step in (Server(VALUE), server):
        api.script(step)
        async with open_model(named(settings), environ=environ(api)) as model:
            assert await decide(model) == VALUE
    assert forms(api) == ["tool", "tool", "schema"]


async def test_a_damaged_or_unwritable_memory_is_no_obstacle(api: ModelApi, settings: Settings) -> None:
    """The forms are tried again."""
    (settings.home / "model-dialects").write_text("not a directory")
    api.script(VLLM)
    async with open_model(named(settings), environ=environ(api)) as model:
        assert await decide(model) == VALUE
        assert await decide(model) == VALUE
    assert forms(api) == ["tool", "schema", "schema"]


async def test_both_answers_are_counted_if_the_first_ignored_the_form(
    api: ModelApi, settings: Settings
) -> None:
    """The ledger counts what the server charges."""
    api.script(DEAF)
    async with open_model(named(settings), environ=environ(api)) as model:
        completion = await model.complete("Decide.", purpose=PURPOSE, output=Decision)
        assert completion.usage.input_tokens == 2 * INPUT_TOKENS
        assert model.ledger.totals[PURPOSE].input_tokens == 2 * INPUT_TOKENS


@pytest.mark.parametrize(
    ("status", "message", "attempts"),
    [
        (400, "the request violates a policy", 3),
        (400, "This model's maximum context length is 4096 tokens", 1),
        (401, "no such tool key", 1),
        (403, "no such tool key", 1),
    ],
)
async def test_an_error_that_no_form_mends_is_told_as_it_came(
    api: ModelApi, settings: Settings, status: int, message: str, attempts: int
) -> None:
    """The first error counts, and nothing is remembered."""
    api.script(Fails(status=status, message=message))
    async with open_model(named(settings), environ=environ(api)) as model:
        with pytest.raises(ModelRefusedError, match=message):
            await decide(model)
    assert len(api.asked) == attempts
    assert not (settings.home / "model-dialects").exists()


async def test_a_form_that_worked_is_kept_when_a_request_is_refused(
    api: ModelApi, settings: Settings
) -> None:
    """A refusal says nothing about tools that the server took a moment ago."""
    api.script(Server(VALUE), Fails(status=400, message="the request violates a policy"))
    async with open_model(named(settings), environ=environ(api)) as model:
        await decide(model)
        with pytest.raises(ModelRefusedError, match="policy"):
            await decide(model)
    assert forms(api) == ["tool", "tool"]


async def test_prose_of_a_model_with_tools_is_an_output_error(api: ModelApi, settings: Settings) -> None:
    """A model that has called the tool once is asked again, by the tool."""
    api.script(Decides(VALUE), Says("Let me think."))
    async with open_model(named(settings), environ=environ(api)) as model:
        await decide(model)
        with pytest.raises(ModelOutputError, match="answered twice"):
            await decide(model)
    assert forms(api) == ["tool"] * 3


@pytest.mark.requirement("DIG-05.2")
@pytest.mark.parametrize(
    ("refused", "message", "taken"),
    [
        (
            "max_tokens",
            "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead.",
            "max_completion_tokens",
        ),
        ("max_completion_tokens", "Unrecognized request argument: max_completion_tokens", "max_tokens"),
    ],
)
async def test_the_limit_goes_by_the_name_that_the_server_takes(
    api: ModelApi, settings: Settings, monkeypatch: pytest.MonkeyPatch, refused: str, message: str, taken: str
) -> None:
    """Compatible servers are asked with the old name first, OpenAI with the new one; the result is remembered."""
    address = {"OPENAI_API_KEY": "sk-scripted"}
    if refused == "max_tokens":
        address |= environ(api)
    else:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{api.url}/v1")  # as if it were OpenAI's own address
    api.script(Server(VALUE, refuses={refused: (400, message)}))
    for _ in range(2):
        async with open_model(named(settings), environ=address) as model:
            await model.complete("Digest.", purpose=PURPOSE, max_output_tokens=321)
    limits = [{"max_tokens", "max_completion_tokens"} & asked.body.keys() for asked in api.asked]
    assert limits == [{refused}, {taken}, {taken}]
    assert api.asked[-1].body[taken] == 321


@pytest.mark.requirement("DIG-05.2")
async def test_a_limit_that_is_too_large_is_told(api: ModelApi, settings: Settings) -> None:
    """It names the parameter too, and no other name helps."""
    api.script(Fails(status=400, message="max_tokens is too large: 321"))
    async with open_model(named(settings), environ=environ(api)) as model:
        with pytest.raises(ModelRefusedError, match="too large: 321"):
            await model.complete("Digest.", purpose=PURPOSE, max_output_tokens=321)
    assert len(api.asked) == 2


def test_the_files_of_dialects_are_named_without_secrets(tmp_path: Path) -> None:
    """An address may hold a password."""
    file = DialectFile.of(tmp_path, model="m", base_url="http://user:secret@host/v1")
    file.save(Dialect(form=AnswerForm.TEXT, limit=LimitName.OLD))
    assert file.load() == Dialect(form=AnswerForm.TEXT, limit=LimitName.OLD)
    assert "secret" not in file.path.name + file.path.read_text()
