"""The review queue under ``/api/v1/reviews``: the items of all memories that wait for a person. Source: FLR-03."""

from typing import Annotated

from fastapi import Path

from commonplace.services.review.items import (
    DecisionReceipt,
    DecisionRecord,
    Item,
    MemoryChange,
    ReviewVerdict,
    Side,
    Topic,
)
from commonplace.web.http.access import ReviewsOfCaller, reader, writer
from commonplace.web.http.paging import CountedPageShape, WantedPage
from commonplace.web.http.problems import NOT_FOUND, REFUSED, STATE_CONFLICT, TOO_LARGE
from commonplace.web.http.shape import RequestShape, Shape, shows
from commonplace.web.rest.api import Api

ItemKey = Annotated[
    str, Path(alias="itemId", description="the id of an item, such as `7`, `k7` or `f:3k7q2`")
]

api = Api("/api/v1/reviews", "review", REFUSED)


@shows(Side)
class SideShape(Shape):
    """A memory to decide about.

    Attributes:
        role: Old, New, This or Failed
        kind: memory (of operational memory), fact, rule, episode, entity, digest or note
        id: the id of the memory, or of its app for a digest; empty for a single note
        text: the text or its beginning; for a failed episode, the last error
    """


@shows(DecisionRecord)
class DecisionRecordShape(Shape):
    """The decision about a pair.

    Attributes:
        by: the author of the decision
        explanation: the reason of the decision, if a model decided
    """


@shows(Item)
class ItemShape(Shape):
    """An item that waits for a person.

    Attributes:
        topic: the kind of item, by the reason why it waits
        reason: why the item waits
        about: the service and category, the subject and predicate, or the contradicted fact; may be empty
        sides: one memory, or the older and the newer memory of a pair
        verdicts: the verdicts that fit the item
        since: when the item began to wait, if known
        decision: null while the item waits
    """

    sides: list[SideShape]
    decision: DecisionRecordShape | None


class ItemsShape(CountedPageShape):
    """A page of items that wait."""

    items: list[ItemShape]


@shows(MemoryChange)
class MemoryChangeShape(Shape):
    """The effect of a decision on one memory of a pair of observations.

    Attributes:
        rewritten: whether the text of the memory changed
    """


@shows(DecisionReceipt)
class DecisionReceiptShape(Shape):
    """The result of a decision, or of undoing one.

    Attributes:
        id: the id of the item
        verdict: null if the decision was undone, so that the item waits again
        undoable: whether the decision can be undone
        item: the pair as it is now, if its memory stores decided pairs
        changes: the effects on both memories of a pair of observations
    """

    item: ItemShape | None
    changes: list[MemoryChangeShape]


class WantedVerdict(RequestShape):
    """A decision about an item.

    Attributes:
        verdict: one of the verdicts of the item
    """

    verdict: ReviewVerdict


@api("GET", reader, "The items of the page")
async def list_review_items(
    queue: ReviewsOfCaller, page: WantedPage, topic: Topic | None = None
) -> ItemsShape:
    """List the items of all memories that wait for a person.

    Return a page: pairs of observations and of notes, memories in quarantine, then items of knowledge memory. Tokens of
    other tenants see items of knowledge memory only, because the others belong to the installation.

    Parameters:
        topic: only items of this kind
    """
    listing = await queue.list_items()
    if listing.problem is not None:
        raise listing.problem
    items = listing.of_topic(topic)
    return page.envelope(ItemsShape, "items", items[page.offset :][: page.one_more], total=len(items))


@api("POST /{itemId}", writer, "What the decision changed", NOT_FOUND, STATE_CONFLICT, TOO_LARGE)
async def decide_review_item(
    queue: ReviewsOfCaller, item_id: ItemKey, wanted: WantedVerdict
) -> DecisionReceipt:
    """Decide about an item.

    The verdict must be one of the verdicts of the item. Only a person may decide about a memory of the installation
    that looks like an instruction: on the dashboard or the command line.

    Parameters:
        body: the decision
    """
    return await queue.decide(item_id, wanted.verdict)


@api("POST /{itemId}/undo", writer, "What undoing the decision changed", NOT_FOUND, STATE_CONFLICT)
async def undo_review_decision(queue: ReviewsOfCaller, item_id: ItemKey) -> DecisionReceipt:
    """Undo the decision about an item.

    The item waits again. A memory that was used or edited after the decision may stay as it is.
    """
    return await queue.undo(item_id)
