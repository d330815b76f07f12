"""The reasons for a briefing: why each memory in it is there."""

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from commonplace.core.errors import NotFoundError
from commonplace.core.settings import Settings
from commonplace.knowledge import GLOBAL_SCOPE, Narrowing, SearchResult
from commonplace.language.relative_days import without_past
from commonplace.operational import format_confidence
from commonplace.prompts.injected import as_data
from commonplace.services.briefing import Briefing, BriefingPart, Section, brief
from commonplace.services.catalog.catalog import Catalog
from commonplace.services.catalog.digests import digest_entry
from commonplace.services.catalog.entries import CatalogEntry
from commonplace.services.catalog.knowledge import memory_entry
from commonplace.services.opening import OpenedMemories

MOST_RECALLED: Final = 100
ALL_DIGESTS: Final = "The app is in focus, so its digests are shown, the newest first."
NEWEST_NOTE: Final = "No note shares a word with the prompt, so the newest notes are shown."
PINNED_MEMORY: Final = "It is pinned, so every prompt shows it."


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryReason:
    """A memory, and why a briefing has it or leaves it out.

    Attributes:
        why: One sentence or more.
    """

    entry: CatalogEntry
    why: str


async def brief_with_reasons(
    settings: Settings,
    *,
    prompt: str,
    app: str | None,
    butler: str | None,
    budget_tokens: int | None,
    project: Path | None = None,
) -> tuple[Briefing, list[MemoryReason]]:
    """Return a briefing, and the reason for each memory in it.

    See :func:`~commonplace.services.briefing.brief` for the arguments and errors, and
    :meth:`BriefingReasons.included` for the reasons.
    """
    async with AsyncExitStack() as stack:
        opened = await OpenedMemories.open(stack, settings)
        briefing = await brief(
            settings,
            prompt=prompt,
            app=app,
            butler=butler,
            budget_tokens=budget_tokens,
            knowledge=opened.knowledge(),
            project=project,
        )
        reasons = BriefingReasons(
            opened=opened, catalog=Catalog(opened, settings.home), prompt=prompt, app=app or "", butler=butler
        )
        return briefing, await reasons.included(briefing)


@dataclass(frozen=True, slots=True, kw_only=True)
class BriefingReasons:
    """Reads why memories fit a prompt, without counting a use."""

    opened: OpenedMemories
    catalog: Catalog
    prompt: str
    app: str
    butler: str | None

    async def included(self, briefing: Briefing) -> list[MemoryReason]:
        """Return the reason for each lesson, digest, note, fact and rule in a briefing, in their order.

        Episodes have no reason of their own: the briefing shows the latest sessions, or those about the prompt.
        """
        return [each for section in briefing.sections if section.text for each in await self._of(section)]

    async def digests(self) -> list[MemoryReason]:
        """Return the digests of the app in focus, newest first."""
        context = await self.opened.apps().context(self.app)
        return [MemoryReason(entry=digest_entry(each), why=ALL_DIGESTS) for each in context.memories]

    async def notes(self) -> Mapping[str, str]:
        """Return why notes fit the prompt, by their full ids, best first."""
        return {
            each.memory.id: f"It shares words with the prompt: {', '.join(sorted(each.words))}."
            for each in await self.opened.workspace().explain(self.prompt)
        }

    async def recalled(self, min_relevance: float | None = None) -> Sequence[SearchResult]:
        """Return the facts and rules that fit the prompt, ranked as in a briefing, with explanations."""
        knowledge = self.opened.knowledge()
        return await knowledge.recall(
            self.prompt,
            weights=knowledge.config.retrieval.score_weights.without_recency(),
            min_relevance=min_relevance,
            narrowing=Narrowing(scope=self.butler or GLOBAL_SCOPE),
            limit=MOST_RECALLED,
            explain=True,
            count=False,
        )

    def of_result(self, result: SearchResult) -> MemoryReason:
        """Return why a fact or rule fits the prompt."""
        entry = memory_entry(result.memory, now=self.opened.knowledge().clock())
        return MemoryReason(entry=entry, why=result.explanation.why if result.explanation else "")

    async def _of(self, section: Section) -> Sequence[MemoryReason]:
        match section.name:
            case BriefingPart.OPERATIONAL:
                return [lesson_reason(each) for each in await self._entries(section, "o:")]
            case BriefingPart.APPS:
                text = without_past(section.text)
                return [each for each in await self.digests() if as_data(each.entry.content) in text]
            case BriefingPart.WORKSPACE:
                return _with(await self.notes(), await self._entries(section), NEWEST_NOTE)
            case BriefingPart.KNOWLEDGE:
                recalled = [self.of_result(each) for each in await self.recalled()]
                whys = {each.entry.full_id: each.why for each in recalled}
                entries = {each.entry.full_id: each.entry for each in recalled}
                return _with(whys, await self._entries(section, entries=entries), PINNED_MEMORY)
            case BriefingPart.SESSIONS:
                return ()

    async def _entries(
        self, section: Section, prefix: str = "", entries: Mapping[str, CatalogEntry] = MappingProxyType({})
    ) -> list[CatalogEntry]:
        """Return the memories of a section in the order of its text; ``entries`` are known already."""
        memories: list[CatalogEntry] = []
        for each in section.memory_ids:
            with suppress(NotFoundError):  # Another process may have deleted it meanwhile.
                memories.append(entries.get(each) or await self.catalog.show(f"{prefix}{each}"))
        text = without_past(section.text)

        def place(entry: CatalogEntry) -> int:
            """Return where the text shows a memory; a line with an excerpt is found by its id."""
            at = text.find(as_data(entry.content))
            return at if at >= 0 else text.find(f"[{entry.id}")

        return sorted(memories, key=place)


def lesson_reason(entry: CatalogEntry) -> MemoryReason:
    """Return why a briefing has a lesson."""
    confidence = format_confidence(entry.confidence or 0.0)
    why = f"Its confidence is {confidence}; the lessons with the highest confidence are shown first."
    return MemoryReason(entry=entry, why=why)


def _with(whys: Mapping[str, str], entries: Sequence[CatalogEntry], otherwise: str) -> list[MemoryReason]:
    """Return entries with their reasons; a pinned memory is also in the briefing because of that."""
    return [
        MemoryReason(entry=entry, why=_joined(whys.get(entry.full_id, ""), entry, otherwise))
        for entry in entries
    ]


def _joined(why: str, entry: CatalogEntry, otherwise: str) -> str:
    return f"{PINNED_MEMORY} {why}".strip() if entry.pinned else why or otherwise
