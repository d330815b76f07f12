"""Erasure over all four memories: rows, histories, audit texts and files, and the proof that they are gone."""

import gzip
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from commonplace.apps.conversations import Message
from commonplace.core.context import request_context
from commonplace.core.settings import Settings
from commonplace.storage.backup.copies import KNOWLEDGE, run_program, servers
from commonplace.workspace import WorkspaceMemory
from support.commands import CommandLine
from support.service import open_memories

NAME = "Ada Lovelace"
DERIVED = "Prefers trains to every aeroplane"
TRACES = ("Lovelace", "lovelac", "to every aeroplane")
KEPT = "Charles Babbage works in London"


async def fill(settings: Settings) -> None:
    """Put the subject into every memory, in a second tenant, and in a transcript; and somebody else beside it."""
    async with open_memories(settings) as memories:
        with request_context(actor="test"):
            note = await memories.operational.add(
                category="behavior", observation=f"Pages of {NAME} time out"
            )
            await memories.operational.edit([note.id], observation="Pages of the analyst time out")
            await memories.operational.add(category="timing", observation=KEPT)
            await memories.apps.registry.register("notes")
            chat = "chat-1"
            await memories.apps.ingest(
                "notes",
                chat,
                [
                    Message(role="user", content=f"My name is ada   lovelace, and I like {DERIVED}."),
                    Message(role="assistant", content="Noted."),
                ],
            )
            await fill_knowledge(memories.knowledge)
            other = memories.knowledge.acting_for(tenant_id="other", actor="test")
            await other.store_fact(subject=NAME, predicate="city", content="lives in London")
    async with WorkspaceMemory.open(settings) as workspace:
        await workspace.store(f"{NAME} owns the build", tags=["people"])
        await workspace.store(KEPT)
    transcripts = settings.home / "ops-transcripts"
    transcripts.mkdir()
    lines = (f'{{"text": "Asked {NAME.upper()} about it"}}', f'{{"text": "{KEPT}"}}')
    (transcripts / "1.jsonl").write_text("".join(f"{line}\n" for line in lines))


async def fill_knowledge(knowledge: Any) -> None:  # noqa: ANN401 - the facade, or one that acts for a tenant
    """Store an episode, facts of an entity, a derived fact, a rule with a harmful mark, and a merge of two entities."""
    episode = await knowledge.store_episode(content=f"Talked with {NAME} on travel", butler="b")
    ada = await knowledge.entity_create(canonical_name=NAME, entity_type="person", aliases=["Countess"])
    countess = await knowledge.entity_create(canonical_name=f"{NAME} II", entity_type="person")
    await knowledge.entity_merge(countess.id, ada.id)
    await knowledge.store_fact(subject="Countess", predicate="drinks", content="tea", entity_id=ada.id)
    derived = await knowledge.store_fact(
        subject="traveller", predicate="travel", content=DERIVED, source_episode_id=episode.id
    )
    await knowledge.create_link(
        source_type="fact",
        source_id=derived.id,
        target_type="episode",
        target_id=episode.id,
        relation="derived_from",
    )
    await knowledge.store_rule(content=f"Answer {NAME} within a day")
    await knowledge.store_fact(subject="Charles", predicate="city", content=KEPT)


async def dumped(settings: Settings) -> str:
    """Return all rows of all databases as SQL."""
    with closing(sqlite3.connect(settings.database_path)) as connection:
        text = "\n".join(connection.iterdump())
    async with servers(settings) as found:
        return text + run_program("pg_dump", found[KNOWLEDGE].url, "--data-only", "--restrict-key=same")


def files_with(traces: tuple[str, ...], *directories: Path) -> list[Path]:
    """Return the files with one of the texts, whatever the case."""
    wanted = [trace.lower().encode() for trace in traces]
    return [
        path
        for directory in directories
        for path in directory.rglob("*")
        if path.is_file() and any(each in path.read_bytes().lower() for each in wanted)
    ]


