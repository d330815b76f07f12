"""The briefing under ``/api/v1/briefing``: one block for a prompt, from all four memories."""

from dataclasses import replace
from typing import Annotated, Final

from fastapi import APIRouter, Body, Depends
from pydantic import Field

from commonplace.briefing import build_briefing
from commonplace.web.access import KnowledgeOfCaller, OpenMemories, installation_reader
from commonplace.web.limits import MAX_BUDGET_TOKENS
from commonplace.web.problems import INVALID_INPUT, REFUSED, TOO_LARGE, may_answer
from commonplace.web.shape import Shape, Wanted

MAX_PROMPT_CHARS: Final = 100_000

router = APIRouter(
    prefix="/api/v1", tags=["briefing"], responses=may_answer(REFUSED, INVALID_INPUT, TOO_LARGE)
)


class WantedBriefing(Wanted):
    """The subject of a session that begins."""

    prompt: str = Field(
        default="", max_length=MAX_PROMPT_CHARS, description="the first prompt of the session; may be empty"
    )
    app: str | None = Field(default=None, description="the app of the conversation in focus")
    butler: str | None = Field(
        default=None, description="the butler of the session; null: global memories only"
    )
    budget_tokens: int | None = Field(
        default=None, ge=0, le=MAX_BUDGET_TOKENS, description="the budget of the whole text; null: 2400"
    )


class SectionShape(Shape):
    """The section of one memory."""

    name: str = Field(description="the name of the memory")
    text: str = Field(description="empty if the memory has nothing to show, no room, or a problem")
    problem: str | None = Field(description="the reason if the memory could not be read")


class BriefingShape(Shape):
    """The block and its sections."""

    text: str = Field(description="the text for a prompt; empty if no memory has anything to show")
    sections: list[SectionShape]
    tokens: int = Field(description="the estimated size of the text")
    budget_tokens: int


@router.post(
    "/briefing",
    operation_id="briefing",
    dependencies=[Depends(installation_reader)],
    response_description="The block",
    summary="Build one block for a prompt from all four memories",
)
async def briefing(
    memories: OpenMemories,
    knowledge: KnowledgeOfCaller,
    wanted: Annotated[WantedBriefing, Body(description="the subject of the session")],
) -> BriefingShape:
    """Give each memory a fair share of the budget. The section of a memory that cannot answer is empty and says why."""
    built = await build_briefing(
        replace(memories, knowledge=knowledge),
        prompt=wanted.prompt,
        app=wanted.app,
        butler=wanted.butler,
        budget_tokens=wanted.budget_tokens,
    )
    return BriefingShape.model_validate(built)
