"""The notice about a change of a memory, with its undo.

A page that stays gets the notice at once. Where the browser goes to another page, or has no scripts, a cookie carries
the notice to that page: the verb and the id, never the text of the memory.
"""

import re
from dataclasses import dataclass
from typing import Final, Self

from fastapi import Request
from fastapi.responses import Response

from commonplace.core.text import collapse_whitespace, trim_to
from commonplace.services.catalog.entries import CatalogChange, Verb
from commonplace.services.memory_ids import MemoryId, MemoryKind
from commonplace.web.pages.layout.memory_links import MemoryLink

COOKIE: Final = "commonplace-notice"
KEPT_FOR_S: Final = 60
MAX_QUOTE_CHARS: Final = 100

_DONE: Final = {
    Verb.ADD: "{} was added.",
    Verb.EDIT: "{} has the new text.",
    Verb.CONFIRM: "{} was confirmed.",
    Verb.PIN: "{} is pinned: every prompt of its scope shows it.",
    Verb.UNPIN: "{} is not pinned: prompts show it where it is relevant.",
    Verb.FORGET: "{} was forgotten.",
}
_UNDONE: Final = {
    Verb.ADD: "{} was removed again.",
    Verb.EDIT: "{} has its former text again.",
    Verb.CONFIRM: "The confirmation of {} was undone.",
    Verb.PIN: "{} is not pinned.",
    Verb.UNPIN: "{} is pinned again.",
    Verb.FORGET: "{} was restored.",
}
_FORM: Final = re.compile(rf"({'|'.join(Verb)})\.({'|'.join(MemoryKind)})\.([0-9a-f-]{{1,36}})\.([dnu])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Undo:
    """The form that undoes a change.

    Attributes:
        url: The address that the form posts to.
        fields: Names and values of its hidden fields.
    """

    url: str
    fields: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryNotice:
    """A change of a memory, or its undo, as a person reads it.

    Attributes:
        verb: The change, or the change that was undone.
        memory_id: The id of the memory.
        is_undone: Whether the change was undone.
        can_undo: Whether the change can be undone.
        note: What else happened, as sentences; a cookie does not keep it.
    """

    verb: Verb
    memory_id: MemoryId
    is_undone: bool = False
    can_undo: bool = False
    note: str = ""

    @classmethod
    def of(cls, change: CatalogChange) -> Self:
        """Return the notice about a receipt of the catalog."""
        before = "" if change.before is None else f"Before: {_short(change.before)}"
        replaced = f"{change.instead_of} was replaced by {change.entry.id}." if change.instead_of else ""
        return cls(
            verb=change.verb,
            memory_id=change.entry.memory_id,
            is_undone=change.undone,
            can_undo=change.undo is not None,
            note=" ".join(filter(None, (replaced, before, change.note))),
        )

    @classmethod
    def in_request(cls, request: Request) -> Self | None:
        """Return the notice that a cookie carries; ``None`` if there is none."""
        match = _FORM.fullmatch(request.cookies.get(COOKIE, ""))
        if match is None:
            return None
        verb, kind, key, state = match.groups()
        memory_id = MemoryId(kind=MemoryKind(kind), key=key)
        return cls(verb=Verb(verb), memory_id=memory_id, is_undone=state == "u", can_undo=state == "d")

    @property
    def text(self) -> str:
        """The notice in sentences. A change that changed nothing has only its note."""
        if self.note and not (self.can_undo or self.is_undone):
            return f"{self.memory_id}: {self.note}"
        sentence = (_UNDONE if self.is_undone else _DONE)[self.verb].format(self.memory_id)
        return f"{sentence} {self.note}".strip()

    @property
    def undo(self) -> Undo | None:
        """The form that undoes the change, if it can be undone."""
        return Undo(url=f"{MemoryLink(self.memory_id).base}/undo") if self.can_undo else None

    def carry(self, request: Request, response: Response) -> None:
        """Let a cookie carry the notice to the next page."""
        state = "u" if self.is_undone else "d" if self.can_undo else "n"
        response.set_cookie(
            COOKIE,
            f"{self.verb}.{self.memory_id.kind}.{self.memory_id.key}.{state}",
            max_age=KEPT_FOR_S,
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
        )


def _short(text: str) -> str:
    return trim_to(collapse_whitespace(text), MAX_QUOTE_CHARS)
