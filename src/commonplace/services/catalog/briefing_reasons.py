"""The reasons for a briefing: why each memory in it is there."""

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from typing import Final

from commonplace.core.errors import NotFoundError
from commonplace.core.settings import Settings
from commonplace.knowledge import GLOBAL_SCOPE, Narrowing
from commonplace.language.relative_days import without_past
from commonplace.operational import format_confidence
from commonplace.prompts.injected import as_data
from commonplace.services.briefing import Briefing, BriefingPart, Section, brief
from commonplace.services.catalog.catalog import Catalog
from commonplace.services.catalog.digests import digest_entry
from commonplace.services.catalog.entries import CatalogEntry
from commonplace.services.opening import OpenedMemories

MOST_RECALLED: Final = 100
ALL_DIGESTS: Final = "The app is in focus, so its digests are shown, the newest first."
NEWEST_NOTE: Final = "No note shares a word with the prompt, so the newest notes are shown."
PINNED_MEMORY: Final = "It is pinned, so every prompt shows it."


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryReason:
    """A memory of a briefing, and why the briefing has it.

    Attributes:
        why: One sentence or more.
    """

    entry: CatalogEntry
    why: str


async def brief_with_reasons(
    settings: Settings, *, prompt: str, app: str | None, butler: str | None, budget_tokens: int | None
) -> tuple[Briefing, list[MemoryReason]]:
    """Return a briefing, and the reason for each lesson, digest, note, fact and rule in it, in their order.

    Episodes have no reason of their own: the briefing shows the latest sessions, or those about the prompt. See
    :func:`~commonplace.services.briefing.brief` for the arguments and errors.
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
        )
        reader = _SectionReasons(
            opened=opened, catalog=Catalog(opened, settings.home), prompt=prompt, app=app or "", butler=butler
        )
        reasons = [each for section in briefing.sections if section.text for each in await reader.of(section)]
        return briefing, reasons


@dataclass(frozen=True, slots=True, kw_only=True)
class _SectionReasons:
    """Reads why the memories of a section are in it."""

    opened: OpenedMemories
    catalog: Catalog
    prompt: str
    app: str
    butler: str | None

    async def of(self, section: Section) -> Sequence[MemoryReason]:
        match section.name:
            case BriefingPart.OPERATIONAL:
                return [_of_lesson(each) for each in await self._entries(section, "o:")]
            case BriefingPart.APPS:
                return await self._of_digests(section)
            case BriefingPart.WORKSPACE:
                return _with(await self._of_notes(), await self._entries(section), NEWEST_NOTE)
            case BriefingPart.KNOWLEDGE:
                return _with(await self._of_knowledge(), await self._entries(section), PINNED_MEMORY)
            case BriefingPart.SESSIONS:
                return ()

    async def _entries(self, section: Section, prefix: str = "") -> list[CatalogEntry]:
        """Return the memories of a section in the order of its text."""
        entries: list[CatalogEntry] = []
        for each in section.memory_ids:
            with suppress(NotFoundError):  # Another process may have deleted it meanwhile.
                entries.append(await self.catalog.show(f"{prefix}{each}"))
        text = without_past(section.text)
        return sorted(entries, key=lambda entry: text.find(as_data(entry.content)))

    async def _of_digests(self, section: Section) -> list[MemoryReason]:
        return [
            MemoryReason(entry=digest_entry(each), why=ALL_DIGESTS)
            for each in (await self.opened.apps().context(self.app)).memories
            if as_data(each.content) in without_past(section.text)
        ]

    async def _of_notes(self) -> Mapping[str, str]:
        """Return why notes fit the prompt, by their full ids."""
        return {
            each.memory.id: f"It shares words with the prompt: {', '.join(sorted(each.words))}."
            for each in await self.opened.workspace().explain(self.prompt)
        }

    async def _of_knowledge(self) -> Mapping[str, str]:
        """Return why facts and rules fit the prompt, by their full ids."""
        results = await self.opened.knowledge().recall(
            self.prompt,
            narrowing=Narrowing(scope=self.butler or GLOBAL_SCOPE),
            limit=MOST_RECALLED,
            explain=True,
            count=False,
        )
        return {str(each.memory.id): each.explanation.why for each in results if each.explanation is not None}


def _of_lesson(entry: CatalogEntry) -> MemoryReason:
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
