"""One prompt block from all four memories under one budget.

    <commonplace_memory>
    These notes come from earlier sessions. …

    ## Operational Memory (2 memories, ~31 tokens)
    …
    </commonplace_memory>

Each memory writes its own block by its own rules. This module gives each block a fair share of the budget; room that
one block does not need goes to the others. The text is data inside one tag that nothing in it can close. A memory that
fails or takes too long has no section, and never makes the briefing fail.
Source: design (Principles 2), R-KNW-8, R-KNW-11.
"""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import date, tzinfo
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final

from commonplace import apps as app_memory
from commonplace.core.budgets import CHARS_PER_TOKEN, budget_chars, estimate_tokens, share_budget
from commonplace.core.clock import Clock, utc_now
from commonplace.core.errors import CommonplaceError, InvalidInputError
from commonplace.core.settings import Settings
from commonplace.core.text import trim_to
from commonplace.knowledge import (
    CONTEXT_HEADER,
    GLOBAL_SCOPE,
    MAX_PROMPT_CHARS,
    BlockStyle,
    Episode,
    KnowledgeMemory,
    Memory,
    MemoryType,
    Narrowing,
    SearchMode,
    short_id,
)
from commonplace.language.relative_days import lines_with_past, with_dates
from commonplace.prompts.data_lines import data_line
from commonplace.prompts.injected import BETWEEN, FRAME_CHARS, as_data, cut_lines, framed
from commonplace.services.code.references import CodeReferences
from commonplace.services.health import Aspect, notice_of, read_health, warnings_of
from commonplace.services.named_services import lessons_for, project_text
from commonplace.services.opening import Memories, OpenedMemories
from commonplace.services.team_client import TeamClient
from commonplace.workspace import HEADER as WORKSPACE_TITLE

if TYPE_CHECKING:
    from uuid import UUID

    from commonplace.apps import AppMemory

DEFAULT_BUDGET_TOKENS: Final = 2400
"""Fits into Claude Code's limit for a hook: 10,000 characters."""

DEFAULT_TIMEOUT_S: Final = 10.0
"""Time limit for one memory: enough for a first start of the embedded database and the embedding model."""

NOTICE_SHARE: Final = 4
"""The notice of what will be lost takes at most this fraction of the room."""

SESSIONS: Final = 5
EPISODES_PER_SESSION: Final = 4
"""How many episodes are read for each session shown, because a resumed session has several."""

SESSION_CHARS: Final = 400
SESSIONS_CHARS: Final = 1_600
SESSIONS_TITLE: Final = "## Earlier Sessions"

HOST_STYLE: Final = BlockStyle(note=False, ids=True, dates=True, filled=True, by_use=False)
"""The lines of knowledge memory in a briefing, and those for the prompt of an agent host.

Uses do not rank: a recall of the same session must not change what its later prompts get.
"""

_TRIES: Final = 4
_NOTE_ID: Final = re.compile(r"^- \((m-(\d+))(?=[,)])", re.MULTILINE)

_log = logging.getLogger(__name__)


class BriefingPart(StrEnum):
    """The sections of a briefing, in their order."""

    OPERATIONAL = "operational"
    APPS = "apps"
    WORKSPACE = "workspace"
    KNOWLEDGE = "knowledge"
    SESSIONS = "sessions"
    """Episodes of knowledge memory; its own section holds only facts and rules."""


