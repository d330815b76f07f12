"""Review page: all items that wait for a person; each is decided with one key."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Annotated, Final, Literal

from fastapi import Depends, Form, Path, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from commonplace.access import Principal
from commonplace.core.errors import CommonplaceError, InvalidInputError, NotFoundError, UndoRefusedError
from commonplace.knowledge import KnowledgeMemory
from commonplace.operational import Memory, OperationalMemory
from commonplace.services import quarantined, waiting
from commonplace.services.opening import Memories
from commonplace.services.quarantined import list_quarantined
from commonplace.services.waiting import Answer, Item, Topic
from commonplace.web.http.access import KnowledgeOfCaller, memories, reader, writer
from commonplace.web.http.limits import LARGEST_ID
from commonplace.web.http.problems import problem_of
from commonplace.web.pages.layout.errors import error_page, pages
from commonplace.web.pages.layout.paging import PAGE_SIZE, Address
from commonplace.web.pages.layout.rendering import link, render, wants_fragment
from commonplace.web.pages.layout.waiting_counts import note_waiting, total_waiting
from commonplace.web.pages.layout.wording import decimal

PATH: Final = "/reviews"
EFFECTS: Final = {
    Answer.SAME: "The two say the same: the pair becomes one memory.",
    Answer.REFINES: "The new memory adds to the old one: both texts stay true.",
    Answer.CORRECTS: "The old memory no longer holds.",
    Answer.DISTINCT: "The two are about different things: both memories stay.",
    Answer.CONFIRM: "The memory is right: its decay starts again.",
    Answer.FORGET: "Searches and prompts no longer show the memory.",
    Answer.RETRY: "The episode is consolidated again.",
}
"""The answers with their effects; the key of an answer is its first letter."""

NAMES: Final = {
    Topic.DOUBT: "Doubtful pair",
    Topic.REPLACED: "Replaced fact",
    Topic.DUPLICATE: "Duplicate",
    Topic.HELD: "Held fact",
    Topic.FLAGGED: "Flagged memory",
    Topic.SUBJECT: "Unclear subject",
    Topic.FADING: "Fading memory",
    Topic.STALE: "Lost source",
    Topic.HARMFUL: "Harmful rule",
    Topic.FAILED: "Failed episode",
}
TITLES: Final = {
    **{topic: f"{name}s" for topic, name in NAMES.items()},
    Topic.FLAGGED: "Flagged memories",
    Topic.FADING: "Fading memories",
}
OUTCOMES: Final = {
    Answer.SAME: "Same. The newer memory replaces the older one.",
    Answer.REFINES: "Refines. Both memories stay.",
    Answer.CORRECTS: "Corrects. The older memory stays replaced.",
    Answer.DISTINCT: "Distinct. Both memories stay.",
    Answer.CONFIRM: "Confirmed. The decay of the memory starts again.",
    Answer.FORGET: "Forgotten.",
    Answer.RETRY: "The episode waits for consolidation again.",
}
OUTCOMES_OF_FLAGGED: Final = {
    Answer.CONFIRM: "Confirmed. Prompts show the memory.",
    Answer.FORGET: "Forgotten. The memory is deleted.",
}

ItemId = Annotated[str, Path(pattern=r"^[0-9a-zA-Z:+-]{1,60}$")]
CHANGING: Final = [Depends(writer)]

router = pages(PATH, reader)


class ReviewsAddress(Address):
    """The filter in the address of the page."""

    topic: Topic | Literal[""] = ""


@router.get("")
async def reviews_page(
    request: Request,
    knowledge: KnowledgeOfCaller,
    wanted: Annotated[ReviewsAddress, Query()],
    who: Annotated[Principal, Depends(reader)],
) -> HTMLResponse:
    """Show the waiting items, kind by kind."""
    items, problem = await everything(request, knowledge, who)
    request.state.waiting_reviews = await total_waiting(request)
    matching = [item for item in items if wanted.topic in ("", item.topic)]
    return render(
        request,
        "reviews/list.html",
        items=matching[:PAGE_SIZE],
        total=len(matching),
        tabs=_tabs(waiting.count_by_topic(items), wanted),
        effects=EFFECTS,
        names=NAMES,
        problem=problem,
    )


@router.get("/count")
async def count(
    request: Request, knowledge: KnowledgeOfCaller, who: Annotated[Principal, Depends(reader)]
) -> HTMLResponse:
    """Return the number of items that wait, for the sidebar."""
    await everything(request, knowledge, who)
    return render(request, "reviews/count.html", waiting=await total_waiting(request))


@router.post("/{item_id}", dependencies=CHANGING)
async def decide(
    request: Request,
    knowledge: KnowledgeOfCaller,
    item_id: ItemId,
    who: Annotated[Principal, Depends(writer)],
    verdict: Annotated[str, Form()] = "",
) -> Response:
    """Decide about an item; HTMX gets the outcome."""
    try:
        answer = _answer_of(verdict)
        if item_id.isdecimal():
            outcome = await _decide_lesson(_opened(request, who).operational, _lesson_id(item_id), answer)
        elif waiting.is_quarantined(item_id):
            outcome = await _decide_flagged(request, who, item_id, answer)
        else:
            await waiting.decide(knowledge, item_id, answer)
            outcome = OUTCOMES[answer]
        if not item_id.isdecimal():
            note_waiting(request, change=-1)
    except (InvalidInputError, NotFoundError) as error:
        return _refused(request, error)
    can_undo = waiting.can_undo(item_id, answer)
    return await _told(request, item_id, outcome, can_undo=can_undo, is_decided=True)


@router.post("/{item_id}/undo", dependencies=CHANGING)
async def undo(
    request: Request,
    knowledge: KnowledgeOfCaller,
    item_id: ItemId,
    who: Annotated[Principal, Depends(writer)],
) -> Response:
    """Undo a decision; HTMX gets the answers again."""
    if item_id.isdecimal():
        await _opened(request, who).operational.reviews.undo(_lesson_id(item_id))
    else:
        try:
            await waiting.undo(knowledge, item_id)
        except (UndoRefusedError, NotFoundError) as error:
            return _refused(request, error, title="The decision stays")
        note_waiting(request, change=1)
    return await _told(request, item_id, "The decision was undone. The item waits again.")


def _refused(request: Request, error: CommonplaceError, *, title: str = "") -> Response:
    problem = problem_of(error, of_page=True)
    problem.title = title or problem.title
    problem.status = HTTPStatus.CONFLICT  # The error is shown beside the buttons, which stay.
    return error_page(request, problem)


async def _told(
    request: Request, item_id: str, outcome: str, *, can_undo: bool = False, is_decided: bool = False
) -> Response:
    if not wants_fragment(request):
        return RedirectResponse(PATH, status_code=303)
    return render(
        request,
        "reviews/one.html",
        item_id=item_id,
        answers=waiting.answers_of(item_id),
        outcome=outcome,
        can_undo=can_undo,
        is_decided=is_decided,
        effects=EFFECTS,
        waiting=await total_waiting(request),
    )


async def everything(request: Request, knowledge: KnowledgeMemory, who: Principal) -> tuple[list[Item], str]:
    """Return the items that the caller may decide about, and why knowledge memory is missing, if it is."""
    lessons: list[Item] = []
    flagged: list[Item] = []
    if who.of_installation:
        opened = memories(request)
        lessons = await waiting.list_lessons(opened.operational)
        flagged = [waiting.flagged_item(one) for one in (await list_quarantined(opened))[: waiting.MOST]]
    try:
        known = await waiting.list_knowledge(knowledge)
    except CommonplaceError as error:
        return [*lessons, *flagged], str(error)
    note_waiting(request, number=len(flagged) + len(known))
    return [*lessons, *flagged, *known], ""


def _answer_of(verdict: str) -> Answer:
    """Return the answer of a form.

    Raises:
        InvalidInputError: The answer is unknown.
    """
    if verdict not in set(Answer):
        raise InvalidInputError("verdict", f"one of {', '.join(Answer)}", verdict)
    return Answer(verdict)


def _opened(request: Request, who: Principal) -> Memories:
    """Return the memories of the installation for a caller of the installation.

    Raises:
        InvalidInputError: The caller belongs to another tenant.
    """
    if not who.of_installation:
        raise InvalidInputError("item", "an item of knowledge memory", "an item of the installation")
    return memories(request)


async def _decide_flagged(request: Request, who: Principal, item_id: str, answer: Answer) -> str:
    """Confirm or delete a memory in quarantine; return the outcome."""
    if answer not in waiting.ONE:
        raise InvalidInputError("verdict", f"one of {', '.join(waiting.ONE)}", answer)
    await quarantined.decide(_opened(request, who), item_id, confirm=answer is Answer.CONFIRM)
    return OUTCOMES_OF_FLAGGED[answer]


def _lesson_id(item_id: str) -> int:
    """Return the id of a pair of observations; larger ids than the database can store do not exist."""
    return min(int(item_id), LARGEST_ID)


async def _decide_lesson(operational: OperationalMemory, review_id: int, answer: Answer) -> str:
    """Decide about a pair of observations; return the effects in sentences."""
    found = await operational.reviews.get(review_id)
    before = await operational.get(found.old_id), await operational.get(found.new_id)
    await operational.reviews.decide(review_id, answer)
    after = await operational.get(found.old_id), await operational.get(found.new_id)
    effects = (effect_on(*states) for states in zip(before, after, strict=True))
    return " ".join((f"{answer.capitalize()}.", *effects))


def effect_on(before: Memory, after: Memory) -> str:
    """Return the effect of a decision on a memory, as a sentence."""
    effects: list[str] = []
    if after.observation != before.observation:
        effects.append("has a new text")
    if after.confidence != before.confidence:
        verb = "rose" if after.confidence > before.confidence else "fell"
        effects.append(f"{verb} from {decimal(before.confidence)} to {decimal(after.confidence)}")
    if before.active and not after.active:
        effects.append("is inactive now")
    return f"Memory {after.id} {' and '.join(effects) or 'stays as it is'}."


def _tabs(counts: dict[Topic, int], wanted: ReviewsAddress) -> Sequence[tuple[str, int, str, bool]]:
    return [
        ("All", sum(counts.values()), PATH, not wanted.topic),
        *((TITLES[each], n, link(PATH, topic=each), each == wanted.topic) for each, n in counts.items()),
    ]
