"""The briefing under ``/api/v1/briefing``: one block for a prompt, from all four memories."""

from dataclasses import replace
from typing import Annotated, Final
from uuid import UUID

from fastapi import Depends
from pydantic import Field

from commonplace.access import Principal
from commonplace.core.bounds import BudgetTokens
from commonplace.services.briefing import OF_KNOWLEDGE, Briefing, BriefingPart, Section, build_briefing
from commonplace.web.http.access import KnowledgeOfCaller, OpenMemories, of_another_tenant, reader
from commonplace.web.http.problems import FORBIDDEN, REFUSED, TOO_LARGE, ProblemError
from commonplace.web.http.shape import RequestShape, Shape, shows
from commonplace.web.rest.api import Api

MAX_PROMPT_CHARS: Final = 100_000

api = Api("/api/v1", "briefing", REFUSED, TOO_LARGE)


class BriefingRequest(RequestShape):
    """The subject of a session that begins.

    Attributes:
        prompt: the first prompt of the session; may be empty
        app: the app of the conversation in focus
        butler: the butler of the session; null: global memories only
        budget_tokens: the budget of the whole text; null: 2400
        sections: the sections to build; null: all
        but_session: a session whose own episodes are left out
    """

    prompt: str = Field(default="", max_length=MAX_PROMPT_CHARS)
    app: str | None = None
    butler: str | None = None
    budget_tokens: BudgetTokens | None = None
    sections: list[BriefingPart] | None = Field(default=None, max_length=len(BriefingPart))
    but_session: UUID | None = None


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


@api("POST /briefing", reader, "The block")
async def briefing(
    memories: OpenMemories,
    knowledge: KnowledgeOfCaller,
    who: Annotated[Principal, Depends(reader)],
    wanted: BriefingRequest,
) -> Briefing:
    """Build one block for a prompt from all four memories.

    Each memory gets a fair share of the budget. The section of a memory that cannot answer is empty and says why.
    Tokens of other tenants must request only the sections `knowledge` and `sessions`, because the others belong to
    the installation.

    Parameters:
        body: the subject of the session
    """
    if not who.of_installation and not (wanted.sections and OF_KNOWLEDGE.issuperset(wanted.sections)):
        raise ProblemError(FORBIDDEN, of_another_tenant(who))
    return await build_briefing(
        replace(memories, knowledge=knowledge),
        prompt=wanted.prompt,
        app=wanted.app,
        butler=wanted.butler,
        budget_tokens=wanted.budget_tokens,
        sections=wanted.sections,
        but_session=None if wanted.but_session is None else str(wanted.but_session),
    )