OF_KNOWLEDGE: Final = frozenset({BriefingPart.KNOWLEDGE, BriefingPart.SESSIONS})
"""The sections of knowledge memory, which belongs to a tenant; other memories belong to the installation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """The section of one memory.

    Attributes:
        text: The block of the memory; empty if the memory has no content, no room or a problem.
        problem: The reason for a failure; ``None`` if the memory answered.
        memory_ids: The ids of the memories in the text, for lessons, notes, facts and rules.
    """

    name: BriefingPart
    text: str
    problem: str | None = None
    memory_ids: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Briefing:
    """The block and its sections.

    Attributes:
        text: The text for a prompt, tag included; empty if every section is empty.
        sections: The sections of the requested memories, in their fixed order.
        tokens: The estimated size of the text.
    """

    text: str
    sections: tuple[Section, ...]
    tokens: int
    budget_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """A memory with its writer: ``write`` takes the most characters, or ``None`` for the memory's own limit.

    It returns the block and the ids of the memories in it.
    """

    name: BriefingPart
    write: Callable[[int | None], Awaitable[tuple[str, Iterable[object]]]]


async def brief(
    settings: Settings,
    *,
    prompt: str,
    app: str | None = None,
    butler: str | None = None,
    budget_tokens: int | None = None,
    knowledge: KnowledgeMemory | None = None,
    besides: Collection[BriefingPart] = (),
    service: TeamClient | None = None,
    but_session: str | None = None,
    project: Path | None = None,
    hides: Callable[[Memory], bool] | None = None,
) -> Briefing:
    """Open the memories of the settings, build the block, and close them.

    A memory that cannot be opened or cannot answer has no section. If ``knowledge`` is an open memory, it is used and
    stays open. The memories of the sections in ``besides`` are not opened. A service, if given, writes the sections of
    knowledge memory instead of the memory on this machine. In the directory ``project``, lessons are shown of services
    that the prompt or the project names (SHW-05). Facts and rules that ``hides`` returns true for are left out. See
    :func:`build_briefing` for the other arguments.

    Raises:
        InvalidInputError: See :func:`build_briefing`.
    """
    async with AsyncExitStack() as stack:
        unasked = besides if app is not None else {*besides, BriefingPart.APPS}
        opened = await OpenedMemories.open(stack, settings, knowledge=knowledge, besides=unasked)
        sources = _sources(
            opened,
            prompt=prompt,
            app=app,
            butler=butler,
            but_session=but_session,
            project=project,
            hides=hides,
        )
        if service is not None:
            sources = [_at_service(service, source, prompt, butler, but_session) for source in sources]
        today = utc_now().astimezone(settings.zone).date()
        if project is not None:
            references = CodeReferences(project, settings.home, today=today)
            sources = [_with_code(source, references) for source in sources]
        wanted = [_with_past(source, today) for source in sources if source.name not in besides]

        async def notice() -> str:
            if service is not None:
                return await _notice_of(service)
            aspects = [Aspect.MACHINE, *([] if BriefingPart.KNOWLEDGE in besides else [Aspect.EPISODES])]
            return await _notice(opened, settings, aspects)

        return await _build(wanted, notice, budget_tokens=budget_tokens)


async def build_briefing(
    memories: Memories,
    *,
    prompt: str,
    app: str | None = None,
    butler: str | None = None,
    budget_tokens: int | None = None,
    sections: Collection[BriefingPart] | None = None,
    but_session: str | None = None,
    timeout_s: float = DEFAULT_TIMEOUT_S,
    clock: Clock = utc_now,
) -> Briefing:
    """Build the block for the beginning of a session.

    The same prompt, memories and moment always give the same text, but for a line about what will be lost soon.

    Args:
        memories: The open memories, with knowledge memory of the session's tenant.
        prompt: The subject of the session; empty if the subject is not known yet.
        app: The app of the conversation; without an app, there is no section of app memory.
        butler: The butler whose facts, rules and sessions are included besides the global facts and rules; ``None`` for
            global facts and rules only.
        budget_tokens: The budget of the whole text, tag included; ``None`` for 2,400. A token is four characters.
        sections: The sections to build; ``None`` for all.
        but_session: The id of a session whose own episodes are left out.
        timeout_s: Seconds for each memory.
        clock: Returns the current time.

    Raises:
        InvalidInputError: The prompt is not text, or the budget is not a whole number from 0.
    """
    opened, settings = OpenedMemories.of(memories), memories.knowledge.database.settings
    today = clock().astimezone(settings.zone).date()
    sources = [
        _with_past(source, today)
        for source in _sources(opened, prompt=prompt, app=app, butler=butler, but_session=but_session)
        if sections is None or source.name in sections
    ]

    async def notice() -> str:
        of_tenant = sections is not None and OF_KNOWLEDGE.issuperset(sections)
        aspects = [Aspect.EPISODES, *([] if of_tenant else [Aspect.MACHINE])]
        return await _notice(opened, settings, aspects, clock=clock)

    return await _build(sources, notice, budget_tokens=budget_tokens, timeout_s=timeout_s, clock=clock)


async def _notice(
    opened: OpenedMemories, settings: Settings, aspects: Collection[Aspect], *, clock: Clock = utc_now
) -> str:
    """Return the line about what will be lost soon; the warnings of the other aspects are never urgent."""
    reading = await read_health(opened, settings, aspects=aspects, clock=clock, urgent_only=True)
    return notice_of(warnings_of(reading))


async def _notice_of(service: TeamClient) -> str:
    """Return the line about what a service will lose soon; an earlier release of the service has none."""
    try:
        return str((await service.get("/api/v1/health")).get("notice", ""))
    except CommonplaceError as error:
        _log.info("the health of the service is unknown: %s", error)
        return ""


async def _build(
    sources: Sequence[_Source],
    notice: Callable[[], Awaitable[str]],
    *,
    budget_tokens: int | None,
    timeout_s: float = DEFAULT_TIMEOUT_S,
    clock: Clock = utc_now,
) -> Briefing:
    budget = DEFAULT_BUDGET_TOKENS if budget_tokens is None else budget_tokens
    if isinstance(budget, bool) or not isinstance(budget, int) or budget < 0:  # pyright: ignore[reportUnnecessaryIsInstance] - from tools
        raise InvalidInputError("budget_tokens", "a whole number from 0", budget)
    room = max(0, budget_chars(budget) - FRAME_CHARS)
    drafts = await asyncio.gather(*(_guarded(source, None, timeout_s) for source in sources))
    line = data_line(await notice()) if any(draft.text for draft in drafts) else ""
    if len(line) > room // NOTICE_SHARE:
        line = ""
    sections = await _fit(sources, drafts, max(0, room - len(line) - 1) if line else room, timeout_s)
    text = framed((section.text for section in sections), today=clock().date(), notice=line)
    return Briefing(text=text, sections=tuple(sections), tokens=estimate_tokens(text), budget_tokens=budget)


async def _fit(
    sources: Sequence[_Source], drafts: Sequence[Section], room: int, timeout_s: float
) -> list[Section]:
    """Return the sections cut to fit the room, in order; the unused part of a share is divided among the others."""
    wants = [len(BETWEEN) + len(draft.text) if draft.text else 0 for draft in drafts]
    fitting: list[Section] = []
    for place, (source, draft) in enumerate(zip(sources, drafts, strict=True)):
        share = share_budget(wants[place:], room)[0]
        section = draft
        if wants[place] > share:
            section = await _shorten(source, max(0, share - len(BETWEEN)), timeout_s)
        if section.text:
            room -= len(BETWEEN) + len(section.text)
        fitting.append(section)
    return fitting


async def _shorten(source: _Source, most: int, timeout_s: float) -> Section:
    """Return the section of a memory in at most a number of characters.

    Marking text as data can make it longer than requested. The memory is then asked again for less text, so that it
    leaves out some items.
    """
    chars = most
    for _ in range(_TRIES):
        if chars <= 0:
            break
        section = await _guarded(source, chars, timeout_s)
        excess = len(section.text) - most
        if excess <= 0:
            return section
        chars -= max(excess, chars // 8)
    return Section(name=source.name, text="")


async def _guarded(source: _Source, chars: int | None, timeout_s: float) -> Section:
    try:
        async with asyncio.timeout(timeout_s):
            text, ids = await source.write(chars)
        return Section(name=source.name, text=as_data(text), memory_ids=frozenset(map(str, ids)))
    except TimeoutError:
        problem = f"no answer within {timeout_s:g} s"
        _log.error("the briefing has no section of %s memory: %s", source.name, problem)
    except CommonplaceError as error:
        problem = str(error)
        _log.error("the briefing has no section of %s memory: %s", source.name, problem)
    except Exception:  # noqa: BLE001 - the fail-open boundary: the session starts whatever the error
        problem = "an unexpected error; see the log"
        _log.exception("the briefing has no section of %s memory", source.name)
    return Section(name=source.name, text="", problem=problem)


def _sources(
    opened: OpenedMemories,
    *,
    prompt: str,
    app: str | None,
    butler: str | None,
    but_session: str | None = None,
    project: Path | None = None,
    hides: Callable[[Memory], bool] | None = None,
) -> list[_Source]:
    if not isinstance(prompt, str):  # pyright: ignore[reportUnnecessaryIsInstance] - from tools
        raise InvalidInputError("prompt", "text", prompt)

    async def operational(chars: int | None) -> tuple[str, Iterable[object]]:
        memory = opened.operational()
        if project is None:
            block = await memory.context(budget_tokens=_tokens(chars), dates=True)
        else:
            block = await lessons_for(
                memory, f"{prompt}\n{project_text(project)}", budget_tokens=_tokens(chars)
            )
        return block.text, block.memory_ids

    async def apps(chars: int | None) -> tuple[str, Iterable[object]]:
        return await _app_block(opened.apps(), app or "", chars), ()

    async def workspace(chars: int | None) -> tuple[str, Iterable[object]]:
        block = cut_lines(await opened.workspace().context(prompt, dates=True), chars, title=WORKSPACE_TITLE)
        return with_short_ids(block), [each for each, _ in _NOTE_ID.findall(block)]

    async def knowledge(chars: int | None) -> tuple[str, Iterable[object]]:
        ids: list[UUID] = []
        block = await opened.knowledge().context(
            prompt,
            butler or GLOBAL_SCOPE,
            budget_tokens=_tokens(chars),
            style=HOST_STYLE,
            hides=hides,
            told=ids.append,
        )
        return "" if block == CONTEXT_HEADER else block, ids

    async def sessions(chars: int | None) -> tuple[str, Iterable[object]]:
        block = await sessions_block(opened.knowledge(), prompt, butler or GLOBAL_SCOPE, but=but_session)
        return cut_lines(block, min(SESSIONS_CHARS, chars or SESSIONS_CHARS), title=SESSIONS_TITLE), ()

    sources = [
        _Source(name=BriefingPart.OPERATIONAL, write=operational),
        _Source(name=BriefingPart.WORKSPACE, write=workspace),
        _Source(name=BriefingPart.KNOWLEDGE, write=knowledge),
    ]
    if app is not None:
        sources.insert(1, _Source(name=BriefingPart.APPS, write=apps))
    if butler is not None:
        sources.append(_Source(name=BriefingPart.SESSIONS, write=sessions))
    return sources


def _with_past(source: _Source, today: date) -> _Source:
    """Return a source whose text says which of the days that it names are over."""

    async def write(chars: int | None) -> tuple[str, Iterable[object]]:
        text, ids = await source.write(chars)
        return lines_with_past(text, today), ids

    return _Source(name=source.name, write=write)


def _with_code(source: _Source, references: CodeReferences) -> _Source:
    """Return a source whose text says which of the files and commands that it names are gone (FOL-03)."""

    async def write(chars: int | None) -> tuple[str, Iterable[object]]:
        text, ids = await source.write(chars)
        return await asyncio.to_thread(references.checked, text), ids

    return _Source(name=source.name, write=write)


def _at_service(
    service: TeamClient, source: _Source, prompt: str, butler: str | None, but_session: str | None
) -> _Source:
    """Return the source of a section that a service writes; sources of other memories are returned unchanged."""
    if source.name not in OF_KNOWLEDGE:
        return source

    async def write(chars: int | None) -> tuple[str, Iterable[object]]:
        room = budget_chars(DEFAULT_BUDGET_TOKENS) if chars is None else chars + FRAME_CHARS + len(BETWEEN)
        wanted = {
            "prompt": prompt,
            "butler": butler,
            "budgetTokens": -(-room // CHARS_PER_TOKEN),
            "butSession": but_session,
        }
        return (await service.sections([source.name], **wanted)).get(source.name, ""), ()

    return _Source(name=source.name, write=write)


async def _app_block(apps: "AppMemory", app: str, chars: int | None) -> str:
    """Return the block of an app; the oldest memories are left out if the block would be too long."""
    name = (await apps.registry.get(app)).name
    shown = (await apps.context(app)).memories
    for count in range(len(shown), 0, -1):
        text = app_memory.format_memories(name, shown[:count])
        if chars is None or len(text) <= chars:
            return text
    return ""


def with_short_ids(block: str) -> str:
    """Return a block of workspace memory with the ids that all tools and commands print: ``w:2`` for ``m-2``.

    The specification fixes the block itself. Only the first word of a line is an id.
    """
    return _NOTE_ID.sub(r"- (w:\2", block)


async def sessions_block(
    knowledge: KnowledgeMemory, prompt: str, butler: str, *, but: str | None = None
) -> str:
    """Return a butler's latest sessions, or those about a prompt; one line each, newest first.

    A session that was resumed has several episodes; the newest, or the one that fits the prompt best, stands for it.
    ``but`` is the id of a session whose own episodes are left out.
    """
    if prompt.strip():
        mode = SearchMode(knowledge.database.settings.search_mode)
        floor = knowledge.config.retrieval.min_relevance if mode is SearchMode.CONTEXTUAL else 0.0
        found = await knowledge.search(
            prompt.strip()[:MAX_PROMPT_CHARS],
            types=[MemoryType.EPISODE],
            narrowing=Narrowing(scope=butler),
            mode=mode,
            limit=SESSIONS * EPISODES_PER_SESSION,
            min_relevance=floor,
        )
        episodes: Sequence[Episode] = [each.memory for each in found if isinstance(each.memory, Episode)]
    else:
        episodes = await knowledge.lists.episodes(
            narrowing=Narrowing(scope=butler), live=True, limit=SESSIONS * EPISODES_PER_SESSION
        )
    sessions = _one_a_session(episodes, but)[:SESSIONS]
    newest = sorted(sessions, key=lambda episode: (episode.created_at, str(episode.id)), reverse=True)
    zone = knowledge.database.settings.zone
    lines = [
        f"- {episode.created_at:%Y-%m-%d} {_as_said(episode, zone)} "
        f"[{short_id(MemoryType.EPISODE, episode.id)}]"
        for episode in newest
    ]
    return "\n".join([SESSIONS_TITLE, *lines]) if lines else ""


def _as_said(episode: Episode, zone: tzinfo) -> str:
    """Return the beginning of an episode as one line, with the dates of words such as "tomorrow"."""
    line = trim_to(data_line(episode.content), SESSION_CHARS)
    return with_dates(line, episode.created_at.astimezone(zone))


def _one_a_session(episodes: Sequence[Episode], but: str | None) -> list[Episode]:
    """Return the first episode of each session in the order given; an episode without a session stands alone."""
    first: dict[object, Episode] = {}
    for episode in episodes:
        if but is None or str(episode.session_id) != but:
            first.setdefault(episode.session_id or episode.id, episode)
    return list(first.values())


def _tokens(chars: int | None) -> int | None:
    return None if chars is None else chars // CHARS_PER_TOKEN
