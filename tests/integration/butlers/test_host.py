"""The host: its modules from start to stop, their tools over MCP, and sessions that remember."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import ClassVar

import httpx2
import pytest
from fastmcp import Client, FastMCP
from fastmcp.client.transports import StreamableHttpTransport
from pydantic import BaseModel, ConfigDict

from commonplace.butlers.butler import Butler, ButlerSection
from commonplace.butlers.claude_runtime import ClaudeRuntime
from commonplace.butlers.host import ButlerHost
from commonplace.butlers.memory_module import MemoryModule
from commonplace.butlers.module import EndedSession, Module
from commonplace.butlers.sessions import SessionOutcome, SessionRequest
from commonplace.core.clock import ManualClock
from commonplace.core.errors import ModuleError, SettingsError
from commonplace.core.settings import Settings
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge.model.config import MemoryModuleConfig
from commonplace.knowledge.store.database import KnowledgeDatabase
from support.claude import claude_environment
from support.deadlines import DEADLINE_S
from support.mcp import ask
from support.model_api import Cuts, Fails, Hangs, ModelApi, Says

NOWHERE = "postgresql://nobody@127.0.0.1:1/none"


class ScriptedRuntime:
    """Answers sessions in order, and keeps what it was asked."""

    def __init__(self, *outcomes: SessionOutcome) -> None:
        self._outcomes = list(outcomes)
        self.requests: list[SessionRequest] = []

    async def run(self, request: SessionRequest) -> SessionOutcome:
        """Take the next outcome."""
        self.requests.append(request)
        return self._outcomes.pop(0)


class NoConfig(BaseModel):
    """A module without settings."""

    model_config = ConfigDict(extra="forbid")


class Recorder(Module):
    """Notes what happens to it, and fails where a session is concerned."""

    name: ClassVar = "recorder"
    dependencies: ClassVar[tuple[str, ...]] = ("memory",)
    config_model: ClassVar[type[BaseModel]] = NoConfig

    def __init__(self, memory: MemoryModule) -> None:
        self._memory = memory
        self.seen: list[str] = []

    async def on_startup(self, config: BaseModel | None, database: KnowledgeDatabase) -> None:
        """Note that memory was there before."""
        assert isinstance(config, NoConfig)
        assert self._memory.memory.database is database
        self.seen.append("started")

    async def on_shutdown(self) -> None:
        """Note that memory is still there."""
        assert self._memory.memory is not None
        self.seen.append("stopped")

    def register_tools(self, server: FastMCP) -> None:
        """Add a tool of its own."""
        server.tool(lambda: "pong", name="ping")

    async def session_context(self, prompt: str, butler: str) -> str:
        """Fail."""
        raise RuntimeError(f"{prompt} {butler}")

    async def session_ended(self, session: EndedSession, butler: str) -> None:
        """Fail."""
        raise RuntimeError(f"{session} {butler}")


class Second(Recorder):
    """Needs a module that needs it."""

    name: ClassVar = "second"
    dependencies: ClassVar[tuple[str, ...]] = ("first",)


class First(Recorder):
    """Likewise."""

    name: ClassVar = "first"
    dependencies: ClassVar[tuple[str, ...]] = ("second",)


@pytest.fixture
def knowing(settings: Settings, knowledge_url: str) -> Settings:
    """Settings with an empty knowledge memory."""
    return settings.model_copy(update={"postgres_url": knowledge_url})


@pytest.fixture
def module(knowing: Settings, engine: EmbeddingEngine, monkeypatch: pytest.MonkeyPatch) -> MemoryModule:
    """Memory with an engine that needs no model."""
    module = MemoryModule(knowing, actor="butler:dev")
    monkeypatch.setattr(module, "_get_embedding_engine", lambda: engine)
    return module


@pytest.fixture
async def database(knowing: Settings) -> AsyncIterator[KnowledgeDatabase]:
    """The database that a host would hand to its modules."""
    database = KnowledgeDatabase(knowing)
    yield database
    await database.close()


def butler(**modules: dict[str, object]) -> Butler:
    """Return a butler with modules."""
    return Butler(butler=ButlerSection(name="dev"), modules=modules)


@pytest.mark.requirement("KNW-28.1", "KNW-28.2")
async def test_memory_keeps_what_it_is_given_until_it_stops(
    knowing: Settings, database: KnowledgeDatabase
) -> None:
    """Database and configuration from start to stop; another kind of configuration is not taken."""
    module = MemoryModule(knowing)
    assert (module.name, module.dependencies, module.migration_branch) == ("memory", (), "memory")
    config = MemoryModuleConfig.model_validate({"retrieval": {"context_token_budget": 77}})
    await module.on_startup(config, database)
    assert module.memory.database is database
    assert module.memory.config is config
    await module.on_startup(NoConfig(), database)
    assert module.memory.config is config
    await module.on_shutdown()
    with pytest.raises(ModuleError, match="before it is started"):
        _ = module.memory


@pytest.mark.requirement("KNW-28.3")
async def test_the_engine_is_made_once_and_late(knowing: Settings, database: KnowledgeDatabase) -> None:
    """No engine at the start, one for all calls, and none after the stop."""
    module = MemoryModule(knowing)
    await module.on_startup(None, database)
    assert module._embedding_engine is None
    first = module.memory.engine
    assert module.memory.engine is first is module._embedding_engine
    await module.on_shutdown()
    assert module._embedding_engine is None


@pytest.mark.requirement("KNW-23.2", "KNW-28.1")
async def test_sessions_reach_the_tools_with_the_configured_defaults(
    knowing: Settings, module: MemoryModule
) -> None:
    """A real client with the token sees 19 tools and the budget of butler.toml; one without is turned away."""
    configured: dict[str, object] = {"retrieval": {"context_token_budget": 123}}
    async with ButlerHost.open(
        butler(memory=configured), knowing, ScriptedRuntime(), modules=[module]
    ) as host:
        async with httpx2.AsyncClient(timeout=DEADLINE_S) as stranger:
            refused = await stranger.post(host.endpoint.url, json={})
        assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
        transport = StreamableHttpTransport(
            host.endpoint.url, headers={"Authorization": f"Bearer {host.endpoint.token}"}
        )
        async with Client(transport) as client:
            tools = {tool.name: tool for tool in await client.list_tools()}
            assert len(tools) == 19
            schema = tools["memory_context"].input_schema["properties"]["token_budget"]
            assert schema["default"] == 123
            stored = await ask(client, "memory_store_fact", subject="db", predicate="port", content="5433")
            assert stored["id"]
    assert host.endpoint.token not in repr(host.endpoint)


async def test_modules_start_in_order_and_one_that_fails_stops_no_session(
    knowing: Settings, module: MemoryModule, caplog: pytest.LogCaptureFixture
) -> None:
    """Memory before what depends on it; context and notice that fail are logged, and the episode is there."""
    recorder = Recorder(module)
    runtime = ScriptedRuntime(SessionOutcome(answer="It is 5433."))
    async with ButlerHost.open(
        butler(recorder={}, memory={}), knowing, runtime, modules=[recorder, module]
    ) as host:
        assert [each.name for each in host.modules] == ["memory", "recorder"]
        outcome = await host.run_session("Which port?")
        stats = await module.memory.stats()
    assert outcome.answer == "It is 5433."
    assert stats.episodes.total == 1
    assert recorder.seen == ["started", "stopped"]
    assert "'recorder' failed to give context" in caplog.text
    assert "'recorder' failed at the end" in caplog.text


async def test_a_session_with_a_secret_in_it_leaves_an_episode_without_it(
    knowing: Settings, module: MemoryModule, caplog: pytest.LogCaptureFixture
) -> None:
    """In the prompt, the answer or the failure; what was said around it is remembered, and nothing is logged."""
    key = "sk-" + "abc123def456"
    ended = SessionOutcome(
        answer=f"I used {key} for caddy.\npassword: hunter2secret9", failure=f"{key} refused"
    )
    async with ButlerHost.open(butler(memory={}), knowing, ScriptedRuntime(ended), modules=[module]) as host:
        await host.run_session(f"Deploy caddy with {key} please")
        (episode,) = await module.memory.search("caddy", types=["episode"])
    assert episode.memory.content == (
        "Asked: Deploy caddy with [hidden: API key] please\n"
        "Answered: I used [hidden: API key] for caddy.\n[hidden: password]\n"
        "Failed: [hidden: API key] refused"
    )
    assert caplog.text == ""


@pytest.mark.parametrize(
    ("sections", "error", "message"),
    [
        ({"calendar": {}}, ModuleError, r"modules\.calendar: unknown module; expected one of first, memory"),
        ({"recorder": {}}, ModuleError, r"'recorder' needs \[modules\.memory\]"),
        ({"memory": {"retrival": {}}}, SettingsError, r"modules\.memory\.retrival"),
        ({"first": {}, "second": {}}, ModuleError, "form a cycle"),
    ],
)
async def test_a_host_that_cannot_be_put_together_does_not_start(
    knowing: Settings,
    module: MemoryModule,
    sections: dict[str, dict[str, object]],
    error: type[Exception],
    message: str,
) -> None:
    """The error names the module or the key."""
    modules = [module, Recorder(module), First(module), Second(module)]
    with pytest.raises(error, match=message):
        async with ButlerHost.open(butler(**sections), knowing, ScriptedRuntime(), modules=modules):
            pytest.fail("it started")


@pytest.mark.requirement("KNW-24.1", "KNW-24.2")
async def test_a_session_runs_without_the_database(
    settings: Settings,
    engine: EmbeddingEngine,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """No context, no episode, two lines in the log, and the session's answer."""
    offline = settings.model_copy(update={"postgres_url": NOWHERE})
    module = MemoryModule(offline)
    monkeypatch.setattr(module, "_get_embedding_engine", lambda: engine)
    runtime = ScriptedRuntime(SessionOutcome(answer="Done."))
    async with ButlerHost.open(butler(memory={}), offline, runtime, modules=[module]) as host:
        outcome = await host.run_session("Do it")
    assert outcome.answer == "Done."
    assert runtime.requests[0].context == ""
    assert "no memory for a session" in caplog.text
    assert "was not stored" in caplog.text


