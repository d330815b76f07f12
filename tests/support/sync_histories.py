"""Random histories of devices that sync: kills, full disks, hostile carriers, erasures, and devices that go and come.

A history is played on the real engine with real files of state. In the end the carrier is mended, every device syncs
until nothing is new, and the laws are checked: the members agree, every change that was recorded is in the result or
was seen by a change in it, nothing else is, and no text that was erased is left in any file.
"""

import contextlib
import random
import sqlite3
from collections import Counter
from collections.abc import Generator, Mapping
from pathlib import Path

from commonplace.core.errors import StorageUnavailableError, SyncError
from commonplace.services.sync.changes import Change
from commonplace.services.sync.device_files import Departure
from commonplace.services.sync.erasures import Key, erased_by, without_text
from commonplace.services.sync.finding import SeenMemory, shown_fields
from commonplace.services.sync.keys import DeviceKey
from commonplace.services.sync.kinds import SyncKind
from commonplace.services.sync.merging import merged
from commonplace.services.sync.state import SyncState
from commonplace.services.sync.state_file import StateFile
from commonplace.services.sync.syncing import FileLimits
from commonplace.services.sync.versions import has_seen
from support.sync_carriers import HostileCarrier
from support.sync_files import packed_texts
from support.sync_lessons import Lessons, LessonsDevice

LIMITS = FileLimits(most_changes=3, snapshot_after=6)
NAMES = ("jellyfin", "plex", "nas")
STEPS = 40
ROUNDS = 12
FAULT = 0.02
ACTIONS = {
    "learn": 8,
    "forget": 2,
    "sync": 12,
    "interfere": 4,
    "erase": 0.5,
    "leave": 0.25,
    "revoke": 0.25,
    "join": 0.5,
}


class Killed(BaseException):
    """The process was killed here."""


