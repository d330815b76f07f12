"""Preview, erasure and proof over all four memories."""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, cast

import asyncpg

from commonplace.core.clock import format_timestamp, utc_now
from commonplace.core.errors import StorageError
from commonplace.core.settings import Settings
from commonplace.projects import Projects
from commonplace.services.erasure import files
from commonplace.services.erasure.compaction import QUEUE_SCHEMA, compact_postgres, compact_sqlite
from commonplace.services.erasure.files import Texts
from commonplace.services.erasure.finding import Finder, FoundRows, proof_texts
from commonplace.services.erasure.parts import ErasedPart
from commonplace.services.erasure.rows import PostgresRows, Rows, SQLiteRows
from commonplace.services.erasure.selection import By, Selection, distinctive
from commonplace.services.erasure.tables import Redacted
from commonplace.services.erasure.wording import (
    MEMORY_TABLES,
    cautions,
    is_common,
    other_names,
    shorter_name,
)
from commonplace.storage import sqlite
from commonplace.storage.backup.archive import disk_errors
from commonplace.storage.backup.copies import MEMORIES, PostgresServer, servers
from commonplace.storage.postgres_access import connected
from commonplace.storage.postgres_url import describe_url
from commonplace.storage.roles import embedded_owner, separate_roles
from commonplace.workspace import Note, WorkspaceMemory

WORKSPACE: Final = "workspace memory"
FILES: Final = "files"
NAMES: Final = ("canonical_name", "subject")
"""Columns with the name of what a memory is about."""
MAX_WORDS: Final = 4
"""The words of a subject of which each is looked for alone."""
MAX_SAMPLES: Final = 5
SAMPLE_CHARS: Final = 100

NOT_REACHED: Final = (
    "backups and exports outside this home",
    "transcripts of agent hosts, such as those of Claude Code",
    "folders and files that are followed as sources, from which a text would be read again",
    "mirrors: the next `commonplace export --to` deletes the notes of erased memories that nobody edited",
    "file system snapshots, and unused disk blocks",
)
NOT_REACHED_BY_URL: Final = "logs, archives, replicas and backups of the PostgreSQL server"

_SET_TENANT: Final = "SELECT set_config('commonplace.tenant_id', $1, true)"
_HAS_TENANTS: Final = "SELECT to_regclass('tenants') IS NOT NULL"
_TENANTS: Final = "SELECT tenant_id FROM tenants ORDER BY 1"
_RECORD: Final = """
INSERT INTO memory_events (tenant_id, actor, event_type, payload)
VALUES (current_setting('commonplace.tenant_id'), 'operator', 'memory_erased', CAST($1 AS jsonb))
"""
_RECORD_EVENT: Final = "INSERT INTO events (level, message, created_at) VALUES ('info', $1, $2)"


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureReceipt:
    """Result of an erasure.

    Attributes:
        parts: The erased rows and lines, without their texts.
        remains: Tables and files in which the proof still found one of the erased texts.
        searched_texts: How many texts the proof searched for, including the subject.
        problems: Reasons why erased texts may remain in a database file.
        not_reached: Places that may hold copies and that the command cannot reach.
    """

    parts: tuple[ErasedPart, ...]
    remains: tuple[str, ...]
    searched_texts: int
    problems: tuple[str, ...]
    not_reached: tuple[str, ...]


