"""Review page: all items that wait for a person; each is decided with one key."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Annotated, Final, Literal

from fastapi import Depends, Form, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from commonplace.core.errors import (
    CommonplaceError,
    ConflictError,
    InvalidInputError,
    NotFoundError,
)
from commonplace.services.review.ids import ItemId, ItemKind
from commonplace.services.review.items import (
    DecisionReceipt,
    MemoryChange,
    ReviewVerdict,
    Topic,
    count_by_topic,
)
from commonplace.web.http.access import ReviewsOfCaller, reader, writer
from commonplace.web.http.problems import problem_of
from commonplace.web.pages.layout.errors import error_page, pages
from commonplace.web.pages.layout.paging import PAGE_SIZE, Address
from commonplace.web.pages.layout.rendering import link, render, wants_fragment
from commonplace.web.pages.layout.waiting_counts import list_waiting, note_waiting, total_waiting
from commonplace.web.pages.layout.wording import decimal

PATH: Final = "/reviews"
EFFECTS: Final = {
    ReviewVerdict.SAME: "The two say the same: the pair becomes one memory.",
    ReviewVerdict.REFINES: "The new memory adds to the old one: both texts stay true.",
    ReviewVerdict.CORRECTS: "The old memory no longer holds.",
    ReviewVerdict.DISTINCT: "The two are about different things: both memories stay.",
    ReviewVerdict.CONFIRM: "The memory is right: its decay starts again.",
    ReviewVerdict.FORGET: "Searches and prompts no longer show the memory.",
    ReviewVerdict.RETRY: "The episode is consolidated again.",
}
"""The verdicts with their effects; the key of a verdict is its first letter."""

NAMES: Final = {
    Topic.DOUBT: "Doubtful pair",
    Topic.REPLACED: "Replaced fact",
    Topic.DUPLICATE: "Duplicate",
    Topic.HELD: "Held fact",
    Topic.FLAGGED: "Flagged memory",
    Topic.SUBJECT: "Unclear subject",
    Topic.FADING: "Fading memory",
    Topic.STALE: "Lost source",
    Topic.DELETED: "Deleted note",
    Topic.HARMFUL: "Harmful rule",
    Topic.FAILED: "Failed episode",
}
TITLES: Final = {
    **{topic: f"{name}s" for topic, name in NAMES.items()},
    Topic.FLAGGED: "Flagged memories",
    Topic.FADING: "Fading memories",
}
OUTCOMES: Final = {
    ReviewVerdict.SAME: "Same. The newer memory replaces the older one.",
    ReviewVerdict.REFINES: "Refines. Both memories stay.",
    ReviewVerdict.CORRECTS: "Corrects. The older memory stays replaced.",
    ReviewVerdict.DISTINCT: "Distinct. Both memories stay.",
    ReviewVerdict.CONFIRM: "Confirmed. The decay of the memory starts again.",
    ReviewVerdict.FORGET: "Forgotten.",
    ReviewVerdict.RETRY: "The episode waits for consolidation again.",
}
OUTCOMES_OF_OPPOSED: Final = OUTCOMES | {
    ReviewVerdict.SAME: "Same. One of the two memories stays.",
    ReviewVerdict.CORRECTS: "Corrects. Searches and prompts no longer show the older memory.",
}
OUTCOMES_OF_FLAGGED: Final = {
    ReviewVerdict.CONFIRM: "Confirmed. Prompts show the memory.",
    ReviewVerdict.FORGET: "Forgotten. The memory is deleted.",
}

CHANGING: Final = [Depends(writer)]

router = pages(PATH, reader)


class ReviewsAddress(Address):
    """The filter in the address of the page."""

    topic: Topic | Literal[""] = ""


@router.get("")
async def reviews_page(request: Request, wanted: Annotated[ReviewsAddress, Query()]) -> HTMLResponse:
    """Show the waiting items, kind by kind."""
    listing = await list_waiting(request)
    request.state.waiting_reviews = await total_waiting(request)
    matching = listing.of_topic(wanted.topic or None)
    return render(
        request,
        "reviews/list.html",
        items=matching[:PAGE_SIZE],
        total=len(matching),
        tabs=_tabs(count_by_topic(listing.items), wanted),
        effects=EFFECTS,
        names=NAMES,
        problem="" if listing.problem is None else str(listing.problem),
    )


@router.get("/count")
async def count(request: Request) -> HTMLResponse:
    """Return the number of items that wait, for the sidebar."""
    await list_waiting(request)
    return render(request, "reviews/count.html", waiting=await total_waiting(request))


@router.post("/{item_id}", dependencies=CHANGING)
async def decide(
    request: Request, queue: ReviewsOfCaller, item_id: str, verdict: Annotated[str, Form()] = ""
) -> Response:
    """Decide about an item; HTMX gets the outcome."""
    try:
        receipt = await queue.decide(item_id, verdict)
    except (InvalidInputError, NotFoundError) as error:
        return _refused(request, error)
    return await _answered(request, receipt, outcome_of(receipt))


@router.post("/{item_id}/undo", dependencies=CHANGING)
async def undo(request: Request, queue: ReviewsOfCaller, item_id: str) -> Response:
    """Undo a decision; HTMX gets the verdicts again."""
    try:
        receipt = await queue.undo(item_id)
    except (ConflictError, NotFoundError) as error:
        return _refused(request, error, title="The decision stays")
    return await _answered(request, receipt, "The decision was undone. The item waits again.")


def _refused(request: Request, error: CommonplaceError, *, title: str = "") -> Response:
    problem = problem_of(error, of_page=True)
    problem.title = title or problem.title
    problem.status = HTTPStatus.CONFLICT  # The error is shown beside the buttons, which stay.
    return error_page(request, problem)


async def _answered(request: Request, receipt: DecisionReceipt, outcome: str) -> Response:
    """Return the outcome of a decision, or of undoing one, and count the items that wait."""
    key = ItemId.parse(receipt.id)
    if key.kind is not ItemKind.OBSERVATIONS:
        note_waiting(request, change=1 if receipt.verdict is None else -1)
    if not wants_fragment(request):
        return RedirectResponse(PATH, status_code=303)
    return render(
        request,
        "reviews/one.html",
        item_id=receipt.id,
        verdicts=key.verdicts,
        outcome=outcome,
        can_undo=receipt.undoable,
        is_decided=receipt.verdict is not None,
        effects=EFFECTS,
        waiting=await total_waiting(request),
    )


def outcome_of(receipt: DecisionReceipt) -> str:
    """Return the outcome of a decision in sentences."""
    verdict = receipt.verdict
    if verdict is None:
        raise ValueError("a decision that was undone has no outcome")
    if receipt.changes:
        return " ".join((f"{verdict.capitalize()}.", *map(effect_of, receipt.changes)))
    kind = ItemId.parse(receipt.id).kind
    outcomes = {ItemKind.QUARANTINED: OUTCOMES_OF_FLAGGED, ItemKind.OPPOSED: OUTCOMES_OF_OPPOSED}
    return outcomes.get(kind, OUTCOMES)[verdict]


def effect_of(change: MemoryChange) -> str:
    """Return the effect of a decision on a memory, as a sentence."""
    effects: list[str] = []
    if change.rewritten:
        effects.append("has a new text")
    if change.confidence != change.confidence_before:
        verb = "rose" if change.confidence > change.confidence_before else "fell"
        effects.append(f"{verb} from {decimal(change.confidence_before)} to {decimal(change.confidence)}")
    if change.active_before and not change.active:
        effects.append("is inactive now")
    return f"o:{change.id} {' and '.join(effects) or 'stays as it is'}."


def _tabs(counts: dict[Topic, int], wanted: ReviewsAddress) -> Sequence[tuple[str, int, str, bool]]:
    return [
        ("All", sum(counts.values()), PATH, not wanted.topic),
        *((TITLES[each], n, link(PATH, topic=each), each == wanted.topic) for each, n in counts.items()),
    ]
