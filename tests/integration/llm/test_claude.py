"""The claude CLI as a model: the real program against a scripted Messages API, in a home of its own."""

import asyncio
import json
import os
import shutil
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Literal

import psutil
import pytest
from pydantic import BaseModel

from commonplace.core.errors import (
    ModelAccessError,
    ModelOutputError,
    ModelRefusedError,
    ModelTimeoutError,
    ModelUnavailableError,
)
from commonplace.core.settings import Settings
from commonplace.embedding import BackendName, EmbeddingEngine, EmbeddingOptions
from commonplace.llm import Model, Request, open_model
from commonplace.llm.cli_backend import CliBackend
from commonplace.llm.options import CliOptions
from commonplace.prompts.fence import fence
from support.claude import claude_environment
from support.deadlines import DEADLINE_S
from support.model_api import (
    INPUT_TOKENS,
    OUTPUT_TOKENS,
    Cuts,
    Decides,
    Fails,
    Garbles,
    Hangs,
    ModelApi,
    Says,
    Step,
)
from support.processes import ids_when_written, survivors

ENGINE = EmbeddingEngine(EmbeddingOptions(backend=BackendName.FAKE))
PURPOSE = "test"
NO_SUCH_MODEL = "issue with the selected model"
NO_CONNECTION = "Unable to connect|Connection to the API was lost|Connection dropped"
"""How the CLI reports a cut connection depends on the moment of the cut."""


class Decision(BaseModel):
    """A form with a closed set and a number."""

    action: Literal["delete", "edit"]
    target: int


@pytest.fixture
def api() -> Iterator[ModelApi]:
    """A server with an empty script."""
    with ModelApi() as server:
        yield server


@pytest.fixture
def environ(api: ModelApi, tmp_path: Path) -> dict[str, str]:
    """The environment of the CLI."""
    return claude_environment(tmp_path / "claude-home", api.url)


@pytest.fixture
async def model(settings: Settings, environ: dict[str, str]) -> AsyncIterator[Model]:
    """The CLI's model of the name ``haiku``."""
    named = settings.model_copy(update={"model": "claude-code:haiku"})
    async with open_model(named, environ=environ) as opened:
        yield opened


def backend(executable: Path, **environ: str) -> CliBackend:
    """Return a backend over a program that stands in for the CLI."""
    variables = {"PATH": os.defpath} | environ
    return CliBackend(CliOptions(name="claude-code", executable=executable, model=None, environ=variables))


def program(path: Path, code: str) -> Path:
    """Write an executable Python program."""
    path.write_text(f"#!{sys.executable}\n{code}\n")
    path.chmod(0o755)
    return path


async def test_text_comes_with_its_usage_and_price(api: ModelApi, model: Model) -> None:
    """The model, the instructions and the limit reach the API; no tool is offered."""
    api.script(Says("A digest."))
    completion = await model.complete(
        "Digest this.", purpose=PURPOSE, system="Be brief.", max_output_tokens=321
    )
    assert completion.text == "A digest."
    assert completion.model.startswith("claude-haiku")
    assert completion.usage.tokens == INPUT_TOKENS + OUTPUT_TOKENS
    assert 0 < (completion.usage.cost_usd or 0) < 0.01
    (asked,) = api.asked
    assert asked.body["model"].startswith("claude-haiku")
    assert asked.body["max_tokens"] == 321
    assert asked.body["tools"] == []
    assert asked.body["system"][-1]["text"] == "Be brief."


async def test_an_object_comes_validated(api: ModelApi, model: Model) -> None:
    """Its schema is in the instructions; a wrong one is asked for once more."""
    api.script(Says("I would rather not."), Decides({"action": "edit", "target": 7}))
    completion = await model.complete("Decide.", purpose=PURPOSE, output=Decision)
    assert completion.value == Decision(action="edit", target=7)
    assert "JSON Schema" in api.asked[0].body["system"][-1]["text"]
    assert "I would rather not." in api.asked[1].text


@pytest.mark.requirement("R-KNW-11")
async def test_text_cannot_bring_files_before_the_model(api: ModelApi, model: Model, tmp_path: Path) -> None:
    """The CLI reads ``@/path`` in a prompt by itself, all tools off; a stored text must not make it."""
    secret = tmp_path / "secret.txt"
    secret.write_text("the-secret-itself")
    mentions = f'@{secret} (@{secret}) "@{secret}" @"{secret}" x\n@{secret}\n\t@{secret}'
    api.script(Says("I saw @\N{WORD JOINER}ops in it"))
    completion = await model.complete(
        f"Digest @{secret}.\n{fence(mentions, 'conversation')}", purpose=PURPOSE
    )
    assert str(secret) in api.asked[0].text
    assert "the-secret-itself" not in api.asked[0].text
    assert completion.text == "I saw @ops in it"


