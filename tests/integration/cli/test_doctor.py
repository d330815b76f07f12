"""What the doctor checks leaves each database as it was, on SQLite and on PostgreSQL; a model is asked one question."""

import re
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from commonplace.apps.model.energy import EnergyPolicy
from commonplace.cli.commands.checks import (
    check_apps,
    check_judge,
    check_model,
    check_operational,
    check_reranker,
    check_second_opinion,
)
from commonplace.core.errors import EmbeddingError, ModelAccessError, ModelOutputError, ModelUnavailableError
from commonplace.core.settings import Settings
from commonplace.judge import network
from commonplace.operational.memory import SQL_DIRECTORY, OperationalMemory
from commonplace.operational.store.statements import OperationalStatements
from commonplace.storage.database import Database, load_queries
from commonplace.storage.migrations.opening import open_database
from commonplace.storage.trial import trial
from support.commands import CommandLine, Done
from support.cross_encoders import write_cross_encoder
from support.deadlines import DEADLINE_S
from support.judging import make_pair_wait
from support.model_api import Decides, Fails, ModelApi, Says
from support.service import open_app_memory

Check = Callable[[Settings], Awaitable[str]]
CHECKS = pytest.mark.parametrize("check", [check_operational, check_apps])


async def everything(database: Settings) -> dict[str, list[Any]]:
    """Return every row of every table."""
    if not database.database_is_postgres:
        connection = sqlite3.connect(database.database_path)
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        tables = {name: connection.execute(f'SELECT * FROM "{name}"').fetchall() for (name,) in names}  # noqa: S608
        connection.close()
        return {name: sorted(map(repr, rows)) for name, rows in tables.items()}
    server = await asyncpg.connect(database.database)
    names = await server.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    tables = {name: await server.fetch(f'SELECT * FROM "{name}"') for (name,) in names}  # noqa: S608
    await server.close()
    return {name: sorted(map(repr, rows)) for name, rows in tables.items()}


@pytest.fixture
async def used(database: Settings) -> Settings:
    """A database with memories, whose energy is below what work on memories may take."""
    async with OperationalMemory.open(database) as memory:
        await memory.add(category="timing", observation="Takes 60s to start")
    async with open_app_memory(database, energy=EnergyPolicy(refill_per_s=0.0)) as memory:
        await memory.registry.register("cal", name="Calendar")
        status = await memory.energy.spend(900)
    assert status.low
    return database


@CHECKS
async def test_a_check_leaves_every_table_as_it_was(used: Settings, check: Check) -> None:
    """Also the history, the ledger of energy and its level; however often it runs, and with little energy."""
    before = await everything(used)
    assert len(before) > 10
    for _ in range(2):
        assert (await check(used)).startswith("wrote, read, searched, deleted; 1 ")
    assert await everything(used) == before


async def _delete_and_fail(database: Database, memory_id: int) -> None:
    async with database.transaction(
        load_queries(OperationalStatements, [SQL_DIRECTORY], database.dialect)
    ) as sql:
        assert await sql.delete_memory(id=memory_id) is not None
        raise ZeroDivisionError


async def test_what_is_tried_is_there_until_the_end_and_then_never_was(used: Settings) -> None:
    """A step that raises is undone by itself; the others go on."""
    database = await open_database(used, "operational")
    try:
        async with trial(database) as lent:
            memory = OperationalMemory(lent)
            kept = (await memory.add(category="timing", observation="Tried out")).memory
            with pytest.raises(ZeroDivisionError):
                await _delete_and_fail(lent, kept.id)
            assert await memory.get(kept.id) == kept
            assert len(await memory.list_memories()) == 2
            assert len(await OperationalMemory(database).list_memories()) == 1
        assert len(await OperationalMemory(database).list_memories()) == 1
    finally:
        await database.close()


def served(settings: Settings, api: ModelApi) -> Settings:
    """Return settings that name a model of a server."""
    return settings.model_copy(update={"model": "openai:qwen3:8b", "model_base_url": api.url})


@pytest.mark.requirement("DIG-05.4")
async def test_the_model_is_asked_one_real_question(settings: Settings) -> None:
    """The answer is shown with the name of the model, its address, the time and the tokens."""
    with ModelApi(Decides({"colour": "green"})) as api:
        found = await check_model(served(settings, api))
    assert found.startswith(f"openai:qwen3:8b at {api.url}/v1 answered 'green' in ")
    assert found.endswith(" s (17 tokens)")
    (asked,) = api.asked
    assert "name of a colour" in asked.text


