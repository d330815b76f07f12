"""Weeks of three homes with their own SQLite and PostgreSQL databases that sync over a folder.

Sessions use the memories as tools do. Syncs run in processes of their own that the system kills at a step, clocks jump,
files are truncated and dropped for a while, a home leaves and joins again, and a memory is erased. After each week the
homes exchange everything: they must show the same memories, with every text that was stored and not forgotten.
"""

import os
import random
import signal
import subprocess
import sys
from collections import Counter
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final
from uuid import UUID

from commonplace.core.clock import ManualClock
from commonplace.core.errors import InvalidInputError
from commonplace.core.settings import Settings
from commonplace.knowledge import EpisodeDraft, Validity
from commonplace.services.erasure.selection import By, Selection
from commonplace.services.opening import Memories, OpenedMemories
from commonplace.services.sync.carriers.targets import SyncTarget
from commonplace.services.sync.changes import Fields
from commonplace.services.sync.erasing import erase_everywhere
from commonplace.services.sync.erasures import Key
from commonplace.services.sync.home import SyncedHome, create_home, join_home
from commonplace.services.sync.replicas.home import HomeReplica
from commonplace.services.sync.syncing import SyncReport
from commonplace.storage.embedded import remove_cluster

PASSPHRASE: Final = "four words of a year"
NAMES: Final = ("laptop", "desktop", "server")
ROUNDS: Final = 8
SESSIONS: Final = 4
"""Sessions a week on each device."""

MOST_STEPS: Final = 70
SYNC_TIMEOUT_S: Final = 300.0


@dataclass(slots=True)
class HomesModel:
    """What must be there: texts that were stored, those that were forgotten, and how often each rule was applied."""

    texts: set[str] = field(default_factory=set[str])
    forgotten: set[str] = field(default_factory=set[str])
    erased: set[str] = field(default_factory=set[str])
    applied: Counter[str] = field(default_factory=Counter[str])


class YearHome:
    """A home.

    Args:
        settings: Those of the home.
        memories: Its open memories.
        clock: Its clock.
    """

    def __init__(self, settings: Settings, memories: Memories, clock: ManualClock) -> None:
        self.settings, self.memories, self.clock = settings, memories, clock
        self.name = settings.home.name

    async def sync(self) -> SyncReport:
        """Sync once."""
        async with SyncedHome.open(self.settings, clock=self.clock) as home:
            return await home.sync(knowledge=self.memories.knowledge)

    def sync_killed_at(self, index: int) -> str:
        """Sync in a process that is killed at a step; return the step, or an empty text if it came to its end."""
        path = os.pathsep.join(sys.path)
        command = [sys.executable, "-m", "support.sync_year_kill", str(self.settings.home), str(index)]
        run = subprocess.run(
            command,
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            timeout=SYNC_TIMEOUT_S,
            check=False,
        )
        return run.stdout.strip() if run.returncode == -signal.SIGKILL else ""

    async def rows(self) -> dict[Key, Fields]:
        """Return what all memories show."""
        return dict(await HomeReplica(OpenedMemories.of(self.memories), self.settings).read())