@pytest.mark.parametrize(
    "prompt", ["/help", "/compact now", "--help", "!touch here", "# remember this", "-p"]
)
async def test_no_prompt_is_a_command(api: ModelApi, model: Model, prompt: str) -> None:
    """Whatever it begins with, it reaches the model as it is."""
    api.script(Says("Well."))
    assert (await model.complete(prompt, purpose=PURPOSE)).text == "Well."
    contents = [message["content"] for message in api.asked[0].body["messages"]]
    texts = [
        block["text"]
        for content in contents
        for block in ([{"text": content}] if isinstance(content, str) else content)
    ]
    assert any(text.endswith(f"\n{prompt}") for text in texts)


async def test_a_long_prompt_reaches_the_model(api: ModelApi, model: Model) -> None:
    """Longer than any argument of a program may be; with NUL and half an emoji left out."""
    api.script(Says("Read."))
    prompt = "word " * 60_000 + "\x00\ud83d the end"
    await model.complete(prompt, purpose=PURPOSE, system="s" * 200_000)
    assert api.asked[0].text.count("word ") == 60_000
    assert "\N{REPLACEMENT CHARACTER} the end" in api.asked[0].text


async def test_a_memory_call_sets_off_nothing_of_the_user(
    api: ModelApi, model: Model, environ: dict[str, str], tmp_path: Path
) -> None:
    """No hook, no server and no CLAUDE.md: a memory that asks a model must not feed itself."""
    home, trace = Path(environ["HOME"]), tmp_path / "trace"
    leave_trace = {"type": "command", "command": f"echo set off >> {trace}"}
    events = ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd")
    hooks = {event: [{"hooks": [leave_trace]}] for event in events}
    server = {"type": "stdio", "command": "/bin/sh", "args": ["-c", f"echo started >> {trace}"]}
    (home / ".claude").mkdir()
    (home / ".claude" / "settings.json").write_text(json.dumps({"hooks": hooks}))
    (home / ".claude" / "CLAUDE.md").write_text("house-rules-of-the-user")
    (home / ".claude.json").write_text(json.dumps({"mcpServers": {"memory": server}}))
    api.script(Says("A digest."))
    await model.complete("Digest this.", purpose=PURPOSE)
    assert not trace.exists()
    assert "house-rules-of-the-user" not in api.asked[0].text
    assert list((home / ".claude").glob("projects/*")) == []


@pytest.mark.parametrize(
    ("step", "error", "message"),
    [
        (Fails(status=401), ModelAccessError, "401"),
        (Fails(status=403), ModelRefusedError, "403"),
        (Fails(status=404, message="no such model"), ModelAccessError, NO_SUCH_MODEL),
        (Fails(status=400, message="too long"), ModelRefusedError, "400 too long"),
        (Fails(status=429), ModelUnavailableError, "429"),
        (Fails(status=500), ModelUnavailableError, "500"),
        (Fails(status=529), ModelUnavailableError, "529"),
        (Cuts(), ModelUnavailableError, NO_CONNECTION),
        (Cuts(midway=True), ModelUnavailableError, NO_CONNECTION),
        (Garbles(), ModelOutputError, "malformed"),
        (Garbles("{}", "application/json"), ModelOutputError, "malformed"),
    ],
)
async def test_a_result_that_is_an_error_is_told_apart(
    api: ModelApi, environ: dict[str, str], step: Step, error: type[Exception], message: str
) -> None:
    """``subtype`` says ``success`` in all of them. The CLI hardly retries by itself."""
    api.script(step)
    executable = Path(shutil.which("claude", path=environ["PATH"]) or "")
    with pytest.raises(error, match=message):
        await backend(executable, **environ).send(Request(prompt="Hello"))
    # A malformed stream is asked for again without streaming, and only then given up; so is a model that is not known;
    # after a reset the HTTP client below may open another connection, and after an answer that broke off both happen
    # twice. The newest CLI tries a refused request three times.
    most = {"400 too long": 3, NO_SUCH_MODEL: 2}.get(message, 1)
    if isinstance(step, Garbles | Cuts):
        most = 4 if step == Cuts(midway=True) else 2
    assert 1 <= len(api.asked) <= most


async def test_a_cli_that_is_not_logged_in_says_so(
    api: ModelApi, settings: Settings, environ: dict[str, str]
) -> None:
    """Nothing is asked of the API."""
    named = settings.model_copy(update={"model": "claude-code"})
    without_key = environ | {"ANTHROPIC_API_KEY": ""}
    async with open_model(named, environ=without_key) as model:
        with pytest.raises(ModelAccessError, match="Not logged in"):
            await model.complete("Hello", purpose=PURPOSE)
    assert api.asked == []


async def test_a_failure_is_retried_by_the_port(api: ModelApi, model: Model) -> None:
    """Which knows how much time is left."""
    api.script(Fails(status=529), Says("There."))
    assert (await model.complete("?", purpose=PURPOSE)).text == "There."
    assert model.ledger.totals[PURPOSE].unavailable == 1


async def test_an_answer_that_was_cut_off_is_an_error(api: ModelApi, model: Model) -> None:
    """The CLI tries by itself some times; all that counts."""
    api.script(Says("Half of a", stop="max_tokens"))
    with pytest.raises(ModelOutputError, match="max_output_tokens=300"):
        await model.complete("?", purpose=PURPOSE, max_output_tokens=300)
    assert model.ledger.totals[PURPOSE].input_tokens == INPUT_TOKENS * len(api.asked)


