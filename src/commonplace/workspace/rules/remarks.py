"""Sentences for the receipt of a note that repeats or contradicts an older one. Pure."""

from collections.abc import Callable

from commonplace import judge
from commonplace.workspace.model.memories import Note
from commonplace.workspace.model.receipts import StoreReceipt


def _note_id(note: Note) -> str:
    return note.id


def related_ids(receipt: StoreReceipt) -> dict[str, object]:
    """Return the related notes of a receipt by their ids, as JSON; empty if there are none."""
    same, opposed = ([each.id for each in notes] for notes in (receipt.same, receipt.opposed))
    replaced = receipt.replaced and receipt.replaced.id
    related: dict[str, object] = {
        "repeated": receipt.repeated,
        "same": same,
        "opposed": opposed,
        "replaced": replaced,
    }
    return {name: value for name, value in related.items() if value}


def remark_on(receipt: StoreReceipt, *, named: Callable[[Note], str] = _note_id) -> str:
    """Return the sentences for a receipt; empty if the note neither replaces, repeats nor contradicts another.

    ``named`` returns the id by which the door calls a note.
    """
    own = receipt.memory
    if receipt.repeated:
        return f"{named(own)} was there already."
    related = judge.remark(
        named(own),
        same=[named(each) for each in receipt.same],
        opposed=[named(each) for each in receipt.opposed],
        item="".join(f"w:{each.number}-w:{own.number}" for each in receipt.opposed[:1]),
    )
    replaced = "" if receipt.replaced is None else f"It replaces {named(receipt.replaced)}."
    return " ".join(filter(None, (replaced, related)))