class Homes:
    """Three homes that share a folder, for some weeks.

    Args:
        folder: An empty folder.
        seed: Determines what the sessions do.
        weeks: The number of weeks.
    """

    def __init__(self, folder: Path, seed: int, *, weeks: int = 3) -> None:
        self.folder, self.weeks = folder, weeks
        self.chance = random.Random(seed)  # noqa: S311 - a simulation
        self.target = SyncTarget(address=str(folder / "carried"))
        self.model = HomesModel()
        self.count: Counter[str] = Counter()
        self.broken: list[str] = []
        self.homes: list[YearHome] = []
        self._rules: list[tuple[str, str]] = []
        self._whole: tuple[Path, bytes] | None = None

    async def play(self) -> None:
        """Play the weeks; :attr:`broken` says which laws did not hold."""
        try:
            async with AsyncExitStack() as stack:
                for name in NAMES:
                    settings = Settings(home=self.folder / name, workspace=self.folder)
                    clock = ManualClock(datetime(2026, 1, 5, tzinfo=UTC))
                    memories = await stack.enter_async_context(Memories.open(settings, clock=clock))
                    self.homes.append(YearHome(settings, memories, clock))
                await create_home(self.homes[0].settings, self.target, passphrase=PASSPHRASE, name=NAMES[0])
                for home in self.homes[1:]:
                    await join_home(home.settings, self.target, passphrase=PASSPHRASE, name=home.name)
                for week in range(self.weeks):
                    await self._week(week)
                    await self._check(f"week {week + 1}")
        finally:
            for name in NAMES:
                remove_cluster(Settings(home=self.folder / name, workspace=self.folder).postgres_directory)

    async def _week(self, week: int) -> None:
        away = self.chance.choice(self.homes) if week % 2 else None
        for number in range(SESSIONS):
            for home in self.homes:
                home.clock.advance(days=7 / SESSIONS)
                await self._session(home)
                if home is not away:
                    await self._sync(home)
            if number == 0:
                self._truncate()
        if week == 1:
            await self._erase(self.chance.choice(self.homes))
        if week == 2:
            await self._leave_and_join(self.homes[-1])
        jumping = self.chance.choice(self.homes)
        jumping.clock.advance(hours=self.chance.choice((-30, -2, 5, 24 * 30)))

    async def _session(self, home: YearHome) -> None:
        """Do what a session does, by the verbs of the memories."""
        self.count["sessions"] += 1
        knowledge, chance = home.memories.knowledge, self.chance
        subject = f"host {chance.randrange(12)}"
        await knowledge.store_fact(subject=subject, predicate="port", content=self._text("The port is"))
        await knowledge.store_episodes([EpisodeDraft(content=self._text("We worked on"), butler="home")])
        lesson = self._text("Takes") if chance.random() < 0.6 else "Takes a minute to start"
        self.model.texts.add(lesson)
        await home.memories.operational.add(category="timing", observation=lesson, service="jellyfin")
        facts = await knowledge.lists.facts(validity=Validity.ACTIVE)
        fact = chance.choice(sorted(facts, key=lambda each: each.content))
        match chance.randrange(5):
            case 0:
                await knowledge.edit("fact", fact.id, self._text("The port is now"))
            case 1:
                await knowledge.confirm("fact", fact.id)
            case 2:
                await knowledge.pin("fact", fact.id)
            case 3:
                await knowledge.forget("fact", fact.id)
                self.model.forgotten.add(fact.content)
            case _:
                with suppress(InvalidInputError):  # The name is taken.
                    await knowledge.entities.create(canonical_name=subject, entity_type="other")
        await self._rule(home)

    async def _rule(self, home: YearHome) -> None:
        knowledge = home.memories.knowledge
        if self.chance.random() < 0.3 or not self._rules:
            text = self._text("Always")
            self._rules.append((str((await knowledge.store_rule(content=text)).id), text))
            return
        here = {name for kind, name in await home.rows() if kind == "rule"}
        rules = [each for each in self._rules if each[0] in here]
        if rules:
            key, text = self.chance.choice(rules)
            await knowledge.mark_helpful(UUID(key))
            self.model.applied[text] += 1

    def _text(self, about: str) -> str:
        text = (
            f"{about} {self.chance.randrange(10_000)} because of ticket {self.chance.randrange(1 << 40):010x}"
        )
        self.model.texts.add(text)
        return text

    async def _sync(self, home: YearHome) -> None:
        """Sync, every third time in a process that is killed first."""
        if self.chance.random() < 1 / 3:
            step = home.sync_killed_at(self.chance.randrange(MOST_STEPS))
            self.count["kills of a process" if step else "processes that came to their end"] += 1
            if step:
                self.count[f"killed: {step}"] += 1
        await home.sync()
        self.count["syncs"] += 1

    def _truncate(self) -> None:
        """Cut the newest file in two, as a carrier shows it that is still writing; the whole file comes later."""
        paths = sorted(
            Path(self.target.address).glob("[0-9a-f]*/*"), key=lambda path: path.stat().st_mtime_ns
        )
        if paths:
            body = paths[-1].read_bytes()
            paths[-1].write_bytes(body[: len(body) // 2])
            self._whole = (paths[-1], body)
            self.count["truncated files"] += 1

    def _mend(self) -> None:
        if self._whole is not None and self._whole[0].exists():
            self._whole[0].write_bytes(self._whole[1])

    async def _erase(self, home: YearHome) -> None:
        facts = await home.memories.knowledge.lists.facts(validity=Validity.ACTIVE)
        text = self.chance.choice(sorted(each.content for each in facts))
        await erase_everywhere(home.settings, Selection(by=By.SUBJECT, value=text.split()[-1]))
        self.model.erased.add(text)
        self.count["erasures"] += 1

    async def _leave_and_join(self, home: YearHome) -> None:
        async with SyncedHome.open(home.settings, clock=home.clock) as synced:
            await synced.leave()
        await join_home(home.settings, self.target, passphrase=PASSPHRASE, name=f"{home.name} again")
        self.count["homes that left and joined again"] += 1

    async def _check(self, when: str) -> None:
        """Exchange everything, and check the laws."""
        self._mend()
        latest = max(home.clock() for home in self.homes)
        for home in self.homes:
            home.clock.now = latest + timedelta(minutes=1)
        reports: list[SyncReport] = []
        for _ in range(ROUNDS):
            reports = [await home.sync() for home in self.homes]
            if not any(each.is_news for each in reports):
                break
        self.count["full exchanges"] += 1
        problems = [problem for each in reports for problem in each.problems]
        if any(each.is_news for each in reports):
            problems.append("the homes have news for each other without an end")
        rows = [await home.rows() for home in self.homes]
        for home, each in zip(self.homes, rows, strict=True):
            problems += self._wrong(home, each, rows[0])
        self.broken += [f"{when}: {problem}" for problem in problems]

    def _wrong(self, home: YearHome, rows: dict[Key, Fields], first: dict[Key, Fields]) -> list[str]:
        problems = [
            f"{home.name}: {key} is {rows.get(key)}, elsewhere {first.get(key)}"
            for key in sorted({*rows, *first})
            if rows.get(key) != first.get(key)
        ]
        texts = {str(value) for row in rows.values() for value in row.values() if isinstance(value, str)}
        model = self.model
        lost = model.texts - model.forgotten - model.erased - texts
        problems += [f"{home.name}: {text!r} is lost" for text in sorted(lost)]
        problems += [
            f"{home.name}: {text!r} is back" for text in sorted((model.forgotten | model.erased) & texts)
        ]
        applied = Counter(str(row["rule_id"]) for (kind, _), row in rows.items() if kind == "application")
        problems += [
            f"{home.name}: rule {text!r} was applied {applied[key]} times, not {model.applied[text]}"
            for key, text in self._rules
            if applied[key] != model.applied[text]
        ]
        problems += [
            f"{path} still says {text!r}" for text in sorted(model.erased) for path in self._files_with(text)
        ]
        return problems

    def _files_with(self, text: str) -> list[str]:
        """Return the files of homes and target that hold a text, but those of database servers.

        Another process looks: if this one closed a file of SQLite, it would release the locks of open memories.
        """
        command = ["grep", "-rlaF", "--exclude-dir=postgres*", text, *map(str, sorted(self.folder.iterdir()))]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