@pytest.mark.requirement("APP-04.3")
@pytest.mark.parametrize("how", ["timeout", "cancel"])
async def test_no_process_outlives_its_call(api: ModelApi, model: Model, how: str) -> None:
    """Neither when time is over nor when the caller goes, while the API hangs."""
    api.script(Hangs())
    before = set(psutil.Process().children(recursive=True))
    limit_s = 3 if how == "timeout" else 2 * DEADLINE_S
    task = asyncio.create_task(model.complete("?", purpose=PURPOSE, timeout_s=limit_s))
    running: set[psutil.Process] = set()
    if how == "cancel":
        await asyncio.to_thread(api.wait_until_asked)
    # On a busy machine, the time may be over before the CLI asks.
    while not running or (how == "timeout" and not task.done()):
        running |= set(psutil.Process().children(recursive=True)) - before
        await asyncio.sleep(0.01)
    if how == "cancel":
        task.cancel()
    with pytest.raises(ModelTimeoutError if how == "timeout" else asyncio.CancelledError):
        await task
    assert survivors(running) == []


async def test_what_a_cli_started_in_other_sessions_dies_with_the_call(tmp_path: Path) -> None:
    """As the CLI does with its shells; a program stands in for it, since ours run without any."""
    ids = tmp_path / "ids"
    code = (
        "import subprocess, time\n"
        "shell = subprocess.Popen(['sleep', '60'], start_new_session=True)\n"
        f"open({str(ids)!r}, 'w').write(f'{{shell.pid}}\\n')\n"
        "time.sleep(60)"
    )
    task = asyncio.create_task(backend(program(tmp_path / "claude", code)).send(Request(prompt="?")))
    shells = await asyncio.to_thread(ids_when_written, ids)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert survivors(shells) == []


async def test_a_grandchild_that_keeps_its_output_open_holds_nobody_up(tmp_path: Path) -> None:
    """Only the CLI itself is waited for."""
    ids = tmp_path / "ids"
    result = '{"is_error": false, "result": "There.", "total_cost_usd": 0.5}'
    code = (
        "import subprocess\n"
        "keeper = subprocess.Popen(['sleep', '60'])\n"
        f"open({str(ids)!r}, 'w').write(f'{{keeper.pid}}\\n')\n"
        f"print({result!r})"
    )
    async with asyncio.timeout(DEADLINE_S):
        reply = await backend(program(tmp_path / "claude", code)).send(Request(prompt="?"))
    assert (reply.text, reply.usage.cost_usd) == ("There.", 0.5)
    (keeper,) = ids_when_written(ids)
    keeper.kill()


@pytest.mark.parametrize(
    ("code", "error", "message"),
    [
        ("print('Welcome!')", ModelOutputError, "no valid result: Welcome!"),
        ("print('[1]')", ModelOutputError, "no valid result"),
        ("print('{}')", ModelOutputError, "no valid result"),
        ("pass", ModelOutputError, "no valid result: nothing"),
        (
            "import sys; sys.exit('unknown option')",
            ModelRefusedError,
            "status 1 and no result: unknown option",
        ),
        ("import os; os.kill(os.getpid(), 9)", ModelRefusedError, "status -9 and no result: nothing"),
        ("import sys; sys.stdout.buffer.write(b'\\xff\\x00')", ModelOutputError, "no valid result"),
    ],
)
async def test_output_that_is_no_result_is_an_error(
    tmp_path: Path, code: str, error: type[Exception], message: str
) -> None:
    """It says what was printed."""
    with pytest.raises(error, match=message):
        await backend(program(tmp_path / "claude", code)).send(Request(prompt="?"))


async def test_a_program_that_cannot_be_started_is_an_error(tmp_path: Path) -> None:
    """It may be removed after it was found."""
    with pytest.raises(ModelAccessError, match="cannot start"):
        await backend(tmp_path / "gone").send(Request(prompt="?"))


async def test_the_call_does_not_belong_to_the_session_that_it_is_made_in(tmp_path: Path) -> None:
    """Inside Claude Code, the CLI would otherwise take itself for a child of it. Its directory is empty."""
    code = (
        "import json, os\n"
        "seen = {n: v for n, v in os.environ.items() if n.startswith('CLAUDE')} | {'files': os.listdir()}\n"
        "print(json.dumps({'is_error': False, 'result': json.dumps(seen)}))"
    )
    of_a_session = {
        "CLAUDECODE": "1",
        "CLAUDE_CODE_SESSION_ID": "s",
        "CLAUDE_PROJECT_DIR": "/srv",
        "CLAUDE_CODE_OAUTH_TOKEN": "kept",
    }
    executable = program(tmp_path / "claude", code)
    reply = await backend(executable, **of_a_session).send(Request(prompt="?", max_output_tokens=9))
    assert json.loads(reply.text) == {
        "CLAUDE_CODE_OAUTH_TOKEN": "kept",
        "CLAUDE_CODE_MAX_RETRIES": "0",
        "CLAUDE_CODE_MAX_OUTPUT_TOKENS": "9",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "files": [],
    }
