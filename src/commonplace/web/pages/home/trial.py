"""Trial of a prompt: its briefing, with the reason for each line, and the best memories that were left out."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final

from fastapi import Query, Request
from fastapi.responses import HTMLResponse
from pydantic import Field

from commonplace.core.bounds import MAX_BUDGET_TOKENS, BudgetTokens
from commonplace.knowledge import (
    GLOBAL_SCOPE,
    PINNED,
    Episode,
    Fact,
    KnowledgeMemory,
    Memory,
    Narrowing,
    ScoreWeights,
    SearchResult,
)
from commonplace.operational import GENERAL, MemoryFilter
from commonplace.projects import Projects
from commonplace.prompts.injected import as_data
from commonplace.services.briefing import DEFAULT_BUDGET_TOKENS, Briefing, BriefingPart, build_briefing
from commonplace.services.memory_ids import MemoryKind
from commonplace.services.opening import Memories
from commonplace.services.sample import MARK, is_loaded
from commonplace.web.http.access import KnowledgeOfCaller, OpenMemories, installation_reader
from commonplace.web.pages.knowledge.listing import Name
from commonplace.web.pages.layout.errors import pages
from commonplace.web.pages.layout.paging import Address
from commonplace.web.pages.layout.rendering import link, render
from commonplace.web.pages.layout.wording import decimal

PATH: Final = "/briefing"
MAX_PROMPT_CHARS: Final = 4_000
MOST_LINES: Final = 40
MOST_MISSED: Final = 8
BUDGET: Final = "It does not fit into the token budget."
FLOOR: Final = "Its match with the prompt is too weak:"

WEIGHTS: Final = tuple(ScoreWeights.model_fields)
"""The parts of the score of facts and rules."""

Weight = Annotated[float | None, Field(ge=0.0, le=1.0)]

router = pages(PATH, installation_reader)


class TrialAddress(Address):
    """The form values in the address of the page; a service narrows the listed lessons."""

    prompt: Annotated[str, Field(max_length=MAX_PROMPT_CHARS)] = ""
    project: Name = ""
    app: Name = ""
    service: Name = ""
    budget: BudgetTokens = DEFAULT_BUDGET_TOKENS
    relevance: Weight = None
    importance: Weight = None
    recency: Weight = None
    confidence: Weight = None

    @property
    def weights(self) -> dict[str, float]:
        """The weights that differ from the configured weights."""
        return {name: value for name in WEIGHTS if (value := getattr(self, name)) is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialLine:
    """A memory in the briefing, or one of the best memories that were left out.

    Attributes:
        text: The text.
        about: Its project, scope or service.
        kind: Its kind.
        key: Its full id.
        why: The reason why the briefing includes it or leaves it out.
        is_told: Whether the briefing includes it.
        is_pinned: Whether it is in every block of its scope.
        said_by: The agent who stored it, or the session that taught it; empty if unknown.
        source_url: The page of its source; empty if unknown.
    """

    text: str
    about: str
    kind: MemoryKind
    key: str
    why: str
    is_told: bool
    is_pinned: bool = False
    said_by: str = ""
    source_url: str = ""


@router.get("")
async def trial(
    request: Request,
    memories: OpenMemories,
    knowledge: KnowledgeOfCaller,
    wanted: Annotated[TrialAddress, Query()],
) -> HTMLResponse:
    """Show the briefing for a prompt, without counting a use."""
    weights = knowledge.config.retrieval.score_weights.model_copy(update=wanted.weights)
    retrieval = knowledge.config.retrieval.model_copy(update={"score_weights": weights})
    knowledge = knowledge.acting_for(
        tenant_id=knowledge.tenant_id,
        actor=knowledge.actor,
        config=knowledge.config.model_copy(update={"retrieval": retrieval}),
    )
    mine = replace(memories, knowledge=knowledge)
    projects = await _projects(mine)
    titles = {each: name for each, name in projects if each != GLOBAL_SCOPE}
    wanted.project = wanted.project or projects[0][0]
    butler = wanted.project
    briefing = await build_briefing(
        mine,
        prompt=wanted.prompt,
        app=wanted.app or None,
        butler=butler,
        budget_tokens=wanted.budget,
    )
    lines = [
        *(
            replace(line, about=titles.get(line.about, line.about))
            for line in await _of_knowledge(knowledge, briefing, wanted.prompt, butler)
        ),
        *await _of_operations(mine, briefing, wanted.service),
        *(await _of_apps(mine, briefing, wanted.app) if wanted.app else ()),
        *await _of_workspace(mine, briefing, wanted.prompt),
    ]
    return render(
        request,
        "briefing.html",
        wanted=wanted,
        most_tokens=MAX_BUDGET_TOKENS,
        is_cut=any(BUDGET in line.why for line in lines),
        url=link(PATH, **wanted.model_dump()),
        briefing=briefing,
        problems=[section for section in briefing.sections if section.problem],
        included=[line for line in lines if line.is_told],
        left_out=[line for line in lines if not line.is_told],
        projects=projects,
        weights=weights.model_dump(),
        services=[
            ("", "All"),
            *(
                (each.service, each.service)
                for each in await mine.operational.figures.services()
                if each.service
            ),
        ],
        apps=[
            ("", "None"),
            *((each.app.app_id, each.app.name) for each in await mine.apps.registry.list()),
        ],
    )


async def _projects(memories: Memories) -> list[tuple[str, str]]:
    """Return the projects, most recently seen first, the sample if it is loaded, and the global scope."""
    known = Projects(memories.knowledge.database.settings.home).list_projects()
    return [
        *((each.id, each.name) for each in known if not each.merged_into),
        *([(MARK, "Sample memories")] if await is_loaded(memories) else []),
        (GLOBAL_SCOPE, "All projects (global)"),
    ]


def _told(briefing: Briefing, part: BriefingPart) -> Collection[str]:
    """Return the ids of the memories in a section."""
    return {one for section in briefing.sections if section.name is part for one in section.memory_ids}


async def _of_knowledge(
    knowledge: KnowledgeMemory, briefing: Briefing, prompt: str, butler: str
) -> Sequence[TrialLine]:
    """Return the facts and rules in the briefing, then the best that were left out."""
    told = _told(briefing, BriefingPart.KNOWLEDGE)
    floor = knowledge.config.retrieval.min_relevance if prompt else 0.0
    options: dict[str, Any] = {
        "narrowing": Narrowing(scope=butler),
        "limit": MOST_LINES,
        "explain": True,
        "count": False,
    }
    above = await knowledge.recall(prompt, **options)
    passed = {one.memory.id for one in above}
    below = await knowledge.recall(prompt, min_relevance=0.0, **options) if floor else []
    recalled = passed | {one.memory.id for one in below}
    lines = [
        *(
            _line(one, "It is pinned.", is_told=True)
            for one in await _pinned(knowledge)
            if str(one.id) in told and one.id not in recalled
        ),
        *(_recalled(one, told, floor, BUDGET) for one in above),
        *(_recalled(one, told, floor, FLOOR) for one in below if one.memory.id not in passed),
    ]
    missed = [line for line in lines if not line.is_told]
    return [*(line for line in lines if line.is_told), *missed[:MOST_MISSED]]


async def _pinned(knowledge: KnowledgeMemory) -> Sequence[Memory]:
    pinned = Narrowing(tags=[PINNED])
    return [
        *await knowledge.lists.facts(validity="active", narrowing=pinned),
        *await knowledge.lists.rules(forgotten=False, narrowing=pinned),
    ]


def _recalled(found: SearchResult, told: Collection[str], floor: float, obstacle: str) -> TrialLine:
    """Return a recalled memory as a line."""
    memory, likeness = found.memory, found.scores.likeness or 0.0
    is_told = str(memory.id) in told
    is_pinned = PINNED in getattr(memory, "tags", ())
    match = "" if obstacle is FLOOR and not is_told else "Its match with the prompt is "
    reasons = [
        "It is pinned." if is_told and is_pinned else "" if is_told else obstacle,
        f"{match}{likeness:.2f}; the minimum is {floor:.2f}." if floor else "",
        f"Its score is {_parts_of_score(found)}." if is_told or likeness >= floor else "",
    ]
    return _line(memory, " ".join(filter(None, reasons)), is_told=is_told)


def _line(memory: Memory, why: str, *, is_told: bool) -> TrialLine:
    about = f"{memory.subject} {memory.predicate}: " if isinstance(memory, Fact) else ""
    return TrialLine(
        text=f"{about}{memory.content}",
        about=getattr(memory, "scope", ""),
        kind=MemoryKind(memory.memory_type),
        key=str(memory.id),
        why=why,
        is_told=is_told,
        is_pinned=PINNED in getattr(memory, "tags", ()),
        said_by=_said_by(memory),
        source_url=_source_url(memory),
    )


def _said_by(memory: Memory) -> str:
    name = memory.butler if isinstance(memory, Episode) else memory.source_butler
    return f"Stored by {name}." if name else ""


def _source_url(memory: Memory) -> str:
    episode = None if isinstance(memory, Episode) else memory.source_episode_id
    return f"/knowledge/episodes/{episode}" if episode else ""


def _parts_of_score(found: SearchResult) -> str:
    """Return the composite score with the contribution of each part."""
    components = found.explanation.components if found.explanation else None
    parts = ", ".join(
        "never used before" if name == "recency" and not part.value else f"{name} {part.contribution:.2f}"
        for name, part in (components or {}).items()
    )
    return f"{found.scores.composite_score or 0.0:.2f}: {parts}"


async def _of_operations(memories: Memories, briefing: Briefing, service: str) -> Sequence[TrialLine]:
    """Return the most trusted observations, or those of one service; the block takes them until the budget is spent."""
    told = _told(briefing, BriefingPart.OPERATIONAL)
    found = await memories.operational.list_memories(
        MemoryFilter(
            service=service or None,
            active=True,
            sort="confidence",
            limit=max(MOST_LINES, len(told) + MOST_MISSED),
        )
    )
    lines = [
        TrialLine(
            text=one.observation,
            about=one.service or GENERAL,
            kind=MemoryKind.LESSON,
            key=str(one.id),
            why=f"Its confidence is {decimal(one.confidence)}; the most trusted lessons come first.",
            is_told=str(one.id) in told,
            said_by="" if one.session_id is None else f"Learned in session {one.session_id}.",
            source_url="" if one.session_id is None else f"/sessions/{one.session_id}?memory={one.id}#told",
        )
        for one in found
    ]
    return _cut(lines)


async def _of_apps(memories: Memories, briefing: Briefing, app_id: str) -> Sequence[TrialLine]:
    """Return the digests of the app in focus."""
    text = "".join(section.text for section in briefing.sections if section.name is BriefingPart.APPS)
    return _cut(
        [
            TrialLine(
                text=one.content,
                about=one.app_id,
                kind=MemoryKind.DIGEST,
                key=str(one.id),
                why="The app is in focus; the block has its digests until the budget is spent.",
                is_told=as_data(one.content) in text,
            )
            for one in await memories.apps.list_memories(app_id)
        ]
    )


async def _of_workspace(memories: Memories, briefing: Briefing, prompt: str) -> Sequence[TrialLine]:
    """Return the notes that share a word with the prompt."""
    told = _told(briefing, BriefingPart.WORKSPACE)
    lines = [
        TrialLine(
            text=one.memory.text,
            about=", ".join(one.memory.tags),
            kind=MemoryKind.NOTE,
            key=one.memory.id,
            why=f"Words shared with the prompt: {', '.join(sorted(one.words))}. Its score is {one.score:.2f}.",
            is_told=one.memory.id in told,
        )
        for one in await memories.workspace.explain(prompt)
    ]
    return _cut(lines[:MOST_LINES])


def _cut(lines: Sequence[TrialLine]) -> list[TrialLine]:
    """Return all lines in the briefing, then the best that the budget left out."""
    missed = [replace(line, why=f"{BUDGET} {line.why}") for line in lines if not line.is_told]
    return [*(line for line in lines if line.is_told), *missed[:MOST_MISSED]]