@pytest.mark.requirement("DIG-05.4")
async def test_a_model_of_consolidation_alone_is_asked(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An account that is logged out is seen before episodes expire."""
    own = settings.model_copy(update={"consolidation_model": "openai:qwen3:8b"})
    monkeypatch.setenv("OPENAI_API_KEY", "sk-scripted")
    with ModelApi(Decides({"colour": "green"})) as api:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{api.url}/v1")
        found = await check_model(own)
    assert "answered 'green'" in found


@pytest.mark.requirement("DIG-05.4")
async def test_a_model_that_does_not_answer_is_named_with_its_address(settings: Settings) -> None:
    """Wrong key, prose in place of a form, nobody there."""
    with ModelApi(Fails(status=401, message="no such key")) as api:
        with pytest.raises(ModelAccessError, match="openai:qwen3:8b answered 401: no such key"):
            await check_model(served(settings, api))
        api.script(Says("Green, I think."))
        with pytest.raises(ModelOutputError, match=f"at {api.url}/v1 answered twice, but not in the form"):
            await check_model(served(settings, api))
    with pytest.raises(ModelUnavailableError, match=f"cannot be reached at {api.url}/v1: "):
        await check_model(served(settings, api).model_copy(update={"model_timeout_s": DEADLINE_S}))


@pytest.mark.requirement("JDG-06")
def test_the_judge_says_which_network_it_opened(commonplace: CommandLine) -> None:
    """The file, what it was made from, and the time."""
    (judged,) = (
        check
        for check in commonplace("doctor", "--no-model", "--json").json["checks"]
        if check["part"] == "judge"
    )
    assert judged["ok"]
    form = r"network\.safetensors \(recipe [0-9a-f]{12}\), opened in \d+ ms; compared two texts in \d+ ms"
    assert re.fullmatch(form, judged["found"])


@pytest.mark.requirement("JDG-06")
async def test_a_judge_without_its_network_says_why(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then only the same words are the same."""
    damaged = tmp_path / "network.safetensors"
    damaged.write_bytes(network.NETWORK.read_bytes()[:-1])
    monkeypatch.setattr(network, "NETWORK", damaged)
    with pytest.raises(EmbeddingError, match=r"word for word only: network\.safetensors cannot be read: "):
        await check_judge(settings)


@pytest.mark.requirement("SHW-09.3")
async def test_the_doctor_says_which_reranker_is_used(settings: Settings, tmp_path: Path) -> None:
    """And whether its weights can be opened."""
    model = str(write_cross_encoder(tmp_path / "model"))
    for name, label in (("learned", "the learned network"), (model, re.escape(model))):
        report = await check_reranker(settings.model_copy(update={"reranker": name}))
        form = rf"{label}, opened in \d+ ms; read a prompt and a memory in \d+ ms"
        assert re.fullmatch(form, report)
    off = settings.model_copy(update={"reranker": "off"})
    assert await check_reranker(off) == "off: blocks show the memories that are most alike"
    missing = settings.model_copy(update={"reranker": "team/encoder"})
    message = 'are most alike: the reranker "team/encoder" is not on this machine: '
    with pytest.raises(EmbeddingError, match=message):
        await check_reranker(missing)


@pytest.mark.requirement("JDG-08.3")
@pytest.mark.parametrize(
    ("judge", "model", "adviser"),
    [
        ("session", None, "the CLI of a session"),
        ("session", "codex", "the CLI of a session, or else codex"),
        ("model", "codex", "codex after a session"),
        ("model", None, "nobody, because COMMONPLACE_MODEL is not set"),
        ("review", "codex", "off: doubtful pairs wait for a person"),
    ],
)
async def test_the_doctor_says_who_decides_doubtful_pairs(
    settings: Settings, judge: str, model: str | None, adviser: str
) -> None:
    """And how many pairs wait; nobody is asked."""
    async with OperationalMemory.open(settings) as memory:
        await make_pair_wait(memory, "Runs version 2.3", "Was upgraded to 2.4")
    chosen = settings.model_copy(update={"judge": judge, "model": model})
    assert await check_second_opinion(chosen) == (
        f"{adviser}; 0 calls in the last 24 hours of at most 50: 0 of 0 pairs decided (at most 200), 0 tokens, "
        "0.0 s; 1 pair waits: commonplace review"
    )


@pytest.mark.requirement("DIG-05.4")
def test_the_question_can_be_left_out(commonplace: CommandLine) -> None:
    """It may cost tokens; without a language model there is none."""
    with ModelApi(Decides({"colour": "green"})) as api:
        named: dict[str, Any] = {"COMMONPLACE_MODEL": "openai:m", "COMMONPLACE_MODEL_BASE_URL": api.url}
        silent = commonplace("doctor", "--no-model", "--json", **named)
        asked = commonplace("doctor", "--json", **named)
    assert "language model" not in silent.out
    assert len(api.asked) == 1
    assert [one["ok"] for one in asked.json["checks"] if one["part"] == "language model"] == [True]
    assert "extractive" in commonplace("doctor").out


@pytest.mark.requirement("ONE-06.2")
def test_doctor_warns_of_what_will_be_lost(commonplace: CommandLine, knowledge_url: str) -> None:
    """With the command that helps; a warning is no failure."""

    def run(*words: str) -> Done:
        return commonplace(*words, COMMONPLACE_POSTGRES_URL=knowledge_url)

    assert run("knowledge", "store-episode", "--butler", "shop", "Closed the shop").status == 0
    done = run("doctor", "--no-model", "--json")
    assert (done.status, done.json["ok"]) == (0, True), done.err
    (warning,) = (each for each in done.json["warnings"] if each["code"] == "no-model")
    assert warning["severity"] == "warning"
    shown = run("doctor", "--no-model").out
    assert f"warning  {warning['text']}\n         $ commonplace consolidation allow MODEL\n" in shown