@dataclass(slots=True)
class _Collected:
    parts: dict[tuple[str, str, str], ErasedPart] = field(
        default_factory=dict[tuple[str, str, str], ErasedPart]
    )
    pieces: set[str] = field(default_factory=set[str])
    names: set[str] = field(default_factory=set[str])
    aliases: set[str] = field(default_factory=set[str])

    def add(self, part: ErasedPart) -> None:
        key = (part.memory, part.place, part.action)
        if key in self.parts:
            before = self.parts[key]
            part = replace(
                part,
                count=before.count + part.count,
                derived=before.derived + part.derived,
                samples=(before.samples + part.samples)[:MAX_SAMPLES],
            )
        self.parts[key] = part

    def add_rows(self, found: Iterable[FoundRows], changed: dict[Redacted, int]) -> None:
        for each in found:
            samples = dict.fromkeys(texts[0][:SAMPLE_CHARS] for texts in each.texts() if texts)
            self.add(
                ErasedPart(
                    memory=each.table.memory,
                    place=each.table.name,
                    action="deleted",
                    count=len(each.rows),
                    derived=len(each.derived),
                    samples=tuple(samples)[:MAX_SAMPLES],
                )
            )
        for table, count in changed.items():
            self.add(ErasedPart(memory=table.memory, place=table.name, action="redacted", count=count))
        self.pieces |= proof_texts(found)

    def add_names(self, found: Iterable[FoundRows], pattern: str) -> None:
        """Note the names that a subject matches, and the other names of the entities that have such a name."""
        is_match = re.compile(pattern, re.IGNORECASE).search
        for each in found:
            for row in each.rows.values():
                names = [str(row[name]) for name in NAMES if row.get(name)]
                also = _texts_of(row.get("aliases")) if each.table.name == "entities" else []
                self.names |= {name for name in (*names, *also) if is_match(name)}
                self.aliases |= {name for name in (*names, *also) if also and not is_match(name)}