ANSWER = """Done.
```json
{"new_facts": [{"subject": "database", "predicate": "port", "content": "listens on port 5433"}]}
```"""


@pytest.mark.requirement("KNW-12.2", "KNW-28.1")
async def test_the_whole_life_with_the_real_cli(
    knowing: Settings, module: MemoryModule, clock: ManualClock, tmp_path: Path
) -> None:
    """A session ends with an episode, consolidation makes a fact of it, and the next session knows it."""
    with ModelApi(Says("I moved the database to port 5433."), Says(ANSWER), Says("It is 5433.")) as api:
        environ = claude_environment(tmp_path / "claude-home", api.url)
        claude = Path(environ["PATH"].split(":")[0]) / "claude"
        runtime = ClaudeRuntime(claude, directory=knowing.workspace, environ=environ)
        async with ButlerHost.open(
            butler(memory={}), knowing, runtime, modules=[module], clock=clock
        ) as host:
            first = await host.run_session("Move the database to another port")
            assert first.failure is None
            report = await module.memory.runs.consolidate(host.spawn)
            assert (report.errors, report.episodes_consolidated) == ((), 1)
            await host.run_session("Which port does the database use?")
    learning, consolidating, knowing_session = (json.dumps(asked.body) for asked in api.asked)
    assert "5433" not in learning
    assert "<episode_content>" in consolidating
    assert "moved the database to port 5433" in consolidating
    assert "listens on port 5433" in knowing_session
    assert "mcp__dev__memory_recall" in knowing_session
    assert "mcp__dev__memory_recall" not in consolidating


