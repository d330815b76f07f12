"""The doors of one home in the year: sessions go in, nights pass, questions are asked. The clock is the year's."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final
from uuid import uuid5

from commonplace.apps import Message
from commonplace.core.clock import ManualClock
from commonplace.core.errors import InvalidInputError
from commonplace.core.settings import Settings
from commonplace.knowledge import MAX_LIMIT, MAX_PROMPT_CHARS, Validity
from commonplace.services.briefing import HOST_STYLE, build_briefing, sessions_block
from commonplace.services.named_services import lessons_for
from commonplace.services.opening import Memories
from commonplace.services.search.searching import search_all
from commonplace.workspace import WorkspaceMemory
from year_data import FIRST_DAY, Learning, YearQuestion, YearSession
from year_secretary import Secretary
from year_transcripts import EPISODES, category_of, episode_text, markers_of, role_of, transcript

CHAT: Final = "chat"
"""The butler of all conversations with apps: the project that the chat client runs in."""

PROMPT_TOKENS: Final = 700
"""The budget of knowledge memory for one prompt, as in the hook for prompts."""

LOOKED_THROUGH_TOKENS: Final = 3_000
CHARS_PER_TOKEN: Final = 4
SKEW: Final = {
    "laptop": timedelta(minutes=-3),
    "desktop": timedelta(minutes=7),
    "server": timedelta(0),
}
"""How far the clocks of the machines are off."""

SLOW_DESKTOP: Final = range(20, 22)
"""The weeks in which the battery of the desktop is empty, and its clock is a day and two hours behind."""


def moment_on(machine: str, at: datetime) -> datetime:
    """Return what the clock of a machine shows at a time of the year."""
    week = (at.date() - FIRST_DAY).days // 7 + 1
    if machine == "desktop" and week in SLOW_DESKTOP:
        return at - timedelta(hours=26)
    return at + SKEW[machine]


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocks:
    """What an agent gets without asking: the lines for a prompt, and those of the beginning of its session."""

    prompt: tuple[str, ...]
    session: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Holdings:
    """What is in the memories: numbers of current rows, and bytes of both databases."""

    facts: int
    rules: int
    episodes: int
    lessons: int
    digests: int
    notes: int
    bytes: int

    @property
    def rows(self) -> int:
        """All current rows."""
        return self.facts + self.rules + self.episodes + self.lessons + self.digests + self.notes


@dataclass(slots=True)
class YearHome:
    """A home whose clock the year moves. Use :meth:`open`.

    Attributes:
        refused: Texts that a memory refused, with the reason.
    """

    folder: Path
    clock: ManualClock
    memories: Memories
    secretary: Secretary
    refused: list[str] = field(default_factory=list[str])
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)
    _projects: dict[str, WorkspaceMemory] = field(default_factory=dict[str, WorkspaceMemory])
    _apps: set[str] = field(default_factory=set[str])
    _briefings: dict[tuple[datetime, str, str], tuple[str, ...]] = field(
        default_factory=dict[tuple[datetime, str, str], tuple[str, ...]]
    )
    _lessons: dict[tuple[str, str], tuple[str, str]] = field(
        default_factory=dict[tuple[str, str], tuple[str, str]]
    )
    empty_bytes: int = 0

    @classmethod
    @asynccontextmanager
    async def open(
        cls, folder: Path, secretary: Secretary, choices: Mapping[str, str]
    ) -> AsyncGenerator["YearHome"]:
        """Set up an empty home in a folder, on the first day of the year; ``choices`` are settings to choose."""
        clock = ManualClock(datetime.combine(FIRST_DAY, datetime.min.time(), UTC))
        desk = folder / "desk"
        desk.mkdir()
        settings = Settings.model_validate(
            {"model": "extractive", "time_zone": "UTC", **choices, "home": folder / "home", "workspace": desk}
        )
        model = None if secretary.model == "absent" else secretary.as_model()
        async with (
            Memories.open(settings, clock=clock, model=model) as memories,
            AsyncExitStack() as stack,
        ):
            home = cls(folder=folder, clock=clock, memories=memories, secretary=secretary, _stack=stack)
            home.empty_bytes = await home.bytes()
            yield home

    async def play(self, session: YearSession) -> None:
        """Play a session at its time."""
        self.clock.now = session.at.replace(tzinfo=UTC)
        match session.place:
            case "ops":
                await self._report(session)
            case "note":
                await self._note(session)
            case "chat":
                await self._converse(session)
                await self._remember(session)
            case _:
                await self._remember(session)

    async def injected_tokens(self, session: YearSession) -> int:
        """Return the tokens that the beginning of a session and its first prompt get."""
        self.clock.now = session.at.replace(tzinfo=UTC)
        if session.place == "note":
            return 0
        prompt = next((text for speaker, text in session.turns if speaker == "me"), "")
        blocks = await self.blocks(session.place, session.name, prompt)
        fresh = [line for line in blocks.prompt if line not in set(blocks.session)]
        lines = blocks.session if session.place == "ops" else [*blocks.session, *fresh]
        return sum(map(len, lines)) // CHARS_PER_TOKEN

    async def _report(self, session: YearSession) -> None:
        """Store the report of an ops agent, with its markers, after it was given its block."""
        await self.memories.operational.upkeep.decay()
        block = (await self.memories.operational.context()).text
        markers = [
            line for learning in self.secretary.notes_of(session) for line in self._markers(learning, block)
        ]
        if chatter := self.secretary.chatter_of(session):
            markers.append(f"[MEMORY:behavior] {chatter}")
        text = "\n".join([session.output, *markers])
        await self.memories.operational.ingest(_chunks(transcript(session, text)), tiers=(1,))

    def _markers(self, learning: Learning, block: str) -> list[str]:
        truth = self.secretary.truths[learning.truth]
        category = category_of(truth)
        _, old = self._lessons.get(truth.key, ("", ""))
        is_strong = self.secretary.model != "mediocre"
        known = old if is_strong and old and old in block else ""
        if learning.how != "end" and not (known and learning.how == "confirm"):
            self._lessons[truth.key] = (category, learning.text)
        return markers_of(learning, truth, category=category, known=known)

    async def _note(self, session: YearSession) -> None:
        project = await self._project(session.name)
        try:
            await project.store(session.output)
        except InvalidInputError as error:
            self.refused.append(f"note of {session.at}: {error}")

    async def _converse(self, session: YearSession) -> None:
        """Have a conversation with an app, which leaves a digest."""
        if session.name not in self._apps:
            await self.memories.apps.registry.register(session.name)
            self._apps.add(session.name)
        self.secretary.session = session
        messages = [Message(role=role_of(speaker), content=text) for speaker, text in session.turns]
        await self.memories.apps.ingest(session.name, f"{session.name}-{session.at:%Y%m%d%H%M}", messages)

    async def _remember(self, session: YearSession) -> None:
        """Store the episode of a session, as the hook at its end does."""
        said_at = min(moment_on(session.machine, session.at).replace(tzinfo=UTC), self.clock())
        receipt = await self.memories.knowledge.store_episode(
            content=episode_text(session),
            butler=CHAT if session.place == "chat" else session.name,
            session_id=uuid5(EPISODES, f"{session.name} {session.at}"),
            metadata={"source": "year"},
            created_at=said_at,
            allow_secrets=True,
        )
        self.secretary.sessions[str(receipt.id)] = session

    async def pass_night(self) -> None:
        """Do what a night does: waiting digests, decay, consolidation and the cleanup of episodes."""
        self._briefings.clear()
        await self.memories.apps.digests.run_deferred()
        await self.memories.operational.upkeep.decay()
        await self.memories.knowledge.upkeep.sweep()
        if self.secretary.model != "absent" and self.secretary.sessions:
            report = await self.memories.knowledge.runs.consolidate(self.secretary)
            self.refused += [f"consolidation of {self.clock():%Y-%m-%d}: {error}" for error in report.errors]
            if not report.failed and not report.waiting:
                self.secretary.sessions.clear()
        await self.memories.knowledge.upkeep.cleanup()

    async def blocks(self, place: str, name: str, prompt: str) -> Blocks:
        """Return the lines that a session of a place gets at its beginning and for a prompt."""
        if place == "ops":
            operational = self.memories.operational
            named = (await lessons_for(operational, prompt, budget_tokens=None)).text
            return Blocks(prompt=_lines(named), session=_lines((await operational.context(dates=True)).text))
        knowledge, butler = self.memories.knowledge, CHAT if place == "chat" else name
        key = (self.clock(), place, name)
        if key not in self._briefings:
            is_app = place == "chat" and name in self._apps
            briefing = await build_briefing(
                replace(self.memories, workspace=await self._project(name)),
                prompt="",
                app=name if is_app else None,
                butler=butler,
                clock=self.clock,
            )
            self._briefings[key] = _lines(briefing.text)
        lessons = (await lessons_for(self.memories.operational, prompt, budget_tokens=300)).text
        notes = await (await self._project(name)).context(prompt, dates=True)
        topic = prompt[:MAX_PROMPT_CHARS]
        facts = await knowledge.context(topic, butler, budget_tokens=LOOKED_THROUGH_TOKENS, style=HOST_STYLE)
        sessions = await sessions_block(knowledge, topic, butler)
        recalled = _cut([*_lines(facts), *_lines(sessions)], PROMPT_TOKENS * CHARS_PER_TOKEN)
        return Blocks(prompt=(*_lines(lessons), *_lines(notes), *recalled), session=self._briefings[key])

    async def search(self, question: YearQuestion) -> list[str]:
        """Return the texts that a search of all memories finds, the best first."""
        memories = replace(self.memories, workspace=await self._project(question.name))
        return [each.words for each in (await search_all(memories, question.text)).items]

    async def _project(self, name: str) -> WorkspaceMemory:
        if name not in self._projects:
            folder = self.folder / name
            folder.mkdir(exist_ok=True)
            self._projects[name] = await self._stack.enter_async_context(
                WorkspaceMemory.open(
                    self.memories.knowledge.database.settings, workspace=folder, clock=self.clock
                )
            )
        return self._projects[name]

    async def holdings(self) -> Holdings:
        """Return the numbers of current rows, and the bytes that were added to an empty home."""
        texts = await self.current_texts()
        kinds = [kind for kind, _ in texts]
        stats = await self.memories.knowledge.stats()
        return Holdings(
            facts=kinds.count("fact"),
            rules=kinds.count("rule"),
            episodes=stats.episodes.total,
            lessons=kinds.count("lesson"),
            digests=kinds.count("digest"),
            notes=kinds.count("note"),
            bytes=await self.bytes() - self.empty_bytes,
        )

    async def current_texts(self) -> list[tuple[str, str]]:
        """Return the kind and the text of every current memory that is no episode."""
        knowledge = self.memories.knowledge
        facts = await knowledge.lists.facts(validity=Validity.ACTIVE, limit=MAX_LIMIT)
        rules = await knowledge.lists.rules(forgotten=False, limit=MAX_LIMIT)
        lessons = await self.memories.operational.list_memories()
        digests = [
            digest
            for app in sorted(self._apps)
            for digest in (await self.memories.apps.context(app)).memories
        ]
        notes = [
            note for each in self._projects.values() for note in (await each.search(limit=None)).memories
        ]
        return [
            *(("fact", each.content) for each in facts),
            *(("rule", each.content) for each in rules),
            *(("lesson", each.observation) for each in lessons if each.active),
            *(("digest", each.content) for each in digests),
            *(("note", each.text) for each in notes),
        ]

    async def bytes(self) -> int:
        """Return the bytes of both databases."""
        pool = await self.memories.knowledge.database.pool()
        async with pool.acquire() as connection:
            size = await connection.fetchval("SELECT pg_database_size(current_database())")
        files = (self.folder / "home").glob("commonplace.db*")
        return int(size) + sum(path.stat().st_size for path in files)


async def _chunks(data: bytes) -> AsyncIterator[bytes]:
    yield data


def _lines(block: str) -> tuple[str, ...]:
    return tuple(line for line in block.splitlines() if line.strip())


def _cut(lines: Sequence[str], most: int) -> list[str]:
    """Return the first lines that fit into a number of characters."""
    fitting: list[str] = []
    for line in lines:
        most -= len(line) + 1
        if most < 0:
            break
        fitting.append(line)
    return fitting