@pytest.mark.requirement("BAK-04.1")
async def test_an_erased_subject_is_in_no_table_and_no_file(
    settings: Settings, commonplace: CommandLine
) -> None:
    """A preview and a question change nothing; a backup that holds the subject is named; the trail says no more."""
    settings = settings.model_copy(update={"workspace": commonplace.directory})
    await fill(settings)
    before = await dumped(settings)
    assert all(trace.lower() in before.lower() for trace in TRACES)

    asked = commonplace("erase", "--subject", NAME, stdin=b"n\n")
    assert asked.status == 0, asked.err
    assert "Nothing was erased" in asked.out
    for shown in (
        "facts: 3 deleted, 1 of them derived",
        "memory_events: ",
        DERIVED,
        "Pages of the analyst time out",
        "tea",
    ):
        assert shown in asked.out
    assert await dumped(settings) == before

    backups = settings.home / "backups"
    backups.mkdir(exist_ok=True)
    with gzip.open(backups / "old.tar.gz", "wb") as backup:
        backup.write(f"row of {NAME}".encode())
    done = commonplace("erase", "--subject", NAME, "--yes", "--json")
    assert done.status == 0, done.err
    receipt = done.json["receipt"]
    assert receipt["remains"] == [str(backups / "old.tar.gz")]
    assert receipt["problems"] == []
    memories = {part["memory"] for part in receipt["parts"]}
    assert memories == {
        "knowledge memory",
        "operational memory",
        "app memory",
        "workspace memory",
        "files",
    }
    assert NAME.lower() not in done.out.lower()

    after = await dumped(settings)
    assert [trace for trace in TRACES if trace.lower() in after.lower()] == []
    assert after.count("memory_erased") == 2
    assert after.count(KEPT) >= 2
    assert files_with(TRACES, settings.home, settings.workspace / ".aegis") == []
    async with open_memories(settings) as opened, WorkspaceMemory.open(settings) as workspace:
        assert [each.observation for each in await opened.operational.list_memories()] == [KEPT]
        assert [each.text for each in (await workspace.search()).memories] == [KEPT]
        events = await opened.knowledge.list_events(event_type="memory_erased")
        assert events[0].payload["deleted"]["facts"] == 2
        pool = await opened.knowledge.database.pool()
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await pool.execute("DELETE FROM memory_events")


@pytest.mark.requirement("BAK-04.1")
def test_a_preview_and_an_erasure_have_limits(commonplace: CommandLine, knowledge_url: str) -> None:
    """By session, source and tenant, on a server with a URL; a dry run erases nothing."""

    def run(*arguments: str) -> Any:  # noqa: ANN401 - a JSON document
        done = commonplace(*arguments, "--json", COMMONPLACE_POSTGRES_URL=knowledge_url)
        assert done.status == 0, done.err
        return done.json

    session = "11111111-2222-4333-8444-555555555555"
    episode = run("knowledge", "store-episode", f"Met {NAME} here", "--butler", "b", "--session", session)
    run("knowledge", "store-fact", NAME, "city", "London")
    run("workspace", "store", f"{NAME} owns the build")
    tables = {
        each: {
            (part["place"], part["count"])
            for part in run("erase", *each.split("|"), "--dry-run")["parts"]
            if not part["place"].endswith("jsonl")
        }
        for each in (
            f"--session|{session}",
            "--source|b",
            f"--subject|{NAME}",
            "--tenant|default",
            "--tenant|x",
        )
    }
    assert episode["id"]
    assert ("episodes", 1) in tables[f"--session|{session}"]
    assert ("facts", 1) not in tables[f"--session|{session}"]
    assert ("episodes", 1) in tables["--source|b"]
    assert {("episodes", 1), ("facts", 1)} <= tables[f"--subject|{NAME}"]
    assert {("episodes", 1), ("facts", 1)} <= tables["--tenant|default"]
    assert tables["--tenant|x"] == set()

    erased = run("erase", "--session", session, "--yes")["receipt"]
    assert {(part["place"], part["count"]) for part in erased["parts"]} == {("episodes", 1)}
    assert (erased["remains"], erased["problems"]) == ([], [])
    assert any("PostgreSQL server" in place for place in erased["not_reached"])
    assert ("facts", 1) in {
        (each["place"], each["count"]) for each in run("erase", "--subject", NAME, "--dry-run")["parts"]
    }

    wrong = commonplace("erase", "--subject", NAME, "--session", session)
    assert wrong.status == 1
    assert "--subject" in wrong.err


@pytest.mark.requirement("BAK-04.1")
def test_a_subject_that_is_nowhere_erases_nothing(commonplace: CommandLine, knowledge_url: str) -> None:
    """Part of a longer word is not the subject; with --yes, the databases are compacted and searched all the same."""
    done = commonplace("ops", "add", "--category", "timing", "Anniversary mail takes 60 s")
    assert done.status == 0, done.err
    done = commonplace("erase", "--subject", "Ann", "--yes", COMMONPLACE_POSTGRES_URL=knowledge_url)
    assert done.status == 0, done.err
    assert done.out.startswith("No memory has the subject 'Ann'.\n")
    assert "1 text and found no trace" in done.out
    asked = commonplace("erase", "--subject", "Ann", COMMONPLACE_POSTGRES_URL=knowledge_url)
    assert (asked.out, asked.err) == ("No memory has the subject 'Ann'.\n", "")
    assert "Anniversary" in commonplace("ops", "list").out
