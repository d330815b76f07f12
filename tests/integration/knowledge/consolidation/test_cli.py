"""Consolidation from the command line and over MCP, with a model behind a real API."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client

from commonplace.core.settings import Settings
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge.memory import KnowledgeMemory
from commonplace.mcp.knowledge.server import build_server
from support.commands import COMMAND, CommandLine, Done, clean_environment
from support.consolidation import NOTHING, answer, fact
from support.deadlines import DEADLINE_S
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
    dry = knowledge("consolidate", "--dry-run").out
    assert "ops" in dry
    assert "no model was asked" in dry
    assert "no language model is set" not in dry
    (planned,) = knowledge("consolidate", "--dry-run", "--json").json["planned"]
    assert (planned["butler"], planned["episodes"]) == ("ops", 1)
    assert api.asked == []
    for name in ("", "extractive"):
        assert "no language model is set" in knowledge("consolidate", "--dry-run", COMMONPLACE_MODEL=name).out
    assert "no model was asked" in knowledge("consolidate", "--dry-run", COMMONPLACE_MODEL="ollama:").out
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


@pytest.mark.requirement("CNS-01.1")
def test_a_superseded_fact_that_matters_is_decided_on_the_command_line(
    commonplace: CommandLine, knowledge: Knowledge, knowledge_url: str, api: ModelApi
) -> None:
    """The preview and the run say so, and `commonplace review` lists and decides the pair."""

    def review(*arguments: str) -> Done:
        return commonplace("review", *arguments, COMMONPLACE_POSTGRES_URL=knowledge_url)

    known = fact("anna", "wedding_day", "1 May")
    for content in ("1 May", "2 June"):
        assert knowledge("store-episode", f"Anna: {content}", "--butler", "ops").status == 0
        api.script(Says(answer(new_facts=[known | {"content": content, "permanence": "permanent"}])))
        done = knowledge("consolidate", "--preview", "--yes")
        assert done.status == 0
    assert "note: new fact 1: superseded the known fact" in done.err
    assert "decide with: commonplace review" in done.out
    (waiting,) = review("--json").json["items"]
    assert [side["text"] for side in waiting["sides"]] == ["1 May", "2 June"]
    name = waiting["id"]
    listed = review()
    assert f"{name} replaced [anna wedding_day]: the old fact is permanent" in listed.out
    decided = review(name, "distinct")
    assert (decided.status, "distinct, decided by" in decided.out) == (0, True)
    assert review().out == "No memory waits for a decision.\n"
    assert review(name, "undo").status == 0


@pytest.mark.requirement("R-KNW-4")
@pytest.mark.parametrize(
    ("stdin", "applied"),
    [(b"", 0), (b"yes", 1)],
)
def test_a_plan_without_a_yes_is_not_applied(
    knowledge: Knowledge, api: ModelApi, stdin: bytes, applied: int
) -> None:
    """Also where the input has ended: that is no failure, and the episode waits as it did."""
    assert knowledge("store-episode", "the build took four minutes", "--butler", "ops").status == 0
    api.script(Says(answer(new_facts=[fact("build", "takes", "four minutes")])))
    done = knowledge("consolidate", "--preview", "--json", stdin=stdin)
    assert done.status == 0
    assert "Traceback" not in done.err
    assert (done.json["facts_created"], done.json["failed"]) == (applied, [])
    assert done.json["runs"][0]["state"] == ("applied" if applied else "refused")
    waiting = knowledge("consolidate", "--dry-run", "--json").json
    assert waiting["groups"] == ({} if applied else {"ops": 1})


def test_each_question_gets_its_own_line(knowledge: Knowledge, api: ModelApi) -> None:
    """Of answers that came together."""
    for butler in ("mail", "ops"):
        assert knowledge("store-episode", "something", "--butler", butler).status == 0
    api.script(Says(answer(new_facts=[fact("a", "b", "c")])))
    done = knowledge("consolidate", "--preview", "--json", stdin=b"n\ny\n")
    assert [(run["butler"], run["state"]) for run in done.json["runs"]] == [
        ("mail", "refused"),
        ("ops", "applied"),
    ]


IN_A_TERMINAL = """
import fcntl, os, signal, sys, termios
signal.signal(signal.SIGINT, signal.SIG_DFL)  # who runs the tests in the background ignores it
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


def test_an_interrupt_at_the_question_ends_the_command(
    commonplace: CommandLine, knowledge: Knowledge, knowledge_url: str, api: ModelApi
) -> None:
    """At once, and the episodes can be taken by the next worker: the lease was given back."""
    assert knowledge("store-episode", "the build took four minutes", "--butler", "ops").status == 0
    api.script(Says(answer(new_facts=[fact("build", "takes", "four minutes")])))
    environment = clean_environment(
        commonplace.home,
        COMMONPLACE_POSTGRES_URL=knowledge_url,
        COMMONPLACE_MODEL="ollama:scripted",
        OLLAMA_HOST=api.url,
    )
    ours, theirs = os.openpty()
    command = [
        sys.executable,
        "-c",
        IN_A_TERMINAL,
        COMMAND,
        "knowledge",
        "consolidate",
        "--preview",
    ]
    streams: dict[str, Any] = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
    with subprocess.Popen(command, env=environment, start_new_session=True, **streams) as process:
        os.close(theirs)
        said = b""
        while b"Apply this plan?" not in said:
            said += os.read(ours, 1024)
        os.write(ours, b"\x03")
        try:
            status = process.wait(timeout=DEADLINE_S)
        finally:
            process.kill()
    os.close(ours)
    assert status == 130
    assert [run["state"] for run in knowledge("runs", "list", "--json").json["runs"]] == ["failed"]
    again = knowledge("consolidate", "--json").json
    assert (again["busy"], again["waiting"], again["facts_created"]) == ([], [], 1)
    assert again["again_at"] is None


@pytest.mark.requirement("KNW-24.3", "R-KNW-4")
def test_a_failure_is_said_and_dead_letters_are_shown(
    commonplace: CommandLine, knowledge: Knowledge, knowledge_url: str, api: ModelApi
) -> None:
    """The command fails where a group did; what is given up can be seen and tried again."""
    assert knowledge("store-episode", "something", "--butler", "ops").status == 0
    api.script(Says("rubbish"))
    failed = knowledge("consolidate")
    assert failed.status == 1
    assert "not done: ops: ModelOutputError: No JSON block found" in failed.out
    waiting = knowledge("consolidate").out
    assert "waiting after a failure: episodes of ops" in waiting
    assert "due again at 20" in waiting
    admin = partial(commonplace, "admin", "dead-letters", COMMONPLACE_POSTGRES_URL=knowledge_url)
    assert admin().out == "No dead letters.\n"
    assert admin("--requeue", "--json").json == {"requeued": 0}
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
        assert (await memory.runs.get(run["runs"][0]["id"])).run.model == "ollama:scripted"
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
    assert 'unknown model "nonsense:x"' in run["hint"]
