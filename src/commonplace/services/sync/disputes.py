"""What a person reads about devices that revoke each other: a question before a device believes one, a note after.

A note is told once, and kept for the status as long as the document of the revocation is at the carrier.

Source: ADR 0040.
"""

import json
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from commonplace.services.sync.state import SyncState

_NOTES: Final = "notes of disputes"


def question(one: str, other: str) -> str:
    """Return why a device stops: two members have revoked each other, and it believes neither."""
    return (
        f"{one} and {other} have revoked each other. This device does not know which of them is lost, so it syncs with "
        "neither: run `commonplace sync revoke NAME` here, with the name of the lost one"
    )


def note(state: SyncState, document: str, author: str, members: Sequence[str]) -> list[str]:
    """Keep a note of a revocation by a revoked device, and return it if it is new.

    Args:
        state: The state of sync.
        document: The name of the revocation's document.
        author: The name of the revoked device.
        members: The names of the members that it has revoked.
    """
    notes_before = _notes_of(state)
    if document in notes_before:
        return []
    text = (
        f"{author}, which was revoked, has revoked {' and '.join(members)} too. This device refuses that: if {author} "
        f"is lost, there is nothing to do. If you have {author} and another device is lost, run `commonplace sync "
        f"leave --here` and `commonplace sync join` here, with the passphrase that you chose on {author}"
    )
    state.keep_own({_NOTES: json.dumps({**notes_before, document: text}).encode()})
    return [text]


def forget(state: SyncState, names: AbstractSet[str]) -> None:
    """Forget the notes of documents that are no longer at the carrier."""
    notes_before = _notes_of(state)
    rest = {document: text for document, text in notes_before.items() if document in names}
    if rest != notes_before:
        state.keep_own({_NOTES: json.dumps(rest).encode()})


def notes(state: SyncState) -> list[str]:
    """Return all notes."""
    return list(_notes_of(state).values())


def _notes_of(state: SyncState) -> dict[str, str]:
    return json.loads(state.own(_NOTES) or b"{}")
