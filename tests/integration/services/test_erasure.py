"""Erasure over all four memories: rows, histories, audit texts and files, and the proof that they are gone."""

import gzip
import signal
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from commonplace.apps.model.conversations import Message
from commonplace.core.request_context import request_context
from commonplace.core.settings import Settings
from commonplace.knowledge.workers.schema import SCHEMA, prepare_schema
from commonplace.services.erasure.compaction import QUEUE_SCHEMA
from commonplace.services.erasure.erasing import erase, preview, whole_tenant
from commonplace.services.erasure.selection import By, Selection
from commonplace.services.erasure.tables import DELETED, REDACTED
from commonplace.storage import sqlite
from commonplace.storage.backup.copies import KNOWLEDGE, servers
from commonplace.storage.cluster import APPLICATION_ROLE, SUPERUSER
from commonplace.storage.dumps import run_program
from commonplace.storage.migrations.runner import migrate_postgres, migrate_sqlite
from commonplace.storage.postgres_access import prepare_access
from commonplace.workspace import WorkspaceMemory
from support.commands import CommandLine, CommandServer, Done
from support.service import open_memories

NAME = "Ada Lovelace"
DERIVED = "Prefers trains to every aeroplane"
TRACES = ("Lovelace", "lovelac", "to every aeroplane")
KEPT = "Charles Babbage works in London"

WAITING_JOB = """
WITH job AS (
    INSERT INTO procrastinate.procrastinate_jobs (queue_name, task_name, args)
    VALUES ('q', 't', jsonb_build_object('text', CAST($1 AS text))) RETURNING id
)
INSERT INTO procrastinate.job_outcomes (job_id, error) SELECT id, $1 FROM job
"""

KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
from commonplace.core.settings import Settings
from commonplace.services.erasure import erasing
from commonplace.services.erasure.selection import By, Selection

part, home, url, session = sys.argv[1:]
original = getattr(erasing, part)

async def killed(*arguments):
    if arguments[-1].__name__ == "work":
        if part == "_in_databases":
            await original(*arguments)
        os.kill(os.getpid(), signal.SIGKILL)
    await original(*arguments)

