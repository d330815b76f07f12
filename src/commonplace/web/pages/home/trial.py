"""Trial of a prompt: its briefing, with the reason for each line, and the best memories that were left out."""

from collections.abc import Collection
from dataclasses import replace
from typing import Annotated, Final
from uuid import UUID

from fastapi import Query, Request
from fastapi.responses import HTMLResponse
from pydantic import Field

from commonplace.core.bounds import MAX_BUDGET_TOKENS, BudgetTokens
from commonplace.knowledge import GLOBAL_SCOPE, ScoreWeights
from commonplace.operational import MemoryFilter
from commonplace.projects import Projects
from commonplace.services.briefing import DEFAULT_BUDGET_TOKENS, build_briefing
from commonplace.services.catalog.briefing_reasons import BriefingReasons, MemoryReason, lesson_reason
from commonplace.services.catalog.entries import CatalogEntry
from commonplace.services.catalog.lessons import lesson_entry
from commonplace.services.memory_ids import MemoryId, MemoryKind
from commonplace.services.opening import Memories, OpenedMemories
from commonplace.services.sample import MARK, is_loaded
from commonplace.web.http.access import CatalogOfCaller, KnowledgeOfCaller, OpenMemories, installation_reader
from commonplace.web.pages.knowledge.listing import Name
from commonplace.web.pages.layout.errors import pages
from commonplace.web.pages.layout.paging import Address
from commonplace.web.pages.layout.rendering import link, render

PATH: Final = "/briefing"
MAX_PROMPT_CHARS: Final = 4_000
MOST_LINES: Final = 40
MOST_MISSED: Final = 8
BUDGET: Final = "It does not fit into the token budget."

WEIGHTS: Final = tuple(name for name in ScoreWeights.model_fields if name != "recency")
"""The parts of the score that rank the facts and rules of a briefing."""

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
    confidence: Weight = None

    @property
    def weights(self) -> dict[str, float]:
        """The weights that differ from the configured weights."""
        return {name: value for name in WEIGHTS if (value := getattr(self, name)) is not None}


@router.get("")
async def trial(
    request: Request,
    memories: OpenMemories,
    knowledge: KnowledgeOfCaller,
    catalog: CatalogOfCaller,
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
    wanted.project = wanted.project or projects[0][0]
    briefing = await build_briefing(
        mine,
        prompt=wanted.prompt,
        app=wanted.app or None,
        butler=wanted.project,
        budget_tokens=wanted.budget,
    )
    reasons = BriefingReasons(
        opened=OpenedMemories.of(mine),
        catalog=catalog,
        prompt=wanted.prompt,
        app=wanted.app,
        butler=wanted.project,
    )
    included = await reasons.included(briefing)
    left_out = await _left_out(mine, reasons, wanted.service, {each.entry.memory_id for each in included})
    services = [each.service for each in await mine.operational.figures.services() if each.service]
    return render(
        request,
        "briefing.html",
        wanted=wanted,
        most_tokens=MAX_BUDGET_TOKENS,
        is_cut=any(BUDGET in each.why for each in left_out),
        url=link(PATH, **wanted.model_dump()),
        briefing=briefing,
        problems=[section for section in briefing.sections if section.problem],
        included=[each for each in included if _is_of(each, wanted.service)],
        left_out=left_out,
        source_of=_source_of,
        projects=projects,
        titles={each: name for each, name in projects if each != GLOBAL_SCOPE},
        weights=weights.model_dump(include=set(WEIGHTS)),
        services=[("", "Any"), *((name, name) for name in services)],
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


def _is_of(reason: MemoryReason, service: str) -> bool:
    """Return whether the page lists a memory; a service leaves out the lessons of other services."""
    return not service or reason.entry.kind is not MemoryKind.LESSON or reason.entry.about == service


def _source_of(entry: CatalogEntry) -> tuple[str, str]:
    """Return who stored a memory, and the page of its source; both may be empty."""
    if session := entry.fields.get("session_id") if entry.kind is MemoryKind.LESSON else None:
        url = f"/sessions/{session}?memory={entry.memory_id.key}#told"
        return f"Learned in session {session}.", url
    name, episode = entry.fields.get("source_butler"), entry.fields.get("source_episode_id")
    return f"Stored by {name}." if name else "", f"/knowledge/episodes/{episode}" if episode else ""


async def _left_out(
    memories: Memories, reasons: BriefingReasons, service: str, included: Collection[MemoryId]
) -> list[MemoryReason]:
    """Return the best memories of each kind that the briefing leaves out, and what they lack."""
    recalled = await reasons.recalled()
    lessons = await memories.operational.list_memories(
        MemoryFilter(
            service=service or None, active=True, sort="confidence", limit=len(included) + MOST_MISSED
        )
    )
    notes = await reasons.notes()
    of_each_kind = [
        [reasons.of_result(each) for each in recalled],
        [lesson_reason(lesson_entry(each)) for each in lessons],
        await reasons.digests() if reasons.app else [],
        [
            MemoryReason(entry=await reasons.catalog.show(key), why=why)
            for key, why in list(notes.items())[: len(included) + MOST_MISSED]
        ],
    ]
    without_room = [
        replace(each, why=f"{BUDGET} {each.why}")
        for kind in of_each_kind
        for each in [each for each in kind if each.entry.memory_id not in included][:MOST_MISSED]
    ]
    too_weak = await _too_weak(reasons, {each.memory.id for each in recalled})
    return [*without_room, *(each for each in too_weak if each.entry.memory_id not in included)][:MOST_LINES]


async def _too_weak(reasons: BriefingReasons, recalled: Collection[UUID]) -> list[MemoryReason]:
    """Return the facts and rules whose match with the prompt is below the minimum."""
    minimum = reasons.opened.knowledge().config.retrieval.min_relevance
    if not (reasons.prompt and minimum):
        return []
    results = [each for each in await reasons.recalled(0.0) if each.memory.id not in recalled][:MOST_MISSED]
    return [
        replace(
            reasons.of_result(each),
            why=f"Its match with the prompt is too weak: {each.scores.likeness or 0.0:.2f}; the minimum is "
            f"{minimum:.2f}.",
        )
        for each in results
    ]
