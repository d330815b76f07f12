"""The state of sync on a device, in one SQLite file: keys, devices, changes, and what was last seen of each memory.

Every method that writes is one transaction. A change is here before it is sent, and its file is here before a carrier
has it: after a kill, the same bytes are sent again.

Source: ADR 0040.
"""

import json
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple

from commonplace.core.clock import format_timestamp, parse_timestamp
from commonplace.services.sync import state_rows
from commonplace.services.sync.changes import Change, Fields
from commonplace.services.sync.device_files import Departure, DeviceFile
from commonplace.services.sync.erasures import ErasureStatus, Key
from commonplace.services.sync.finding import SeenMemory
from commonplace.services.sync.home_keys import HomeKey
from commonplace.services.sync.kinds import SyncKind
from commonplace.services.sync.known_devices import KnownDevice
from commonplace.services.sync.merging import unseen
from commonplace.services.sync.state_file import FILE, StateFile
from commonplace.services.sync.versions import Stamp

__all__ = ["FILE", "Key", "KnownDevice", "OutboxFile", "SyncState"]

_STAMP: Final = "latest stamp"
_SNAPSHOT: Final = "first file of the latest snapshot"
_FINGERPRINT: Final = "fingerprint"
_PAGE: Final = "page"
_SINCE: Final = "changes since the latest snapshot"


class OutboxFile(NamedTuple):
    """A file that waits to be sent; a file that is not part of this device's chain has no number."""

    number: int | None
    name: str
    body: bytes