setattr(erasing, part, killed)
settings = Settings(home=Path(home), workspace=Path(home), postgres_url=url)
asyncio.run(erasing.erase(settings, Selection(by=By.SESSION, value=session)))
"""

COLUMNS = """
SELECT c.relname, a.attname FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid
JOIN pg_namespace AS n ON n.oid = c.relnamespace JOIN pg_type AS t ON t.oid = a.atttypid
WHERE c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped AND t.typcategory NOT IN ('N', 'D', 'B', 'E', 'T')
AND t.typname NOT IN ('uuid', '_uuid', 'vector') AND n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema'
"""
"""The columns of a type that can hold text: all but numbers, times, truth values, enumerations, ids and vectors."""

WITHOUT_MEMORIES = {
    "access_logins": "hash created_at expires_at",
    "access_tokens": "hash tenant_id role created_at expires_at last_used_at revoked_at",
    "alembic_version": "version_num",
    "app_memory_shares": "to_app_id created_at",
    "app_memory_vectors": "model vector",
    "apps": "app_id status installed_at uninstalled_at",
    "consolidation_runs": "tenant_id butler worker model state",
    "embedding_versions": "model version",
    "energy_budget": "as_of",
    "entities": "tenant_id entity_type",
    "entity_names": "tenant_id name_key words",
    "episode_passages": "tenant_id embedding",
    "episode_words": "tenant_id word scope",
    "fact_mentions": "tenant_id words",
    "fact_passages": "tenant_id embedding",
    "fact_words": "tenant_id word scope",
    "memory_counts": "corrected_by",
    "memory_decay": "counted_from",
    "memory_events": "tenant_id event_type about_id merged_into_id run_id",
    "procrastinate_periodic_defers": "task_name periodic_id",
    "reembeddings": "model version replaces_model replaces_version state step",
    "rule_passages": "tenant_id embedding",
    "rule_words": "tenant_id word scope",
    "schema_steps": "name",
    "second_opinions": "model asked_at",
    "session_markers": "fingerprint",
    "sessions": "status model started_at ended_at agent_session_id recorder_host recorder_started_at seen_at",
    "tenants": "tenant_id",
    "worker_details": "name",
}
"""Columns with ids, names, states, models, times and hashes; words and vectors, which go with their memory."""


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
            await prepare_schema(await memories.knowledge.database.access(as_owner=True))
    async with servers(settings) as found:
        path = {"search_path": SCHEMA}
        connection = await asyncpg.connect(found[KNOWLEDGE].url, server_settings=path)
        await connection.execute(WAITING_JOB, f"Told {NAME} nothing")
        await connection.close()
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
    ada = await knowledge.entities.create(canonical_name=NAME, entity_type="person", aliases=["Countess"])
    countess = await knowledge.entities.create(canonical_name=f"{NAME} II", entity_type="person")
    await knowledge.entities.merge(countess.id, ada.id)
    await knowledge.store_fact(subject="Countess", predicate="drinks", content="tea", entity_id=ada.id)
    derived = await knowledge.store_fact(
        subject="traveller", predicate="travel", content=DERIVED, source_episode_id=episode.id
    )
    await knowledge.links.create(
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


@pytest.mark.long
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
    assert "No memory was erased" in asked.out
    for shown in (
        "3 facts will be deleted, 1 of them derived from others",
        "entries of the audit trail will lose their texts",
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
        events = await opened.knowledge.events.list(event_type="memory_erased")
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
    assert {(part["place"], part["count"]) for part in erased["parts"]} == {
        ("episodes", 1),
        ("memory_events", 1),
    }
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
    assert done.out.startswith('No memory matches the subject "Ann".\n')
    assert "1 text and found no trace" in done.out
    asked = commonplace("erase", "--subject", "Ann", COMMONPLACE_POSTGRES_URL=knowledge_url)
    assert (asked.out, asked.err) == ('No memory matches the subject "Ann".\n', "")
    assert "Anniversary" in commonplace("ops", "list").out


@pytest.mark.requirement("BAK-04.1")
def test_a_preview_asks_about_other_names(commonplace: CommandLine, knowledge_url: str) -> None:
    """A part of a name, a longer name, and another name of the entity; a letter is warned of."""

    def run(*words: str) -> Done:
        return commonplace(*words, COMMONPLACE_POSTGRES_URL=knowledge_url)

    create = ("knowledge", "entity", "create", "Ada Lovelace", "--type", "person", "--alias", "Countess")
    assert run(*create).status == 0
    for subject in ("Ada Lovelace", "Ada", "Ada Byron"):
        assert run("knowledge", "store-fact", subject, "town", f"{subject} lives in London").status == 0
    whole = run("erase", "--subject", "Ada Lovelace", "--dry-run").out
    assert whole.startswith("This is a preview. Nothing is erased.\n")
    assert '2 more memories hold "Ada" without the rest of "Ada Lovelace". Is it the same?' in whole
    assert '"Countess" is another name of the same entity.' in whole
    part = run("erase", "--subject", "ada", "--dry-run", "--json").json
    assert part["questions"][0].startswith('"ada" is also a part of "Ada Byron", "Ada Lovelace".')
    assert part["warnings"] == []
    assert "is one character" in run("erase", "--subject", "a", "--dry-run", "--json").json["warnings"][0]


@pytest.mark.one_table
@pytest.mark.requirement("BAK-04.1")
async def test_every_column_that_can_hold_a_memory_is_erased(
    new_settings: Settings, database_url: str, knowledge_url: str
) -> None:
    """Each column of each catalogue is erased, or is in the list of columns that hold no memory."""
    for branch in ("operational", "apps", "access"):
        await migrate_sqlite(new_settings.database_path, branch)
    with closing(sqlite.connect(new_settings.database_path)) as opened:
        catalogues = [
            {
                (row["table"], row["name"])
                for row in opened.execute(
                    "SELECT m.name AS 'table', c.name, c.type FROM sqlite_master AS m, pragma_table_info(m.name) AS c "
                    "WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite%'"
                )
                if row["type"].upper() not in {"INTEGER", "REAL", "FLOAT"}
            }
        ]
    await migrate_postgres(database_url, "access")
    await prepare_schema(await prepare_access(knowledge_url))
    for url in (database_url, knowledge_url):
        connection = await asyncpg.connect(url)
        catalogues.append({tuple(row) for row in await connection.fetch(COLUMNS)})
        await connection.close()
    whole = {table.name for table in DELETED if not table.searched}
    parts = {(table.name, column) for table in DELETED for column in table.searched}
    parts |= {(table.name, column) for table in REDACTED for column in table.columns}
    found = {
        (table, column)
        for catalogue in catalogues
        for table, column in catalogue
        if table not in whole and (table, column) not in parts
    }
    assert found == {
        (table, column) for table, columns in WITHOUT_MEMORIES.items() for column in columns.split()
    }
    assert QUEUE_SCHEMA == SCHEMA


def rows_of(url: str) -> str:
    """Return all rows of a database as SQL."""
    url = url.replace(f"{APPLICATION_ROLE}@", f"{SUPERUSER}@")
    return run_program("pg_dump", url, "--data-only", "--restrict-key=same")


@pytest.mark.requirement("BAK-04.1")
async def test_a_source_and_a_tenant_lose_what_is_theirs_alone(
    settings: Settings, knowledge_url: str
) -> None:
    """Derived memories go too, unless they are to be kept; the audit trail loses the texts of what was erased."""
    settings = settings.model_copy(update={"postgres_url": knowledge_url})
    async with open_memories(settings) as memories:
        with request_context(actor="test"):
            knowledge = memories.knowledge
            for butler in ("first", "second", "third"):
                episode = await knowledge.store_episode(content=f"The {butler} episode", butler=butler)
                await knowledge.store_fact(
                    subject=butler,
                    predicate="derived",
                    content=f"The {butler} derived fact",
                    source_episode_id=episode.id,
                )
                await knowledge.store_fact(
                    subject=butler, predicate="own", content=f"The {butler} own fact", source_butler=butler
                )
            await knowledge.entities.create(canonical_name="The default entity", entity_type="person")
            other = knowledge.acting_for(tenant_id="other", actor="test")
            await other.entities.create(canonical_name="The other entity", entity_type="person")
            await other.store_rule(content="The other rule")
            for app in ("first", "third"):
                await memories.apps.registry.register(app)
                message = Message(role="user", content=f"I like the {app} app and its long calendar.")
                await memories.apps.ingest(app, f"chat-{app}", [message])
    for selection, goes, stays in (
        (
            Selection(by=By.SOURCE, value="first", with_derived=False),
            ("first episode", "first own"),
            "first derived",
        ),
        (
            Selection(by=By.SOURCE, value="second"),
            ("second episode", "second own", "second derived"),
            "third derived",
        ),
        (whole_tenant("other"), ("other entity", "other rule"), "default entity"),
    ):
        before = rows_of(knowledge_url)
        assert all(text in before for text in (*goes, stays))
        receipt = await erase(settings, selection)
        assert (receipt.remains, receipt.problems) == ((), ())
        after = rows_of(knowledge_url)
        assert [text for text in goes if text in after] == []
        assert stays in after
        assert (await preview(settings, selection)).parts == ()
    after = rows_of(knowledge_url)
    assert all(f"third {kind}" in after for kind in ("episode", "own", "derived"))
    with closing(sqlite3.connect(settings.database_path)) as connection:
        text = "\n".join(connection.iterdump())
    assert ("the first app" in text, "the third app" in text) == (False, True)


@pytest.mark.requirement("BAK-04.1")
@pytest.mark.parametrize("part", ["_in_postgres", "_in_databases"])
async def test_an_erasure_that_was_killed_is_finished_by_a_second_one(
    settings: Settings, knowledge_url: str, command_server: CommandServer, part: str
) -> None:
    """It is killed between the two databases, or after both: no row tells any more which lines of files to remove."""
    settings = settings.model_copy(update={"postgres_url": knowledge_url, "workspace": settings.home})
    session, text = "11111111-2222-4333-8444-555555555555", "The analyst waits for the long report"
    async with open_memories(settings) as memories:
        with request_context(actor="test"):
            await memories.knowledge.store_episode(content=text, butler="b", session_id=session)
            await memories.apps.registry.register("notes")
            await memories.apps.ingest("notes", session, [Message(role="user", content=f"{text}.")])
    transcripts = settings.home / "ops-transcripts"
    transcripts.mkdir()
    (transcripts / "1.jsonl").write_text(f'{{"text": "{text}"}}\n{{"text": "{KEPT}"}}\n')
    arguments = (part, settings.home, knowledge_url, session)
    killed = subprocess.run([command_server.python, "-c", KILLED, *arguments], check=False)
    assert killed.returncode == -signal.SIGKILL
    receipt = await erase(settings, Selection(by=By.SESSION, value=session))
    assert (receipt.remains, receipt.problems) == ((), ())
    assert files_with(("waits for the long",), settings.home) == []
    assert "waits for the long" not in rows_of(knowledge_url)
    assert KEPT in (transcripts / "1.jsonl").read_text()
