"""What a store of a note found in the memory, in sentences for a person or a model. Pure."""

from collections.abc import Callable

from commonplace import judge
from commonplace.workspace.model.memories import Note
from commonplace.workspace.model.receipts import StoreReceipt


def _note_id(note: Note) -> str:
    return note.id


def related_ids(receipt: StoreReceipt) -> dict[str, object]:
    """Return what a store found in the memory as JSON, with the ids of notes; empty if nothing."""
    same, opposed = ([each.id for each in notes] for notes in (receipt.same, receipt.opposed))
    found: dict[str, object] = {"repeated": receipt.repeated, "same": same, "opposed": opposed}
    return {name: value for name, value in found.items() if value}


def remark_on(receipt: StoreReceipt, *, named: Callable[[Note], str] = _note_id) -> str:
    """Return what a store found in the memory, as sentences; empty if nothing.

    ``named`` returns the id by which the door calls a note.
    """
    own = receipt.memory
    if receipt.repeated:
        return f"{named(own)} was there already."
    return judge.remark(
        named(own),
        same=[named(each) for each in receipt.same],
        opposed=[named(each) for each in receipt.opposed],
        item="".join(f"w:{each.number}-w:{own.number}" for each in receipt.opposed[:1]),
    )
