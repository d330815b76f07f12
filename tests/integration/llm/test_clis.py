"""The CLIs of Codex and Gemini as models: the real programs against a scripted API, in homes of their own."""

import asyncio
import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from commonplace.core.errors import ModelAccessError, ModelError, ModelRefusedError, ModelUnavailableError
from commonplace.core.settings import Settings
from commonplace.llm import Request, open_model
from commonplace.llm.cli_backend import CliBackend
from commonplace.llm.options import PROGRAMS, CliOptions
from support.clients import CODEX, GEMINI, Client
from support.commands import CommandLine
from support.consolidation import answer, fact
from support.model_api import INPUT_TOKENS, OUTPUT_TOKENS, Fails, Hangs, ModelApi, Says, Step
from support.processes import survivors

PURPOSE = "test"
EVENTS = ("SessionStart", "UserPromptSubmit", "BeforeAgent", "Stop", "SessionEnd")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cli:
    """A CLI under test: its settings with a name, and its environment."""

    settings: Settings
    environ: dict[str, str]
    home: Path
    key: str


@pytest.fixture
def api() -> Iterator[ModelApi]:
    """A server with an empty script."""
    with ModelApi() as server:
        yield server


@pytest.fixture(params=["codex", "gemini-cli:gemini-2.5-flash"])
def cli(request: pytest.FixtureRequest, api: ModelApi, tmp_path: Path) -> Cli:
    """Each CLI, logged in by a key."""
    client = CODEX if request.param == "codex" else GEMINI
    home = tmp_path / "home"
    home.mkdir()
    environ = {"PATH": client.path(), "HOME": str(home)} | client.settle(home, api.url)
    key = "SCRIPTED_KEY" if client is CODEX else "GEMINI_API_KEY"
    named = Settings(home=tmp_path / "memory", model=request.param)
    return Cli(settings=named, environ=environ, home=home, key=key)


def with_hooks_and_servers(cli: Cli, trace: Path) -> None:
    """Give the user hooks, a server and a transcript directory of this CLI."""
    handler = {"type": "command", "command": f"echo hook >> {trace}"}
    hooks = {event: [{"hooks": [handler]}] for event in EVENTS}
    server = {"command": "/bin/sh", "args": ["-c", f"echo server >> {trace}"]}
    if cli.settings.model == "codex":
        (cli.home / ".codex/hooks.json").write_text(json.dumps({"hooks": hooks}))
        with (cli.home / ".codex/config.toml").open("a") as file:
            lines = [f"{key} = {json.dumps(value)}" for key, value in server.items()]
            file.write("\n".join(["\n[mcp_servers.memory]", "required = true", *lines, ""]))
    else:
        path = cli.home / ".gemini/settings.json"
        more = {"hooks": hooks, "mcpServers": {"memory": server | {"trust": True}}}
        path.write_text(json.dumps(json.loads(path.read_text()) | more))


@pytest.mark.requirement("R-KNW-11")
async def test_a_memory_call_is_answered_and_sets_off_nothing_of_the_user(
    api: ModelApi, cli: Cli, tmp_path: Path
) -> None:
    """No hook, server, tool or transcript: a memory that asks a model must not feed itself."""
    secret, trace = tmp_path / "secret.txt", tmp_path / "trace"
    secret.write_text("the-secret-itself")
    with_hooks_and_servers(cli, trace)
    api.script(Says("I saw @\N{WORD JOINER}ops."))
    async with open_model(cli.settings, environ=cli.environ) as model:
        answer = await model.complete(f"/help with @{secret}", purpose=PURPOSE, system="Be brief.")
        counted = model.ledger.totals[PURPOSE]
    assert answer.text == "I saw @ops."
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (INPUT_TOKENS, OUTPUT_TOKENS)
    assert (counted.unpriced, answer.usage.cost_usd) == (1, None)
    (asked,) = api.asked
    assert "Be brief." in asked.text
    assert str(secret) in asked.text
    assert "the-secret-itself" not in asked.text
    assert "exec_command" not in asked.text
    assert "read_file" not in asked.text
    assert not trace.exists()
    kept = [
        path
        for path in cli.home.rglob("*")
        if path.is_file() and "I saw" in path.read_text("utf-8", "replace")
    ]
    assert kept == []


