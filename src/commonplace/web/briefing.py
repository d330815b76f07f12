"""The briefing under ``/api/v1/briefing``: one block for a prompt from all four memories."""

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
    """What a session that begins is about."""

    prompt: str = Field(
        default="", max_length=MAX_PROMPT_CHARS, description="empty where that is not known yet"
    )
    app: str | None = Field(default=None, description="the app whose conversation is in focus")
    butler: str | None = Field(default=None, description="whose session; null: what is known to all")
    budget_tokens: int | None = Field(
        default=None, ge=0, le=MAX_BUDGET_TOKENS, description="for the whole text; null: 2400"
    )


class SectionShape(Shape):
    """What one memory said."""

    name: str = Field(description="which memory")
    text: str = Field(description="empty where it has nothing to say, no room, or a problem")
    problem: str | None = Field(description="why it could not be asked")


class BriefingShape(Shape):
    """The block, and what is in it."""

    text: str = Field(description="for a prompt; empty where no memory has anything to say")
    sections: list[SectionShape]
    tokens: int = Field(description="estimated size of the text")
    budget_tokens: int


@router.post(
    "/briefing",
    operation_id="briefing",
    dependencies=[Depends(installation_reader)],
    response_description="The block",
    summary="One block for a prompt from all four memories",
)
async def briefing(
    memories: OpenMemories,
    knowledge: KnowledgeOfCaller,
    wanted: Annotated[WantedBriefing, Body(description="what the session is about")],
) -> BriefingShape:
    """Each memory gets a fair share of the budget. One that cannot answer leaves its section out, and says why."""
    built = await build_briefing(
        replace(memories, knowledge=knowledge),
        prompt=wanted.prompt,
        app=wanted.app,
        butler=wanted.butler,
        budget_tokens=wanted.budget_tokens,
    )
    return BriefingShape.model_validate(built)