class SyncState:
    """The state of sync.

    Args:
        path: The file; it is created with its folder.

    Raises:
        StorageError: The file cannot be used.
    """

    def __init__(self, path: Path) -> None:
        self._file = StateFile(path)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def locked(self) -> AbstractAsyncContextManager[None]:
        """Let no other process sync inside the block.

        Raises:
            StorageUnavailableError: Another process syncs for too long.
        """
        return self._file.locked()

    def own(self, name: str) -> bytes | None:
        """Return a value of this device, such as its key."""
        with self._file.reading() as sql:
            row = sql.execute("SELECT value FROM own WHERE name = ?", (name,)).fetchone()
        return None if row is None else bytes(row[0])

    def keep_own(self, values: Mapping[str, bytes]) -> None:
        """Keep values of this device."""
        with self._file.writing() as sql:
            for name, value in values.items():
                state_rows.put_own(sql, name, value)

    def latest_stamp(self) -> Stamp | None:
        """Return the stamp of the latest change of this device."""
        value = self.own(_STAMP)
        return None if value is None else Stamp(*json.loads(value))

    def fingerprint(self) -> str | None:
        """Return the fingerprint of the memories when all of them were last seen as they were."""
        value = self.own(_FINGERPRINT)
        return None if value is None else value.decode()

    def keep_fingerprint(self, fingerprint: str) -> None:
        """Keep the fingerprint of memories that were all seen, unless it is kept already."""
        if fingerprint != self.fingerprint():
            self.keep_own({_FINGERPRINT: fingerprint.encode()})

    def devices(self) -> list[KnownDevice]:
        """Return the devices, by id, with those that left or were revoked."""
        with self._file.reading() as sql:
            rows = sql.execute(
                "SELECT device, name, public, exchange, key_id, number, digest, departure FROM devices ORDER BY device"
            ).fetchall()
        return [
            KnownDevice(
                device=device,
                name=name,
                public=bytes(public),
                exchange=bytes(exchange),
                key_id=bytes(key_id),
                number=number,
                digest=digest,
                departure=None if departure is None else Departure(departure),
            )
            for device, name, public, exchange, key_id, number, digest, departure in rows
        ]

    def device(self, device: str) -> KnownDevice | None:
        """Return a device; ``None`` if it is not known."""
        return next((each for each in self.devices() if each.device == device), None)

    def add_device(self, device: KnownDevice) -> None:
        """Add a device, unless it is known."""
        with self._file.writing() as sql:
            sql.execute(
                "INSERT OR IGNORE INTO devices (device, name, public, exchange, key_id) VALUES (?, ?, ?, ?, ?)",
                (device.device, device.name, device.public, device.exchange, device.key_id),
            )
            if device.departure is not None:
                _depart(sql, {device.device: device.departure})

    def home_keys(self) -> list[HomeKey]:
        """Return the keys of the home that documents brought, and those before them."""
        with self._file.reading() as sql:
            rows = sql.execute("SELECT epoch, author, key, recipients FROM home_keys").fetchall()
        return [
            HomeKey(
                epoch=epoch,
                author=author,
                key=bytes(key),
                recipients=None if recipients is None else frozenset(json.loads(recipients)),
            )
            for epoch, author, key, recipients in rows
        ]

    def add_home_keys(
        self, keys: Iterable[HomeKey], *, revoked: Collection[str] = (), document: OutboxFile | None = None
    ) -> None:
        """Add keys of the home, with the devices that must not have them, and a document to send."""
        with self._file.writing() as sql:
            for key in keys:
                recipients = None if key.recipients is None else json.dumps(sorted(key.recipients))
                sql.execute(
                    "INSERT INTO home_keys VALUES (?, ?, ?, ?) ON CONFLICT (epoch, author) "
                    "DO UPDATE SET recipients = coalesce(recipients, excluded.recipients)",
                    (key.epoch, key.author, key.key, recipients),
                )
                if key.recipients is not None:
                    state_rows.put_own(sql, state_rows.SNAPSHOT_DUE, b"1")
            if document is not None:
                sql.execute("INSERT INTO outbox (number, name, body) VALUES (?, ?, ?)", document)
            _depart(sql, dict.fromkeys(revoked, Departure.REVOKED))

    def mentions(self) -> dict[str, int]:
        """Return the highest number of a file of each device that another device said it had taken."""
        with self._file.reading() as sql:
            return dict(sql.execute("SELECT device, number FROM mentions").fetchall())

    def sightings(self) -> dict[str, datetime]:
        """Return when each other device was last seen, of those that were seen since this is recorded."""
        with self._file.reading() as sql:
            rows = sql.execute("SELECT device, at FROM sightings").fetchall()
        return {device: parse_timestamp(at) for device, at in rows}

    def note_sightings(self, devices: Iterable[str], at: datetime) -> None:
        """Note when devices were seen."""
        rows = [(device, format_timestamp(at)) for device in devices]
        with self._file.writing() as sql:
            sql.executemany("INSERT OR REPLACE INTO sightings VALUES (?, ?)", rows)

    def heads(self, key: Key) -> list[Change]:
        """Return the changes of a memory that no other known change has seen."""
        with self._file.reading() as sql:
            return unseen(state_rows.changes_of(sql, key))

    def all_heads(self) -> list[str]:
        """Return such changes of all memories, as lines of JSON, by kind and name."""
        with self._file.reading() as sql:
            rows = sql.execute("SELECT change FROM changes ORDER BY kind, name, versions").fetchall()
        return [change for (change,) in rows]

    def seen_fields(self) -> dict[Key, Fields | None]:
        """Return what each memory showed when it was last read or written here."""
        with self._file.reading() as sql:
            rows = sql.execute("SELECT kind, name, fields FROM seen").fetchall()
        return {(SyncKind(kind), name): json.loads(fields) for kind, name, fields in rows}

    def seen(self, key: Key) -> SeenMemory:
        """Return a memory as it was last read or written here."""
        with self._file.reading() as sql:
            return state_rows.seen_of(sql, key)

    def see(self, seen: Mapping[Key, SeenMemory]) -> None:
        """Note memories as they are now, without a change."""
        with self._file.writing() as sql:
            state_rows.put_seen(sql, seen)

    def record(self, changes: Sequence[Change], seen: Mapping[Key, SeenMemory]) -> None:
        """Record changes of this device, which wait to be sent, and their memories as they are now.

        The memories wait to be written too: others may have changed them meanwhile, and a count that fell is not a
        change.
        """
        with self._file.writing() as sql:
            for each in changes:
                stamp = (each.stamp.milliseconds, each.stamp.count, each.stamp.device)
                state_rows.put_own(sql, _STAMP, json.dumps(stamp).encode())
                sql.execute("INSERT INTO unsent (change) VALUES (?)", (each.to_json(),))
            state_rows.put_seen(sql, seen)
            state_rows.add_changes(sql, changes)

    def take(self, device: KnownDevice, files: Sequence[DeviceFile], *, own: str) -> int:
        """Take a file, or all parts of a snapshot, in one transaction; return how many changes are new.

        Args:
            device: The device, with the number and the digest of the last of these files.
            files: The content.
            own: The id of this device.
        """
        last = files[-1]
        with self._file.writing() as sql:
            count = state_rows.add_changes(sql, [change for file in files for change in file.changes])
            _set_head(sql, device)
            for other, head in last.heads.items():
                if other != own and last.part is not None:
                    sql.execute(
                        "UPDATE devices SET number = ?, digest = ? WHERE device = ? AND number < ?",
                        (*head, other, head.number),
                    )
                sql.execute(
                    "INSERT INTO mentions VALUES (?, ?) ON CONFLICT (device) "
                    "DO UPDATE SET number = max(number, excluded.number)",
                    (other, head.number),
                )
            _put_receipts(sql, last.receipts)
            _depart(sql, last.departures)
            if last.is_last:
                _depart(sql, {device.device: Departure.LEFT})
        return count

    def pending(self) -> list[Key]:
        """Return the memories that changes of other devices have touched and that were not written here yet."""
        with self._file.reading() as sql:
            rows = sql.execute("SELECT kind, name FROM pending ORDER BY kind, name").fetchall()
        return [(SyncKind(kind), name) for kind, name in rows]

    def count_unwritten(self, own: str) -> int:
        """Return how many memories wait to be written here because of a change of another device.

        Args:
            own: The id of this device; a memory that only this device changed shows its change already.
        """
        with self._file.reading() as sql:
            (count,) = sql.execute(
                "SELECT count(*) FROM pending WHERE EXISTS (SELECT 1 FROM changes "
                "WHERE changes.kind = pending.kind AND changes.name = pending.name "
                "AND json_extract(changes.change, '$.stamp[2]') <> ?)",
                (own,),
            ).fetchone()
        return count

    def begin_page(self, keys: Sequence[Key]) -> None:
        """Note new memories that are about to be written, of which nothing is in the database yet."""
        self.keep_own({_PAGE: json.dumps(keys).encode()})

    def unfinished_page(self) -> list[Key]:
        """Return the new memories of a page that was begun and not noted, because of a kill."""
        return [(SyncKind(kind), name) for kind, name in json.loads(self.own(_PAGE) or b"[]")]

    def written(self, seen: Mapping[Key, SeenMemory]) -> None:
        """Note memories that were written here, as they are now."""
        with self._file.writing() as sql:
            state_rows.put_seen(sql, seen)
            state_rows.drop_own(sql, _PAGE)
            sql.executemany("DELETE FROM pending WHERE kind = ? AND name = ?", list(seen))

    def count_unsent(self) -> int:
        """Return the number of changes of this device that are in no file yet."""
        with self._file.reading() as sql:
            (count,) = sql.execute("SELECT count(*) FROM unsent").fetchone()
        return count

    def unsent(self, limit: int) -> list[Change]:
        """Return the first changes of this device that are in no file yet, in the order in which they were made."""
        with self._file.reading() as sql:
            rows = sql.execute("SELECT change FROM unsent ORDER BY place LIMIT ?", (limit,)).fetchall()
        return [Change.from_json(change) for (change,) in rows]

    def pack(self, own: KnownDevice, file: OutboxFile, *, count: int) -> None:
        """Keep a file with the first ``count`` unsent changes; it is this device's latest, as ``own`` says."""
        with self._file.writing() as sql:
            sql.execute("INSERT INTO outbox (number, name, body) VALUES (?, ?, ?)", file)
            sql.execute(
                "DELETE FROM unsent WHERE place IN (SELECT place FROM unsent ORDER BY place LIMIT ?)",
                (count,),
            )
            _set_head(sql, own)
            since = _number(sql, _SINCE) + count
            state_rows.put_own(sql, _SINCE, str(since).encode())
            if own.departure is not None:
                _depart(sql, {own.device: own.departure})

    def pack_snapshot(self, own: KnownDevice, files: Sequence[OutboxFile], *, first: int) -> None:
        """Keep the parts of a snapshot, which stand for all unsent changes and for all files before ``first``."""
        with self._file.writing() as sql:
            sql.execute("DELETE FROM outbox WHERE number IS NOT NULL")
            sql.executemany("INSERT INTO outbox (number, name, body) VALUES (?, ?, ?)", files)
            sql.execute("DELETE FROM unsent")
            _set_head(sql, own)
            state_rows.put_own(sql, _SNAPSHOT, str(first).encode())
            state_rows.drop_own(sql, state_rows.SNAPSHOT_DUE)
            state_rows.drop_own(sql, _SINCE)

    def snapshot_start(self) -> int:
        """Return the number of the first part of this device's latest snapshot; 0 if it has none."""
        return int(self.own(_SNAPSHOT) or b"0")

    def is_snapshot_due(self, least: int) -> bool:
        """Return whether an erasure or a departure asks for a snapshot, or the files since the last one hold enough.

        Args:
            least: The number of changes in these files from which a snapshot is worth its size, unless the memories
                are so many that twice their number is more.
        """
        if self.own(state_rows.SNAPSHOT_DUE) is not None:
            return True
        since = int(self.own(_SINCE) or b"0")
        if since < least:
            return False
        with self._file.reading() as sql:
            (heads,) = sql.execute("SELECT count(*) FROM changes").fetchone()
        return since > 2 * heads

    def ask_for_snapshot(self) -> None:
        """Let the next file be a snapshot."""
        with self._file.writing() as sql:
            state_rows.put_own(sql, state_rows.SNAPSHOT_DUE, b"1")

    def outbox(self) -> list[OutboxFile]:
        """Return the files that the carrier does not have yet: first the chain of this device, then the others."""
        with self._file.reading() as sql:
            rows = sql.execute("SELECT number, name, body FROM outbox ORDER BY number IS NULL, number, name")
            return [OutboxFile(*row) for row in rows.fetchall()]

    def sent(self, names: Iterable[str]) -> None:
        """Note that the carrier has files."""
        with self._file.writing() as sql:
            sql.executemany("DELETE FROM outbox WHERE name = ?", [(name,) for name in names])

    def erase(self, erasure: Change) -> None:
        """Record an erasure of this device, and take the texts of its memories out of the file."""
        with self._file.writing() as sql:
            stamp = (erasure.stamp.milliseconds, erasure.stamp.count, erasure.stamp.device)
            state_rows.put_own(sql, _STAMP, json.dumps(stamp).encode())
            state_rows.add_changes(sql, [erasure])

    def erasing(self) -> list[Key]:
        """Return the memories whose texts must go from this device before anything else happens."""
        with self._file.reading() as sql:
            rows = sql.execute("SELECT kind, name FROM erasing ORDER BY kind, name").fetchall()
        return [(SyncKind(kind), name) for kind, name in rows]

    def finish_erasing(self, keys: Iterable[Key]) -> None:
        """Note that the texts of memories are gone from this device."""
        with self._file.writing() as sql:
            sql.executemany("DELETE FROM erasing WHERE kind = ? AND name = ?", list(keys))

    def compact(self) -> None:
        """Rewrite the file if an erasure took texts out of it.

        Raises:
            StorageUnavailableError: Another process reads the file.
        """
        if self.own(state_rows.COMPACTION_DUE) is None:
            return
        self._file.compact()
        with self._file.writing() as sql:
            state_rows.drop_own(sql, state_rows.COMPACTION_DUE)

    def sign_receipts(self, own: str) -> None:
        """Note that the carrier has no file of this device any more that held the text of a known erasure."""
        receipts = self.receipts(own)
        if receipts != self.receipts():
            with self._file.writing() as sql:
                _put_receipts(sql, receipts)

    def receipts(self, *more: str) -> dict[str, frozenset[str]]:
        """Return the devices that have done each erasure or taken all of each device that left, and ``more``."""
        with self._file.reading() as sql:
            rows = sql.execute("SELECT subject, device FROM receipts").fetchall()
            left = sql.execute("SELECT device FROM devices WHERE departure = ?", (Departure.LEFT,)).fetchall()
            subjects = [*(each.name for each in state_rows.erasures_of(sql)), *(device for (device,) in left)]
        return {
            subject: frozenset({*more, *(device for each, device in rows if each == subject)})
            for subject in subjects
        }

    def erasures(self) -> list[ErasureStatus]:
        """Return how far each erasure is, the earliest first."""
        members = {each.device for each in self.devices() if each.is_member}
        done = self.receipts()
        with self._file.reading() as sql:
            erasures = sorted(state_rows.erasures_of(sql), key=lambda each: each.stamp)
        return [
            ErasureStatus(
                name=each.name,
                at=str((each.fields or {})["at"]),
                count=len((each.fields or {})["keys"]),
                done=done[each.name],
                waiting=frozenset(members - done[each.name]),
            )
            for each in erasures
        ]


def _set_head(sql: sqlite3.Connection, device: KnownDevice) -> None:
    sql.execute(
        "UPDATE devices SET number = ?, digest = ? WHERE device = ?",
        (device.number, device.digest, device.device),
    )


def _depart(sql: sqlite3.Connection, departures: Mapping[str, Departure]) -> None:
    """Note devices that left or were revoked; the next snapshot then says so, with all that was taken of them."""
    count = 0
    for device, departure in departures.items():
        count += sql.execute(
            "UPDATE devices SET departure = ? WHERE device = ? AND departure IS NULL", (departure, device)
        ).rowcount
    if count:
        state_rows.put_own(sql, state_rows.SNAPSHOT_DUE, b"1")


def _put_receipts(sql: sqlite3.Connection, receipts: Mapping[str, Collection[str]]) -> None:
    sql.executemany(
        "INSERT OR IGNORE INTO receipts VALUES (?, ?)",
        [(subject, device) for subject, devices in receipts.items() for device in devices],
    )


def _number(sql: sqlite3.Connection, name: str) -> int:
    row = sql.execute("SELECT value FROM own WHERE name = ?", (name,)).fetchone()
    return 0 if row is None else int(row[0])