@pytest.mark.parametrize(
    ("step", "error"),
    [
        (Fails(status=401, message="bad key"), ModelAccessError),
        (Fails(status=429, message="slow down"), ModelUnavailableError),
        (Fails(status=400, message="too long"), ModelRefusedError),
    ],
)
async def test_a_failure_is_told_apart(api: ModelApi, cli: Cli, step: Step, error: type[ModelError]) -> None:
    """A later try helps only if the API was busy; the CLI itself tries once."""
    api.script(step)
    name, _, model = str(cli.settings.model).partition(":")
    executable = Path(shutil.which(PROGRAMS[name][0], path=cli.environ["PATH"]) or "")
    options = CliOptions(name=name, executable=executable, model=model or None, environ=cli.environ)
    with pytest.raises(error) as failure:
        await CliBackend(options).send(Request(prompt="Hello"))
    assert "\n" not in str(failure.value)
    assert len(api.asked) == 1


async def test_a_cli_that_is_not_logged_in_says_so(api: ModelApi, cli: Cli) -> None:
    """Nothing is asked of the API, and the message names what is missing."""
    without = {name: value for name, value in cli.environ.items() if name != cli.key}
    async with open_model(cli.settings, environ=without) as model:
        with pytest.raises(ModelAccessError, match=cli.key):
            await model.complete("Hello", purpose=PURPOSE)
    assert api.asked == []


@pytest.mark.requirement("APP-04.3")
async def test_no_process_outlives_its_call(api: ModelApi, cli: Cli) -> None:
    """The caller goes while the API hangs."""
    api.script(Hangs())
    before = set(psutil.Process().children(recursive=True))
    async with open_model(cli.settings, environ=cli.environ) as model:
        task = asyncio.create_task(model.complete("?", purpose=PURPOSE))
        await asyncio.to_thread(api.wait_until_asked)
        running = set(psutil.Process().children(recursive=True)) - before
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert running
    assert survivors(running) == []


@pytest.mark.parametrize(
    ("client", "name"), [(CODEX, "codex"), (GEMINI, "gemini-cli:gemini-2.5-flash")], ids=["codex", "gemini"]
)
def test_an_episode_becomes_a_fact_within_the_budget(
    commonplace: CommandLine, knowledge_url: str, client: Client, name: str
) -> None:
    """The tokens of the day are counted; when they are spent, episodes wait."""
    said = "The payments service is owned by Bea's team"
    home = commonplace.home / "user"
    home.mkdir(parents=True)
    at: dict[str, Any] = {"COMMONPLACE_POSTGRES_URL": knowledge_url}
    with ModelApi(Says(answer(new_facts=[fact("payments", "owner", said)]))) as api:
        own: dict[str, Any] = at | {"PATH": client.path(), "HOME": str(home)} | client.settle(home, api.url)
        allowed = commonplace("consolidation", "allow", name, "--daily-tokens", "10", **own)
        assert allowed.status == 0, allowed.err
        commonplace("knowledge", "store-episode", said, "--butler", "ops", **at)
        done = commonplace("knowledge", "consolidate", **own)
        assert done.status == 0, done.err
        assert said in commonplace("knowledge", "search", "payments", "--type", "fact", **at).out
        commonplace("knowledge", "store-episode", "Bea left the team", "--butler", "ops", **at)
        commonplace("knowledge", "consolidate", **own)
        assert len(api.asked) == 1
    shown = commonplace("consolidation", "show", "--json", **at).json
    assert (shown["model"], shown["episodes_waiting"], shown["cost_today_usd"]) == (name, 1, None)
    assert "COMMONPLACE_CONSOLIDATION_DAILY_TOKENS" in shown["last_error"]
    assert shown["tokens_today"] == INPUT_TOKENS + OUTPUT_TOKENS
    told = commonplace("consolidation", "show", **at).out
    assert "price unknown" in told
    assert f"will be retried: {shown['last_error']}" in told