class Faults:
    """Raises a kill or a full disk at random steps, while it is armed."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.is_armed = False
        self.count: Counter[str] = Counter()

    def step(self) -> None:
        """Pass, or raise."""
        if self.is_armed and self.chance.random() < FAULT:
            if self.chance.random() < 0.5:
                self.count["kills"] += 1
                raise Killed
            self.count["full disks"] += 1
            raise StorageUnavailableError("the disk is full")


class FrailFile(StateFile):
    """A file of state whose transactions fail before or after they are committed."""

    faults: Faults

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._connection.execute("PRAGMA synchronous = OFF")  # A kill of a history does not stop the system.

    @contextlib.contextmanager
    def writing(self) -> Generator[sqlite3.Connection]:
        """Return the connection in a transaction."""
        with super().writing() as sql:
            yield sql
            self.faults.step()
        self.faults.step()


class LoggedState(SyncState):
    """A state that logs every change that this device has recorded for good."""

    log: list[Change]

    def record(self, changes: list[Change], seen: Mapping[Key, SeenMemory]) -> None:  # type: ignore[override]
        """Record changes."""
        before = {each.to_json() for change in changes for each in self.heads((change.kind, change.name))}
        try:
            super().record(changes, seen)
        finally:
            for change in changes:
                heads = {each.to_json() for each in self.heads((change.kind, change.name))}
                if change.to_json() in heads - before:
                    self.log.append(change)


class FrailLessons(Lessons):
    """Lessons whose writes fail before or after they are done."""

    def __init__(self, faults: Faults) -> None:
        super().__init__()
        self.faults = faults

    async def write_one(self, lesson):  # noqa: ANN001, ANN201 - as the base class
        """Write a lesson."""
        self.faults.step()
        result = await super().write_one(lesson)
        self.faults.step()
        return result

    async def erase(self, keys) -> None:  # noqa: ANN001 - as the base class
        """Erase lessons."""
        self.faults.step()
        await super().erase(keys)
        self.faults.step()


class HistoryDevice(LessonsDevice):
    """A device of a history."""

    def __init__(self, history: "History", name: str, home_key: bytes) -> None:
        self.history = history
        key = DeviceKey.from_bytes(history.chance.randbytes(32))
        super().__init__(history.folder, history.carrier, name, home_key, LIMITS, key=key)
        self.lessons = FrailLessons(history.faults)

    def open_state(self) -> SyncState:
        """Open the state."""
        state = LoggedState(self.path)
        state.log = self.history.log
        frail = FrailFile(self.path)
        frail.faults = self.history.faults
        state._file.close()
        state._file = frail
        return state


class History:
    """A history, from a seed.

    Args:
        folder: An empty folder.
        seed: Determines every step.
    """

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.chance = random.Random(seed)  # noqa: S311 - a test
        self.faults = Faults(self.chance)
        self.carrier = HostileCarrier(self.faults.step)
        self.log: list[Change] = []
        self.count: Counter[str] = self.faults.count
        self.first_key = self.chance.randbytes(32)
        self.members = [HistoryDevice(self, name, self.first_key) for name in ("laptop", "server", "desktop")]
        self.gone: list[HistoryDevice] = []
        self.number = 0

    async def play(self) -> None:
        """Play the history and check the laws.

        Raises:
            AssertionError: A law does not hold.
        """
        try:
            for _ in range(STEPS):
                if not self.members:
                    return  # All were revoked by a device that had not met them, and then left.
                action = self.chance.choices(list(ACTIONS), list(ACTIONS.values()))[0]
                await self._act(action, self.chance.choice(self.members))
            await self._settle()
            if self.members:
                self._check()
        finally:
            for each in [*self.members, *self.gone]:
                each.state.close()

    async def _act(self, action: str, device: HistoryDevice) -> None:
        self.count[action] += 1
        name = self.chance.choice(NAMES)
        self.number += 1
        match action:
            case "learn":
                device.learn(f"{device.name} learned text {self.number};", name)
            case "forget":
                device.forget(name)
            case "interfere":
                self.carrier.interfere(self.chance)
            case "erase":
                await self._faulty(device, device.syncing.erase([(SyncKind.LESSON, name)]))
            case "leave" if len(self.members) > 2:
                await self._leave(device)
            case "revoke" if len(self.members) > 2:
                await self._revoke(device)
            case "join" if len(self.members) < 4:
                self._join(device)
            case _:
                await self._faulty(device, device.sync())

    async def _faulty(self, device: HistoryDevice, work) -> None:  # noqa: ANN001 - an awaitable
        """Do something that may be killed at any step."""
        self.faults.is_armed = True
        try:
            await work
        except (Killed, StorageUnavailableError):
            pass
        except SyncError:
            self._remove(device)
        finally:
            self.faults.is_armed = False
            device.restart()

    async def _leave(self, device: HistoryDevice) -> None:
        """Let a device leave, after the kill of a first attempt perhaps."""
        await self._faulty(device, device.syncing.leave())
        if device in self.members:
            with contextlib.suppress(SyncError):
                await device.syncing.leave()
            self._remove(device)

    async def _revoke(self, device: HistoryDevice) -> None:
        """Let a device revoke another one, unless two devices could revoke each other at once."""
        other = self.chance.choice([each for each in self.members if each is not device])
        keys = {each.syncing.home_key for each in self.members}
        is_latest = keys <= {each.key for each in device.syncing._members.ring().keys}
        if is_latest and device.state.device(other.key.device) is not None:
            await self._faulty(device, device.syncing.revoke(other.key.device))

    def _join(self, device: HistoryDevice) -> None:
        """Let a new device join with the key that a member has, unless the carrier hides what it needs."""
        with contextlib.suppress(SyncError):
            self.members.append(HistoryDevice(self, f"device{self.number}", device.syncing.home_key))

    def _remove(self, device: HistoryDevice) -> None:
        if device in self.members:
            self.members.remove(device)
            self.gone.append(device)

    async def _settle(self) -> None:
        """Mend the carrier, and sync until nothing is new."""
        self.carrier.mend()
        for _ in range(ROUNDS):
            news = False
            for device in list(self.members):
                try:
                    news |= (await device.sync()).is_news
                except SyncError:
                    self._remove(device)
                    news = True
            if not news:
                return
        raise AssertionError("the devices have news for each other without an end")

    def _check(self) -> None:
        states = [each.state for each in self.members]
        for device in self.members:
            assert not device.state.pending()
        heads = set(states[0].all_heads())
        for state in states[1:]:
            assert set(state.all_heads()) == heads, "two members know different changes"
        self._check_changes([Change.from_json(line) for line in heads])
        self._check_authors()
        self._check_rows()
        self._check_texts([Change.from_json(line) for line in heads])

    def _check_changes(self, heads: list[Change]) -> None:
        """Every change that a member recorded, or a device before it left, is a head or was seen by one."""
        trusted = self._trusted()
        by_key: dict[Key, list[Change]] = {}
        for head in heads:
            by_key.setdefault((head.kind, head.name), []).append(head)
        for change in self.log:
            if change.stamp.device in trusted:
                rivals = by_key.get((change.kind, change.name), [])
                assert any(has_seen(head.versions, change.versions) for head in rivals), "a change is lost"
        erased = erased_by(each for each in heads if each.kind is SyncKind.ERASURE)
        recorded = {without_text(each, erased).to_json() for each in self.log}
        for head in heads:
            assert head.is_deletion or head.kind is SyncKind.ERASURE or head.to_json() in recorded, "invented"

    def _trusted(self) -> set[str]:
        """Return the devices whose changes must not be lost.

        After a revocation these are the members, and those of whose last file a member knows: what only a revoked
        device had taken may be lost.
        """
        devices = self.members[0].state.devices()
        members = {each.key.device for each in self.members}
        if any(each.departure is Departure.REVOKED for each in devices):
            return members | {each.device for each in devices if each.departure is Departure.LEFT}
        return members | {each.device for each in devices}

    def _check_authors(self) -> None:
        """No device recorded a text as its own change that sync had written there."""
        names = {each.key.device: each.name for each in [*self.members, *self.gone]}
        for change in self.log:
            text = change.fields["text"][0] if change.fields else None
            assert text is None or text.startswith(f"{names[change.stamp.device]} "), (
                "a change was made twice"
            )

    def _check_rows(self) -> None:
        """Each memory shows what the changes make of it."""
        for device in self.members:
            for name in NAMES:
                key = (SyncKind.LESSON, name)
                heads = device.state.heads(key)
                fields = merged(heads).fields if heads else None
                expected = None if fields is None else shown_fields(SyncKind.LESSON, fields)
                assert device.lessons.rows.get(key) == expected, "a memory shows something else"

    def _check_texts(self, heads: list[Change]) -> None:
        """No text that was erased is left in a file at the carrier, in a state, or in a memory of a member."""
        erasures = [each for each in heads if each.kind is SyncKind.ERASURE]
        self.count["erasures"] += len(erasures)
        erased = erased_by(erasures)
        texts = {
            each.fields["text"][0]
            for each in self.log
            if each.fields is not None and without_text(each, erased).fields is None
        }
        members = {each.key.device for each in self.members}
        for status in self.members[0].state.erasures():
            assert not members & status.waiting, "a member has not done an erasure"
        rings = self.members[0].syncing._members.ring()
        carried = packed_texts(self.carrier.files, rings)
        databases = [
            path.read_bytes() for each in self.members for path in each.path.parent.glob(f"{each.path.name}*")
        ]
        memories = [str(each.lessons.texts) + str(each.lessons.others) for each in self.members]
        for text in texts:
            assert not any(text in each for each in [*carried, *memories]), "an erased text is left in a file"
            assert not any(text.encode() in each for each in databases), "an erased text is left in a state"
