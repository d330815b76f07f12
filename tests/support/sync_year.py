"""A simulated year of a person with three devices, and the laws after each week.

Sessions learn, edit, confirm and forget memories of all kinds. Devices are off for weeks or cannot reach the carrier,
clocks jump, each step of a sync is killed, disks are full, files come late and out of order, and the carrier attacks.
Memories are erased, a device is lost and revoked, another one leaves, and new ones join.
"""

import random
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Final

from commonplace.core.errors import StorageUnavailableError
from commonplace.services.sync.kinds import SyncKind
from commonplace.services.sync.syncing import FileLimits
from support.sync_year_assault import play_attack
from support.sync_year_attacks import ATTACKS
from support.sync_year_devices import World, YearDevice
from support.sync_year_laws import broken_laws, texts_that_remain, too_many_bytes
from support.sync_year_plan import Plan
from support.sync_year_steps import FULL_DISK, KILL, Killed

SESSIONS: Final = {"laptop": 2.4, "desktop": 1.3, "server": 0.4}
"""Sessions a day on the device of each role; a device that joins takes over a role."""

ROUNDS: Final = 12
FAULT: Final = 0.05


class Year:
    """A year, or a few days of it.

    Args:
        folder: An empty folder.
        seed: Determines everything that happens.
        days: The number of days.
        limits: The sizes of files; those of a home if they are not given.
    """

    def __init__(self, folder: Path, seed: int, *, days: int = 365, limits: FileLimits | None = None) -> None:
        self.chance = random.Random(seed)  # noqa: S311 - a simulation
        self.world = World(folder, self.chance, limits or FileLimits())
        self.days = days
        self.count: Counter[str] = Counter()
        self.laws: Counter[str] = Counter()
        self.broken: list[str] = []
        self.plan = Plan(self.chance, days)
        home_key = self.chance.randbytes(32)
        self.devices = {role: YearDevice(self.world, role, home_key) for role in SESSIONS}

    async def play(self) -> None:
        """Play the year; :attr:`broken` says which laws did not hold."""
        try:
            for day in range(self.days):
                await self._day(day)
                if day % 7 == 6:
                    await self._check([each for each in self.devices.values() if self._is_here(each)])
            for device in self.devices.values():
                device.is_on, device.view.is_reachable, device.clock_error = True, True, timedelta()
            members = list(self.devices.values())
            await self._check(members)
            self._law("no erased text remains", texts_that_remain(self.world, members))
            self._law("at most 50 MB", too_many_bytes(self.world, members))
        finally:
            for device in self.devices.values():
                device.state.close()

    async def _day(self, day: int) -> None:
        self.plan.apply(day, self.devices, self.world.carrier)
        for happening in self.plan.happenings(day):
            if await self._happen(happening):
                self.count[happening] += 1
            else:
                self.plan.postpone(happening, day)
        morning = self.world.now
        for role, mean in SESSIONS.items():
            device = self.devices[role]
            for _ in range(self._number(mean)):
                self.world.now += timedelta(minutes=self.chance.uniform(5, 90))
                if device.is_on:
                    await self._session(device)
        self.world.now = max(self.world.now, morning + timedelta(days=1))

    def _number(self, mean: float) -> int:
        """Return a random number of sessions with a mean."""
        return sum(self.chance.random() < mean / 8 for _ in range(8))

    async def _session(self, device: YearDevice) -> None:
        """A session syncs when it starts and when it ends."""
        self.count["sessions"] += 1
        if self.chance.random() < 0.9:
            await self._sync(device)
        device.person.session()
        if self.chance.random() < 0.9:
            await self._sync(device)

    async def _sync(self, device: YearDevice) -> None:
        """Sync, now and then with a kill, a full disk, or a change of a memory meanwhile."""
        self.count["syncs"] += 1
        steps = self.world.steps
        is_disk_full = False
        if self.chance.random() < FAULT:
            steps.arm(self.chance.choice((KILL, FULL_DISK)), passed=set(), skip=self.chance.randrange(60))
        elif self.chance.random() < FAULT / 5:
            self.count["full databases"] += 1
            is_disk_full = True
            device.fill_disk()
        if self.chance.random() < FAULT:
            device.memories.before_write = device.person.touch
        try:
            await device.sync()
        except Killed:
            self.count["kills"] += 1
        except StorageUnavailableError:
            self.count["syncs without a disk or a carrier"] += 1
        finally:
            steps.disarm()
            device.memories.before_write = None
            if is_disk_full:
                device.restart()

    async def _happen(self, happening: str) -> bool:
        """Let something happen; return whether the devices that it needs were there."""
        here = [each for each in self.devices.values() if self._is_here(each)]
        if not here or (happening in ATTACKS and len(here) < len(self.devices)):
            return False
        device = self.chance.choice(here)
        match happening:
            case "kill at each step":
                await self._sweep(KILL, device)
            case "full disk at each step":
                await self._sweep(FULL_DISK, device)
            case "erasure":
                await self._erase(device)
            case "revocation":
                await self._revoke()
            case "departure":
                await self._leave()
            case _:
                self._law(f"told and refused: {happening}", await play_attack(self.world, happening, here))
        return True

    def _is_here(self, device: YearDevice) -> bool:
        return device.is_on and device.view.is_reachable

    async def _sweep(self, fault: str, device: YearDevice) -> None:
        """Sync with much news, and fail once at each of its steps."""
        for other in self.devices.values():
            if other.is_on:
                for _ in range(3):
                    other.person.session()
            if self._is_here(other) and other is not device:
                await self._sync(other)
        await self._at_each_step(fault, device, device.sync)

    async def _at_each_step(
        self, fault: str, device: YearDevice, work: Callable[[], Awaitable[object]]
    ) -> None:
        """Do something again and again, each time up to the first step that has not failed before."""
        passed: set[str] = set()
        while True:
            self.world.steps.arm(fault, passed=passed)
            try:
                await work()
            except (Killed, StorageUnavailableError):
                self.count["failures of a chosen step"] += 1
            else:
                break
            finally:
                self.world.steps.disarm()
                device.restart()

    async def _erase(self, device: YearDevice) -> None:
        keys = [
            each
            for kind in (SyncKind.FACT, SyncKind.LESSON, SyncKind.EPISODE)
            if (of := device.memories.of(kind))
            for each in [self.chance.choice(of)]
        ]
        await self._at_each_step(KILL, device, lambda: device.erase(keys))

    async def _revoke(self) -> None:
        """A device is lost, and a new one takes its place."""
        role = self.chance.choice(sorted(self.devices))
        lost = self.devices[role]
        self._return()
        revoker = self.chance.choice([each for each in self.devices.values() if each is not lost])
        await self._at_each_step(KILL, revoker, lambda: revoker.syncing.revoke(lost.key.device))
        self.world.model.lose(lost.name, revoker=revoker.name)
        await self._replace(role, revoker)

    async def _leave(self) -> None:
        """A device leaves, and another one joins."""
        role = self.chance.choice(sorted(self.devices))
        device = self.devices[role]
        self._return()
        self.world.model.begin_sync(device.name)
        await self._at_each_step(KILL, device, device.leave)
        self.world.model.end_sync(device.name, is_whole=False)
        await self._replace(role, next(each for each in self.devices.values() if each is not device))

    async def _replace(self, role: str, member: YearDevice) -> None:
        """Let a new device take a role; it joins with the key that a member has after a sync."""
        gone = self.devices[role]
        gone.state.close()
        self.world.carrier.devices.remove(gone.name)
        self.world.carrier.mend()
        await member.sync()
        name = f"{role} {self.count['joins'] + 2}"
        self.count["joins"] += 1
        self.devices[role] = YearDevice(self.world, name, member.syncing.home_key)

    def _return(self) -> None:
        """Let all devices be there, and the carrier show all files."""
        for device in self.devices.values():
            device.is_on, device.view.is_reachable = True, True
        self.world.carrier.mend()

    async def _check(self, devices: Sequence[YearDevice]) -> None:
        """Exchange everything between some devices, and check the laws."""
        self.world.carrier.mend()
        self.world.carrier.delay = timedelta()
        for _ in range(ROUNDS):
            reports = [await device.sync() for device in devices]
            if not any(each.is_news for each in reports):
                break
        else:
            self.broken.append(f"{self.world.now:%F}: the devices have news for each other without an end")
            return
        self.count["full exchanges"] += 1
        self._law(
            "nothing is told without a fault", [problem for each in reports for problem in each.problems]
        )
        if devices:
            self._law("the memories are those of the model", broken_laws(self.world, devices))
        if len(devices) == len(self.devices):
            self._law("no erased text remains", texts_that_remain(self.world, devices))

    def _law(self, law: str, problems: Iterable[str]) -> None:
        """Count a check of a law, and note what is wrong."""
        self.laws[law] += 1
        self.broken += [f"{self.world.now:%F}: {law}: {problem}" for problem in problems]
