"""Consolidation from the command line and over MCP, with a model behind a real API."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client

from commonplace.core.settings import Settings
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge.memory import KnowledgeMemory
from commonplace.mcp.knowledge.server import build_server
from support.commands import CommandLine, Done
from support.consolidation import NOTHING, answer, fact
from support.mcp import ask
from support.model_api import ModelApi, Says

Knowledge = Callable[..., Done]


@pytest.fixture
def api() -> Iterator[ModelApi]:
    """A model that has nothing to say, until a test scripts it."""
    with ModelApi(Says(NOTHING)) as api:
        yield api


@pytest.fixture
def knowledge(commonplace: CommandLine, knowledge_url: str, api: ModelApi) -> Knowledge:
    """``commonplace knowledge`` on a database of the test's own, with a model."""
    variables = {
        "COMMONPLACE_POSTGRES_URL": knowledge_url,
        "COMMONPLACE_MODEL": "ollama:scripted",
        "OLLAMA_HOST": api.url,
    }

    def run(*arguments: str, stdin: bytes = b"", **more: str) -> Done:
        return commonplace("knowledge", *arguments, stdin=stdin, **variables | more)

    return run


@pytest.mark.requirement("KNW-12.2", "KNW-12.3", "KNW-14.1")
def test_an_operator_consolidates_looks_and_undoes(knowledge: Knowledge, api: ModelApi) -> None:
    """What waits is counted, a plan is shown and turned down, then applied, looked at, and undone."""
    assert knowledge("store-episode", "the build took four minutes", "--butler", "ops").status == 0
    learned = answer(
        new_facts=[fact("build", "takes", "four minutes"), fact("key", "is", "sk-ant-api03-" + "Ab1" * 20)]
    )
    api.script(Says(learned))
    assert "ops" in knowledge("consolidate", "--dry-run").out
    assert api.asked == []
    refused = knowledge("consolidate", "--preview", stdin=b"n\n")
    assert "fact [build] takes" in refused.err
    assert "refused" in refused.out
    done = knowledge("consolidate", "--preview", "--yes", "--json")
    assert "four minutes" in done.err
    assert (done.status, done.json["facts_created"], done.json["episodes_consolidated"]) == (0, 1, 1)
    assert "text appears to contain a secret" in done.json["errors"][0]
    run = done.json["runs"][0]["id"]
    assert [each["state"] for each in knowledge("runs", "list", "--json").json["runs"]] == [
        "applied",
        "refused",
    ]
    shown = knowledge("runs", "show", run).out
    assert all(text in shown for text in ("fact created", "four minutes", "active", "not done: new fact 2"))
    assert "facts retracted" in knowledge("runs", "undo", run, "--requeue").out
    again = knowledge("runs", "undo", run, "--json").json
    assert (again["already_undone"], again["episodes_requeued"]) == (True, 0)


@pytest.mark.requirement("KNW-24.3", "R-KNW-4")
def test_a_failure_is_said_and_dead_letters_are_shown(knowledge: Knowledge, api: ModelApi) -> None:
    """The command fails where a group did; what is given up can be seen and tried again."""
    assert knowledge("store-episode", "something", "--butler", "ops").status == 0
    api.script(Says("rubbish"))
    failed = knowledge("consolidate")
    assert failed.status == 1
    assert "not done: ops: ModelOutputError: No JSON block found" in failed.out
    assert "waiting after a failure: episodes of ops" in knowledge("consolidate").out
    assert knowledge("dead-letters").out == "no dead letters\n"
    assert knowledge("dead-letters", "--requeue", "--json").json == {"requeued": 0}
    unknown = knowledge("runs", "undo", "6f1e4c1e-0000-4000-8000-000000000000")
    assert (unknown.status, "no run with id" in unknown.err) == (1, True)
    assert knowledge("consolidate", "--yes").status == 2


@pytest.mark.requirement("KNW-12.2", "KNW-19.7")
async def test_the_tool_consolidates_with_the_configured_model(
    knowledge_url: str,
    tmp_path: Path,
    engine: EmbeddingEngine,
    api: ModelApi,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And says what it did."""
    monkeypatch.setenv("OLLAMA_HOST", api.url)
    api.script(Says(answer(new_facts=[fact("build", "takes", "four minutes")])))
    settings = Settings(
        home=tmp_path, workspace=tmp_path, postgres_url=knowledge_url, model="ollama:scripted"
    )
    async with (
        KnowledgeMemory.open(settings, engine=engine) as memory,
        Client[Any](build_server(memory)) as client,
    ):
        await ask(client, "memory_store_episode", content="the build took four minutes", butler="ops")
        run = await ask(client, "memory_run_consolidation")
        assert (run["consolidated"], run["episodes_consolidated"], run["facts_created"]) == (True, 1, 1)
        assert run["runs"][0]["state"] == "applied"
        assert (await memory.get_run(run["runs"][0]["id"])).run.model == "ollama:scripted"
        found = await ask(client, "memory_search", query="build", scope="ops")
        assert "four minutes" in str(found)


@pytest.mark.requirement("KNW-12.3")
async def test_a_model_that_is_set_wrongly_is_said_and_episodes_are_counted(
    knowledge_url: str, tmp_path: Path, engine: EmbeddingEngine
) -> None:
    """An agent that calls the tool cannot mend the setting, but can tell its operator."""
    settings = Settings(home=tmp_path, workspace=tmp_path, postgres_url=knowledge_url, model="nonsense:x")
    async with (
        KnowledgeMemory.open(settings, engine=engine) as memory,
        Client[Any](build_server(memory)) as client,
    ):
        await ask(client, "memory_store_episode", content="something", butler="ops")
        run = await ask(client, "memory_run_consolidation")
    assert (run["groups"], run["consolidated"]) == ({"ops": 1}, False)
    assert "unknown model 'nonsense:x'" in run["hint"]