async def test_a_failed_session_is_an_outcome_and_leaves_an_episode(
    knowing: Settings, module: MemoryModule, tmp_path: Path
) -> None:
    """The API refuses: the outcome says so, and memory knows that it was tried."""
    with ModelApi(Fails(status=400, message="no such model")) as api:
        environ = claude_environment(tmp_path / "claude-home", api.url)
        claude = Path(environ["PATH"].split(":")[0]) / "claude"
        runtime = ClaudeRuntime(claude, directory=knowing.workspace, environ=environ)
        async with ButlerHost.open(butler(memory={}), knowing, runtime, modules=[module]) as host:
            outcome = await host.run_session("Try")
            found = await module.memory.search("failed", types=["episode"])
            with pytest.raises(ModuleError, match=r"schedule:consolidation failed: .*no such model"):
                await host.spawn("consolidate", trigger_source="schedule:consolidation")
    assert "no such model" in (outcome.failure or "")
    assert "no such model" in found[0].memory.content


@pytest.mark.requirement("R-KNW-4")
@pytest.mark.parametrize(
    "outage", ["busy", "failing", "out of reach", "out of time", "not there", "a wrong key"]
)
async def test_an_outage_counts_as_no_attempt_of_an_episode(
    knowing: Settings, module: MemoryModule, tmp_path: Path, outage: str
) -> None:
    """As with the other models: the episodes wait for as long as it lasts."""
    faults = {
        "busy": Fails(status=429),
        "failing": Fails(status=529),
        "a wrong key": Fails(status=401),
        "out of reach": Cuts(),
    }
    with ModelApi(faults.get(outage, Hangs())) as api:
        environ = claude_environment(tmp_path / "claude-home", api.url) | {"CLAUDE_CODE_MAX_RETRIES": "0"}
        claude = Path(environ["PATH"].split(":")[0]) / ("claude" if outage != "not there" else "no-claude")
        timeout_s = 1.0 if outage == "out of time" else DEADLINE_S
        runtime = ClaudeRuntime(claude, directory=knowing.workspace, environ=environ, timeout_s=timeout_s)
        async with ButlerHost.open(butler(memory={}), knowing, runtime, modules=[module]) as host:
            stored = await module.memory.store_episode(content="something", butler="dev")
            assert stored.id is not None
            report = await module.memory.runs.consolidate(host.spawn)
            assert "ModelUnavailableError" in report.errors[0]
            waiting = await module.memory.read("episode", stored.id)
    assert (waiting.consolidation_status, waiting.retry_count) == ("failed", 0)


async def test_a_runtime_that_is_not_there_is_an_outcome(tmp_path: Path) -> None:
    """The message names the program."""
    runtime = ClaudeRuntime(tmp_path / "claude", directory=tmp_path, environ={})
    request = SessionRequest(prompt="x", context="", trigger_source="t", tools_name="dev", endpoint=None)
    assert "cannot be started" in ((await runtime.run(request)).failure or "")
