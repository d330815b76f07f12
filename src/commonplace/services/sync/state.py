"""What a device keeps of sync, in one SQLite file: its keys, the devices, the changes and what was last seen.

Every method is one transaction. A change is here before it is sent, and its file is here before a carrier has it: after
a kill, the same bytes are sent again.

Source: ADR 0040.
"""

import json
import sqlite3
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from commonplace.core.directories import make_directories
from commonplace.core.errors import StorageUnavailableError
from commonplace.services.sync.changes import Change
from commonplace.services.sync.finding import SeenMemory
from commonplace.services.sync.kinds import SyncKind
from commonplace.services.sync.merging import unseen
from commonplace.services.sync.versions import Stamp

FILE: Final = "sync.db"
_STAMP: Final = "latest stamp"
_BUSY_S: Final = 10.0
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS own (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS devices (
    device TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    public BLOB NOT NULL,
    number INTEGER NOT NULL DEFAULT 0,
    digest TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS changes (
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    versions TEXT NOT NULL,
    change TEXT NOT NULL,
    PRIMARY KEY (kind, name, versions)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS seen (
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    fields TEXT NOT NULL,
    told TEXT NOT NULL,
    versions TEXT NOT NULL,
    PRIMARY KEY (kind, name)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS pending (kind TEXT NOT NULL, name TEXT NOT NULL, PRIMARY KEY (kind, name)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS unsent (change TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS outbox (number INTEGER PRIMARY KEY, name TEXT NOT NULL, body BLOB NOT NULL);
"""

Key = tuple[SyncKind, str]
"""The kind and the name of a memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownDevice:
    """Another device, or this one.

    Attributes:
        device: Its id.
        name: What a person calls it.
        public: Its public key.
        number: The number of its latest file that was taken, or written.
        digest: The digest of that file.
    """

    device: str
    name: str
    public: bytes
    number: int = 0
    digest: str = ""


class SyncState:
    """The file of sync.

    Args:
        path: The file; it is made with its folder.

    Raises:
        StorageUnavailableError: The file cannot be used.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with self._reached():
            make_directories(path.parent)
            self._connection = sqlite3.connect(
                path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False
            )
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = FULL")
            self._connection.executescript(_SCHEMA)
        path.chmod(0o600)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def own(self, name: str) -> bytes | None:
        """Return a value of this device, such as its key."""
        with self._reached():
            row = self._connection.execute("SELECT value FROM own WHERE name = ?", (name,)).fetchone()
        return None if row is None else bytes(row[0])

    def keep_own(self, values: Mapping[str, bytes]) -> None:
        """Keep values of this device."""
        with self._writing() as sql:
            sql.executemany("INSERT OR REPLACE INTO own VALUES (?, ?)", list(values.items()))

    def devices(self) -> list[KnownDevice]:
        """Return the devices, by id."""
        with self._reached():
            rows = self._connection.execute(
                "SELECT device, name, public, number, digest FROM devices ORDER BY device"
            ).fetchall()
        return [
            KnownDevice(device=device, name=name, public=bytes(public), number=number, digest=digest)
            for device, name, public, number, digest in rows
        ]

    def add_device(self, device: KnownDevice) -> None:
        """Add a device, unless it is known."""
        with self._writing() as sql:
            sql.execute(
                "INSERT OR IGNORE INTO devices (device, name, public) VALUES (?, ?, ?)",
                (device.device, device.name, device.public),
            )

    def heads(self, key: Key) -> list[Change]:
        """Return the changes of a memory that no other known change has seen."""
        with self._reached():
            return unseen(_changes(self._connection, key))

    def seen(self) -> dict[Key, SeenMemory]:
        """Return each memory as it was last read or written here."""
        with self._reached():
            rows = self._connection.execute("SELECT kind, name, fields, told, versions FROM seen").fetchall()
        return {
            (SyncKind(kind), name): SeenMemory(
                fields=json.loads(fields), told=json.loads(told), versions=json.loads(versions)
            )
            for kind, name, fields, told, versions in rows
        }

    def record(self, changes: Iterable[Change], seen: Mapping[Key, SeenMemory]) -> None:
        """Record changes of this device, which wait to be sent, and the memories in which they were found.

        The memories wait to be written too: others may have changed them meanwhile, and a count that fell is not told.
        """
        with self._writing() as sql:
            for each in changes:
                row = (each.kind, each.name, _versions(each), each.to_json())
                sql.execute("INSERT OR IGNORE INTO changes VALUES (?, ?, ?, ?)", row)
                sql.execute("INSERT INTO unsent VALUES (?)", (each.to_json(),))
                _drop_seen(sql, (each.kind, each.name))
                sql.execute("INSERT OR IGNORE INTO pending VALUES (?, ?)", (each.kind, each.name))
                stamp = (each.stamp.milliseconds, each.stamp.count, each.stamp.device)
                sql.execute("INSERT OR REPLACE INTO own VALUES (?, ?)", (_STAMP, json.dumps(stamp).encode()))
            _keep_seen(sql, seen)

    def take(self, file_of: KnownDevice, changes: Iterable[Change]) -> None:
        """Take the changes of a device's file, whose number and digest are those of ``file_of``."""
        with self._writing() as sql:
            for each in changes:
                key = (each.kind, each.name)
                sql.execute(
                    "INSERT OR IGNORE INTO changes VALUES (?, ?, ?, ?)",
                    (*key, _versions(each), each.to_json()),
                )
                _drop_seen(sql, key)
                sql.execute("INSERT OR IGNORE INTO pending VALUES (?, ?)", key)
            sql.execute(
                "UPDATE devices SET number = ?, digest = ? WHERE device = ?",
                (file_of.number, file_of.digest, file_of.device),
            )

    def pending(self) -> list[Key]:
        """Return the memories that changes of other devices have touched and that were not written here yet."""
        with self._reached():
            rows = self._connection.execute("SELECT kind, name FROM pending ORDER BY kind, name").fetchall()
        return [(SyncKind(kind), name) for kind, name in rows]

    def written(self, seen: Mapping[Key, SeenMemory]) -> None:
        """Note memories that were written here, as they are now."""
        with self._writing() as sql:
            _keep_seen(sql, seen)
            sql.executemany("DELETE FROM pending WHERE kind = ? AND name = ?", list(seen))

    def unsent(self) -> list[Change]:
        """Return the changes of this device that are in no file yet, in the order in which they were made."""
        with self._reached():
            rows = self._connection.execute("SELECT change FROM unsent ORDER BY rowid").fetchall()
        return [Change.from_json(change) for (change,) in rows]

    def pack(self, own: KnownDevice, name: str, body: bytes, *, count: int) -> None:
        """Keep a file with the first ``count`` unsent changes; it is this device's latest, as ``own`` says."""
        with self._writing() as sql:
            sql.execute("INSERT INTO outbox VALUES (?, ?, ?)", (own.number, name, body))
            sql.execute(
                "DELETE FROM unsent WHERE rowid IN (SELECT rowid FROM unsent ORDER BY rowid LIMIT ?)",
                (count,),
            )
            sql.execute(
                "UPDATE devices SET number = ?, digest = ? WHERE device = ?",
                (own.number, own.digest, own.device),
            )

    def outbox(self) -> list[tuple[int, str, bytes]]:
        """Return number, name and bytes of the files that no carrier has yet."""
        with self._reached():
            return self._connection.execute(
                "SELECT number, name, body FROM outbox ORDER BY number"
            ).fetchall()

    def sent(self, number: int) -> None:
        """Note that a carrier has a file."""
        with self._writing() as sql:
            sql.execute("DELETE FROM outbox WHERE number = ?", (number,))

    def latest_stamp(self) -> Stamp | None:
        """Return the stamp of the latest change of this device."""
        value = self.own(_STAMP)
        return None if value is None else Stamp(*json.loads(value))

    @contextmanager
    def _writing(self) -> Generator[sqlite3.Connection]:
        with self._reached():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    @contextmanager
    def _reached(self) -> Generator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise StorageUnavailableError(f"{self._path} cannot be used: {error}") from error


def _versions(change: Change) -> str:
    return json.dumps(dict(sorted(change.versions.items())))


def _changes(sql: sqlite3.Connection, key: Key) -> list[Change]:
    rows: Sequence[tuple[str]] = sql.execute(
        "SELECT change FROM changes WHERE kind = ? AND name = ?", key
    ).fetchall()
    return [Change.from_json(change) for (change,) in rows]


def _drop_seen(sql: sqlite3.Connection, key: Key) -> None:
    """Delete the changes of a memory that another one has seen."""
    changes = _changes(sql, key)
    kept = {_versions(each) for each in unseen(changes)}
    for each in changes:
        if _versions(each) not in kept:
            sql.execute(
                "DELETE FROM changes WHERE kind = ? AND name = ? AND versions = ?", (*key, _versions(each))
            )


def _keep_seen(sql: sqlite3.Connection, seen: Mapping[Key, SeenMemory]) -> None:
    rows = [
        (
            *key,
            *(json.dumps(each, ensure_ascii=False) for each in (memory.fields, memory.told, memory.versions)),
        )
        for key, memory in seen.items()
    ]
    sql.executemany("INSERT OR REPLACE INTO seen VALUES (?, ?, ?, ?, ?)", rows)
