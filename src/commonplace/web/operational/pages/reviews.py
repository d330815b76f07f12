"""Review page: pairs of memories whose verdict is in doubt, decided with one key each."""

from http import HTTPStatus
from typing import Annotated, Final

from fastapi import Depends, Form, Path, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from commonplace.core.errors import InvalidInputError
from commonplace.operational import Decision, Memory, OperationalMemory, Review
from commonplace.web.access import OpenMemories, installation_reader, installation_writer
from commonplace.web.dashboard.errors import error_page, pages
from commonplace.web.dashboard.paging import PAGE_SIZE, Filters, counted_pager
from commonplace.web.dashboard.rendering import render, wants_fragment
from commonplace.web.dashboard.wording import decimal
from commonplace.web.limits import LARGEST_ID
from commonplace.web.problems import problem_of

PATH: Final = "/reviews"
ANSWERS: Final = (
    (Decision.SAME, "The old memory is reinforced, the new memory becomes inactive."),
    (Decision.REFINES, "The old memory is reinforced and takes the new text in."),
    (Decision.CORRECTS, "The old memory loses confidence, the new memory stays."),
    (Decision.DISTINCT, "Both memories stay as they are."),
)
"""The answers with their effects; the first letter of an answer is its key."""

ReviewId = Annotated[int, Path(ge=1, le=LARGEST_ID)]
CHANGING: Final = [Depends(installation_writer)]

router = pages(PATH, installation_reader)


@router.get("")
async def reviews_page(
    request: Request, memories: OpenMemories, wanted: Annotated[Filters, Query()]
) -> HTMLResponse:
    """Show the pairs that wait, oldest first."""
    operational = memories.operational
    waiting = await operational.count_reviews()
    pager = counted_pager(PATH, {}, offset=wanted.offset, total=waiting)
    return render(
        request,
        "reviews/list.html",
        reviews=await operational.reviews(limit=PAGE_SIZE, offset=pager.offset),
        pager=pager,
        answers=ANSWERS,
    )


@router.post("/{review_id:int}", dependencies=CHANGING)
async def decide(
    request: Request, memories: OpenMemories, review_id: ReviewId, verdict: Annotated[str, Form()] = ""
) -> Response:
    """Decide a pair; HTMX gets the pair with its outcome."""
    operational = memories.operational
    before = await _pair(operational, await operational.get_review(review_id))
    try:
        review = await operational.decide(review_id, verdict)
    except InvalidInputError as error:
        refused = problem_of(error)
        refused.status = HTTPStatus.CONFLICT  # shown beside the answers, which stay
        return error_page(request, refused)
    after = await _pair(operational, review)
    effects = (effect_on(*states) for states in zip(before, after, strict=True))
    return await _answer(request, operational, review, " ".join((f"{verdict.capitalize()}.", *effects)))


@router.post("/{review_id:int}/undo", dependencies=CHANGING)
async def undo(request: Request, memories: OpenMemories, review_id: ReviewId) -> Response:
    """Take a decision back; HTMX gets the pair, which waits again."""
    review = await memories.operational.undo_decision(review_id)
    notice = "The decision was taken back. The pair waits again."
    return await _answer(request, memories.operational, review, notice)


async def _answer(request: Request, operational: OperationalMemory, review: Review, notice: str) -> Response:
    if not wants_fragment(request):
        return RedirectResponse(PATH, status_code=303)
    return render(
        request,
        "reviews/one.html",
        review=review,
        outcome=notice,
        answers=ANSWERS,
        waiting=await operational.count_reviews(),
    )


async def _pair(operational: OperationalMemory, review: Review) -> tuple[Memory, Memory]:
    return await operational.get(review.old_id), await operational.get(review.new_id)


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