_Work = Callable[[Rows, Finder, str | None], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What an erasure would do.

    Attributes:
        parts: The rows and lines that would be erased.
        warnings: Why the subject may match more than is meant.
        questions: Names that may or may not mean the subject.
    """

    parts: tuple[ErasedPart, ...]
    warnings: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()


async def preview(settings: Settings, selection: Selection) -> Preview:
    """Return what :func:`erase` would erase, without changing anything.

    Raises:
        StorageError: A database or a file cannot be read.
    """
    collected = await _collected(settings, selection)
    parts = tuple(collected.parts.values())
    if selection.by is not By.SUBJECT:
        return Preview(parts=parts)
    questions = other_names(selection.value, collected.names, collected.aliases)
    words = selection.value.split()
    for word in words if 1 < len(words) <= MAX_WORDS else ():
        if len(word) > 1 and not is_common(word.casefold()):
            wider = await _collected(settings, replace(selection, value=word))
            more = _memories(wider.parts.values()) - _memories(parts)
            questions += [shorter_name(selection.value, word, more)] if more > 0 else []
    return Preview(parts=parts, warnings=tuple(cautions(selection.value)), questions=tuple(questions))


def _memories(parts: Iterable[ErasedPart]) -> int:
    return sum(part.count for part in parts if part.place in MEMORY_TABLES or part.memory == WORKSPACE)


def _texts_of(value: object) -> list[str]:
    """Return the texts of a column with a JSON list or an array."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return []
    return [str(each) for each in cast("list[object]", value)] if isinstance(value, list) else []


async def _collected(settings: Settings, selection: Selection) -> _Collected:
    collected = _Collected()

    async def work(_rows: Rows, finder: Finder, _tenant: str | None) -> None:
        found = await finder.find()
        collected.add_rows(found, await finder.redact(found, apply=False))
        if selection.pattern is not None:
            collected.add_names(found, selection.pattern)

    await _in_workspaces(settings, selection, collected, apply=False)
    async with servers(settings) as found:
        await _in_databases(settings, found, selection, work)
    await asyncio.to_thread(_in_files, settings, selection, collected, apply=False)
    return collected


async def erase(settings: Settings, selection: Selection) -> ErasureReceipt:
    """Delete rows, lines and vectors for good, compact the databases, and search for what remains.

    An interrupted erasure can be repeated: the databases are compacted and searched even if no row is found. Lines of
    files are removed before the rows whose texts they repeat, because only the rows identify these lines.

    Raises:
        StorageError: A database or a file cannot be read or written.
    """
    collected = _Collected()

    async def work(rows: Rows, finder: Finder, tenant: str | None) -> None:
        found = await finder.find()
        changed = await finder.redact(found, apply=False)
        await finder.delete(found)
        await finder.redact(found)
        collected.add_rows(found, changed)
        if found or changed:
            await _record(rows, selection, found, changed, tenant)

    async def search(_rows: Rows, finder: Finder, _tenant: str | None) -> None:
        collected.pieces |= proof_texts(await finder.find())

    await _in_workspaces(settings, selection, collected, apply=True)
    async with servers(settings) as found:
        await _in_databases(settings, found, selection, search)
        await asyncio.to_thread(_in_files, settings, selection, collected, apply=True)
        await _in_databases(settings, found, selection, work)
        texts = await asyncio.to_thread(_in_files, settings, selection, collected, apply=True)
        problems = await _compact(settings, found)
        remains = await _remaining(settings, found, selection, collected.pieces)
        remains += await asyncio.to_thread(files.remaining, _directories(settings), texts)
        has_url = any(server.admin_url is None for server in found.values())
    return ErasureReceipt(
        parts=tuple(replace(part, samples=()) for part in collected.parts.values()),
        remains=tuple(remains),
        searched_texts=len(collected.pieces) + bool(selection.needles),
        problems=tuple(problems),
        not_reached=(*NOT_REACHED, NOT_REACHED_BY_URL) if has_url else NOT_REACHED,
    )


async def remove_rows(settings: Settings, rows: Mapping[str, Collection[str]]) -> None:
    """Delete rows, with the rows that refer to them, and redact their texts in the audit log.

    Unlike :func:`erase`, this neither compacts the databases nor searches for what remains. Memories that were derived
    from deleted ones stay.

    ``rows`` holds the keys of the rows of each table, as :mod:`~commonplace.services.erasure.tables` names it.

    Raises:
        StorageError: A database cannot be read or written.
    """
    selection = Selection(by=By.ROWS, value="", with_derived=False, rows=rows)

    async def work(_rows: Rows, finder: Finder, _tenant: str | None) -> None:
        found = await finder.find()
        await finder.delete(found)
        await finder.redact(found)

    async with servers(settings) as found:
        await _in_databases(settings, found, selection, work)


async def _in_databases(
    settings: Settings, found: dict[str, PostgresServer], selection: Selection, work: _Work
) -> None:
    """Run some work in a transaction of each database and each tenant."""
    if not settings.database_is_postgres and settings.database_path.exists():
        await _in_sqlite(settings.database_path, selection, work)
    for server in found.values():
        try:
            await _in_postgres(server, selection, work)
        except asyncpg.PostgresError as error:
            raise StorageError(f"{describe_url(server.url)}: {error}; run the command again") from error


async def _in_sqlite(path: Path, selection: Selection, work: _Work) -> None:
    with closing(sqlite.connect(path)) as connection, sqlite.translated_errors(path):
        connection.execute("PRAGMA secure_delete = ON")
        rows = SQLiteRows(connection)
        connection.execute("BEGIN IMMEDIATE")
        try:
            await work(rows, Finder(rows, selection, await rows.columns()), None)
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")


async def _in_postgres(server: PostgresServer, selection: Selection, work: _Work) -> None:
    """Run some work as the owner of the tables, to whom row-level security applies too."""
    if server.admin_url:
        await separate_roles(server.url)
    access = embedded_owner(server.url) if server.admin_url else await server.access()
    path = access.server_settings.get("search_path", '"$user", public')
    options = access.server_settings | {"search_path": f"{path}, {QUEUE_SCHEMA}"}
    async with connected(access.url, server_settings=options) as connection:
        rows = PostgresRows(connection)
        columns = await rows.columns()
        tenants: list[str | None] = [None]
        if await connection.fetchval(_HAS_TENANTS):
            tenants = [row[0] for row in await connection.fetch(_TENANTS)] or [None]
        if selection.tenant is not None:
            tenants = [selection.tenant]
        for number, tenant in enumerate(tenants):
            if number:  # Tables without tenants need only one pass.
                columns = {name: names for name, names in columns.items() if "tenant_id" in names}
            async with connection.transaction(isolation="repeatable_read"):
                if tenant is not None:
                    await connection.execute(_SET_TENANT, tenant)
                await work(rows, Finder(rows, selection, columns), tenant)


async def _record(
    rows: Rows,
    selection: Selection,
    found: Iterable[FoundRows],
    changed: dict[Redacted, int],
    tenant: str | None,
) -> None:
    """Record the erasure and its counts, without the erased texts."""
    deleted = {each.table.name: len(each.rows) for each in found}
    tables = await rows.columns()
    if "memory_events" in tables and tenant is not None:
        payload = {
            "by": selection.by,
            "deleted": deleted,
            "redacted": {table.name: count for table, count in changed.items()},
        }
        await rows.run(_RECORD, json.dumps(payload))
    elif "events" in tables:
        total = sum(deleted.values()) + sum(changed.values())
        message = f"An operator erased {total} rows by {selection.by}"
        await rows.run(_RECORD_EVENT, message, format_timestamp(utc_now()))


def _workspaces(settings: Settings) -> list[Path]:
    known = [project.path for project in Projects(settings.home).list_projects()]
    return [
        path
        for path in dict.fromkeys([settings.workspace, *known])
        if (path / MEMORIES).is_file() and not (path / MEMORIES).is_symlink()
    ]


async def _in_workspaces(
    settings: Settings, selection: Selection, collected: _Collected, *, apply: bool
) -> None:
    if selection.pattern is None or selection.tenant is not None:
        return
    pattern = re.compile(selection.pattern, re.IGNORECASE)
    for path in _workspaces(settings):
        async with WorkspaceMemory.open(settings, workspace=path) as memory:
            every = (await memory.search(limit=None)).memories
            kept = await memory.reviews.deleted()
            found: list[Note] = [
                each for each in [*every, *kept] if pattern.search(" ".join([each.text, *each.tags]))
            ]
            if not found:
                continue
            if apply:
                await memory.reviews.erase(found)
                for each in set(found).intersection(every):
                    await memory.delete(each.id)
            texts = [each.text for each in found]
            collected.pieces |= distinctive(texts)
            collected.add(
                ErasedPart(
                    memory=WORKSPACE,
                    place=str(memory.path),
                    action="deleted",
                    count=len(found),
                    samples=tuple(text[:SAMPLE_CHARS] for text in texts[:MAX_SAMPLES]),
                )
            )


def _in_files(settings: Settings, selection: Selection, collected: _Collected, *, apply: bool) -> Texts:
    texts = Texts(selection, collected.pieces)
    if selection.tenant is None:
        with disk_errors(settings.home):
            cleaned = files.clean(settings.home, selection, texts, apply=apply)
        for path, count in cleaned.items():
            collected.add(ErasedPart(memory=FILES, place=path, action="deleted", count=count))
    return texts


async def _compact(settings: Settings, found: dict[str, PostgresServer]) -> list[str]:
    problems: list[str | None] = []
    if not settings.database_is_postgres and settings.database_path.exists():
        problems.append(await asyncio.to_thread(compact_sqlite, settings.database_path))
    problems += [await compact_postgres(server) for server in found.values()]
    return [problem for problem in problems if problem]


async def _remaining(
    settings: Settings, found: dict[str, PostgresServer], selection: Selection, pieces: set[str]
) -> list[str]:
    counts: dict[str, int] = {}

    async def work(_rows: Rows, finder: Finder, _tenant: str | None) -> None:
        for table, count in (await finder.remaining(pieces)).items():
            counts[table] = counts.get(table, 0) + count

    await _in_databases(settings, found, selection, work)
    return [f"table {table}: {count} rows" for table, count in counts.items()]


def _directories(settings: Settings) -> list[Path]:
    return [settings.home, *((path / MEMORIES).parent for path in _workspaces(settings))]


def whole_tenant(tenant: str) -> Selection:
    """Return the selection of everything that knowledge memory holds for a tenant."""
    return Selection(by=By.TENANT, value=tenant, tenant=tenant)
