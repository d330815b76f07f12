"""The briefing under ``/api/v1/briefing``: one block for a prompt, from all four memories."""

from dataclasses import replace
from typing import Final

from pydantic import Field

from commonplace.briefing import Briefing, Section, build_briefing
from commonplace.web.access import KnowledgeOfCaller, OpenMemories, installation_reader
from commonplace.web.api import Api
from commonplace.web.limits import MAX_BUDGET_TOKENS
from commonplace.web.problems import REFUSED, TOO_LARGE
from commonplace.web.shape import Shape, Wanted, shows

MAX_PROMPT_CHARS: Final = 100_000

api = Api("/api/v1", "briefing", REFUSED, TOO_LARGE)


class WantedBriefing(Wanted):
    """The subject of a session that begins.

    Attributes:
        prompt: the first prompt of the session; may be empty
        app: the app of the conversation in focus
        butler: the butler of the session; null: global memories only
        budget_tokens: the budget of the whole text; null: 2400
    """

    prompt: str = Field(default="", max_length=MAX_PROMPT_CHARS)
    app: str | None = None
    butler: str | None = None
    budget_tokens: int | None = Field(default=None, ge=0, le=MAX_BUDGET_TOKENS)


@shows(Section, without={"memory_ids"})
class SectionShape(Shape):
    """The section of one memory.

    Attributes:
        name: the name of the memory
        text: empty if the memory has nothing to show, no room, or a problem
        problem: the reason if the memory could not be read
    """


@shows(Briefing)
class BriefingShape(Shape):
    """The block and its sections.

    Attributes:
        text: the text for a prompt; empty if no memory has anything to show
        tokens: the estimated size of the text
    """

    sections: list[SectionShape]


@api("POST /briefing", installation_reader, "The block")
async def briefing(memories: OpenMemories, knowledge: KnowledgeOfCaller, wanted: WantedBriefing) -> Briefing:
    """Build one block for a prompt from all four memories.

    Give each memory a fair share of the budget. The section of a memory that cannot answer is empty and says why.

    Parameters:
        body: the subject of the session
    """
    return await build_briefing(
        replace(memories, knowledge=knowledge),
        prompt=wanted.prompt,
        app=wanted.app,
        butler=wanted.butler,
        budget_tokens=wanted.budget_tokens,
    )
