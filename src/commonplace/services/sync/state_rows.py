"""Rows of the state of sync that belong together: the changes of a memory, and what an erasure changes.

Every function runs in a transaction of the caller.

Source: ADR 0040.
"""

import json
import sqlite3
from collections.abc import Iterable, Mapping
from typing import Final

from commonplace.services.sync.changes import Change
from commonplace.services.sync.erasures import Key, deletions_of, erased_by, without_text
from commonplace.services.sync.finding import SeenMemory
from commonplace.services.sync.kinds import SyncKind
from commonplace.services.sync.merging import unseen
from commonplace.services.sync.versions import joined

SNAPSHOT_DUE: Final = "snapshot due"
COMPACTION_DUE: Final = "compaction due"


def put_own(sql: sqlite3.Connection, name: str, value: bytes) -> None:
    """Store a value of this device."""
    sql.execute("INSERT OR REPLACE INTO own VALUES (?, ?)", (name, value))


def drop_own(sql: sqlite3.Connection, name: str) -> None:
    """Delete a value of this device."""
    sql.execute("DELETE FROM own WHERE name = ?", (name,))


def changes_of(sql: sqlite3.Connection, key: Key) -> list[Change]:
    """Return the changes of a memory that no other one has seen."""
    rows = sql.execute("SELECT change FROM changes WHERE kind = ? AND name = ? ORDER BY versions", key)
    return [Change.from_json(change) for (change,) in rows.fetchall()]


def erasures_of(sql: sqlite3.Connection) -> list[Change]:
    """Return all erasures."""
    rows = sql.execute("SELECT change FROM changes WHERE kind = ? ORDER BY name", (SyncKind.ERASURE,))
    return [Change.from_json(change) for (change,) in rows.fetchall()]


def seen_of(sql: sqlite3.Connection, key: Key) -> SeenMemory:
    """Return a memory as it was last read or written here."""
    row = sql.execute(
        "SELECT fields, as_change, versions FROM seen WHERE kind = ? AND name = ?", key
    ).fetchone()
    if row is None:
        return SeenMemory()
    fields, as_change, versions = map(json.loads, row)
    return SeenMemory(fields=fields, as_change=as_change, versions=versions)


def put_seen(sql: sqlite3.Connection, seen: Mapping[Key, SeenMemory]) -> None:
    """Store memories as they were read or written here."""
    rows = [
        (
            *key,
            *(
                json.dumps(each, ensure_ascii=False)
                for each in (memory.fields, memory.as_change, memory.versions)
            ),
        )
        for key, memory in seen.items()
    ]
    sql.executemany("INSERT OR REPLACE INTO seen VALUES (?, ?, ?, ?, ?)", rows)


def add_changes(sql: sqlite3.Connection, changes: Iterable[Change]) -> int:
    """Add changes, erasures first, without those that another one has seen; return how many are new.

    A memory whose changes are others then waits to be written.
    """
    by_key: dict[Key, list[Change]] = {}
    count = 0
    for each in changes:
        if each.kind is SyncKind.ERASURE:
            count += _add_erasure(sql, each)
        else:
            by_key.setdefault((each.kind, each.name), []).append(each)
    erased = erased_by(erasures_of(sql))
    return count + sum(
        _add_changes(sql, key, [without_text(each, erased) for each in group])
        for key, group in by_key.items()
    )


def _add_changes(sql: sqlite3.Connection, key: Key, changes: Iterable[Change]) -> int:
    before = {_versions(each): each for each in changes_of(sql, key)}
    after = {_versions(each): each for each in unseen([*before.values(), *changes])}
    new = after.keys() - before.keys()
    gone = before.keys() - after.keys()
    sql.executemany(
        "DELETE FROM changes WHERE kind = ? AND name = ? AND versions = ?", [(*key, each) for each in gone]
    )
    sql.executemany(
        "INSERT INTO changes VALUES (?, ?, ?, ?)", [(*key, each, after[each].to_json()) for each in new]
    )
    if new:
        sql.execute("INSERT OR IGNORE INTO pending VALUES (?, ?)", key)
    return len(new)


def _add_erasure(sql: sqlite3.Connection, erasure: Change) -> int:
    """Take the texts of an erasure's memories out of the file, and note what is left to do."""
    row = (erasure.kind, erasure.name, _versions(erasure), erasure.to_json())
    if not sql.execute("INSERT OR IGNORE INTO changes VALUES (?, ?, ?, ?)", row).rowcount:
        return 0
    erased = erased_by([erasure])
    for deletion in deletions_of(erasure):
        key = (deletion.kind, deletion.name)
        for each in changes_of(sql, key):
            sql.execute(
                "UPDATE changes SET change = ? WHERE kind = ? AND name = ? AND versions = ?",
                (without_text(each, erased).to_json(), *key, _versions(each)),
            )
        _add_changes(sql, key, [deletion])
        put_seen(sql, {key: SeenMemory(versions=joined([seen_of(sql, key).versions, deletion.versions]))})
        sql.execute("INSERT OR IGNORE INTO pending VALUES (?, ?)", key)
        sql.execute("INSERT OR IGNORE INTO erasing VALUES (?, ?)", key)
    sql.execute("DELETE FROM unsent")
    sql.execute("DELETE FROM outbox WHERE number IS NOT NULL")
    put_own(sql, SNAPSHOT_DUE, b"1")
    put_own(sql, COMPACTION_DUE, b"1")
    return 1


def _versions(change: Change) -> str:
    return json.dumps(dict(sorted(change.versions.items())))
