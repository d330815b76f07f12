"""The blocks of the guide for models, tried with the real clients: only the address is that of this machine."""

import os
import re
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import pytest
from pydantic import BaseModel

from commonplace.core.settings import load_settings
from commonplace.llm import open_model
from support.claude import claude_environment
from support.clients import CODEX, GEMINI, Client
from support.model_api import Decides, ModelApi, Server, Step

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "models.md"
BLOCK = re.compile(r"^### (?P<name>[^\n]+)\n(?:(?!^#).)*?```sh\n(?P<code>.*?)```", re.DOTALL | re.MULTILINE)
EXPORT = re.compile(r"^export (\w+)=(\S+)$", re.MULTILINE)
BLOCKS = {
    found["name"]: dict(EXPORT.findall(found["code"]))
    for found in BLOCK.finditer(GUIDE.read_text(encoding="utf-8"))
}
VALUE = {"action": "edit", "target": 7}
KEY = "sk-scripted"

NO_TOOLS_IN_LLAMA_CPP = {"tools": (500, "tools param requires --jinja flag")}
NO_TOOLS_IN_VLLM = {"tools": (400, 'tool_choice = "required" is not supported!')}
NO_TOOLS_AT_OPENROUTER = {"tools": (404, "No endpoints found that support tool use.")}
ANSWERS: dict[str, Step] = {
    "Anthropic": Decides(VALUE),
    "OpenAI": Server(
        VALUE, refuses={"max_tokens": (400, "Use 'max_completion_tokens' instead of 'max_tokens'.")}
    ),
    "Gemini": Decides(VALUE),
    "OpenRouter": Server(VALUE, refuses=NO_TOOLS_AT_OPENROUTER),
    "The claude CLI": Decides(VALUE),
    "The codex CLI": Decides(VALUE),
    "The gemini CLI": Decides(VALUE),
    "Ollama": Server(VALUE, refuses={"tools": (400, "qwen3:8b does not support tools")}),
    "vLLM": Server(VALUE, refuses=NO_TOOLS_IN_VLLM),
    "llama.cpp": Server(VALUE, refuses=NO_TOOLS_IN_LLAMA_CPP),
    "LM Studio": Server(VALUE),
}
"""How each provider answers; servers without tools are the harder case."""

CLIENTS = {"The codex CLI": CODEX, "The gemini CLI": GEMINI}


class Decision(BaseModel):
    """A form with a closed set and a number."""

    action: Literal["delete", "edit"]
    target: int


def environment(lines: dict[str, str], api: ModelApi, home: Path) -> dict[str, str]:
    """Return the environment of a block, with the address of a server on this machine in place of its own."""
    given = {name: value.replace("~", str(home)) for name, value in lines.items()}
    own = given.get("COMMONPLACE_MODEL_BASE_URL")
    if own:
        given["COMMONPLACE_MODEL_BASE_URL"] = f"{api.url}{urlsplit(own).path}"
    elsewhere = {
        "ANTHROPIC_BASE_URL": api.url,
        "GOOGLE_GEMINI_BASE_URL": api.url,
        "OPENAI_BASE_URL": f"{api.url}/v1",
    }
    return given | ({} if own else elsewhere) | {"COMMONPLACE_HOME": str(home)}


def logged_in(client: Client, home: Path, api: ModelApi) -> dict[str, str]:
    """Return the environment of a CLI that uses an API of this machine."""
    home.mkdir()
    return {"PATH": client.path(), "HOME": str(home)} | client.settle(home, api.url)


def test_the_guide_has_a_block_for_each_provider() -> None:
    """Each one names a model."""
    assert BLOCKS.keys() == ANSWERS.keys()
    assert all("COMMONPLACE_MODEL" in lines for lines in BLOCKS.values())


@pytest.mark.requirement("DIG-05.3")
@pytest.mark.parametrize("name", ANSWERS)
async def test_a_block_of_the_guide_works(name: str, tmp_path: Path) -> None:
    """A text, and a decision in its form; the key comes from the file of the block."""
    key_file = tmp_path / ".config" / "commonplace" / "model.key"
    key_file.parent.mkdir(parents=True)
    key_file.write_text(f"{KEY}\n")
    key_file.chmod(0o600)
    with ModelApi(ANSWERS[name]) as api:
        environ = environment(BLOCKS[name], api, tmp_path)
        settings = load_settings(environ=environ, read_current_directory=False).settings
        if name == "The claude CLI":
            environ |= claude_environment(tmp_path / "claude", api.url)
        if name in CLIENTS:
            environ |= logged_in(CLIENTS[name], tmp_path / "user", api)
        async with open_model(settings, environ={"PATH": os.defpath} | environ) as model:
            assert (await model.complete("Digest.", purpose="test")).text
            decided = await model.complete("Decide.", purpose="test", output=Decision)
    assert decided.value == Decision(**VALUE)
    headers = {value for asked in api.asked for value in asked.headers.values()}
    keyed = "COMMONPLACE_MODEL_API_KEY_FILE" in BLOCKS[name] or name == "The claude CLI"
    assert bool(headers & {KEY, f"Bearer {KEY}"}) is keyed
    named = settings.model.partition(":")[2]
    assert all(named in asked.text + asked.path for asked in api.asked)
