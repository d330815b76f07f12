"""Rows of other databases that are to be written here."""

from collections.abc import Sequence
from dataclasses import dataclass

from commonplace.knowledge.exchange.fields import Fields
from commonplace.knowledge.exchange.kinds import ExchangeKind
from commonplace.storage.database import Columns


@dataclass(frozen=True, slots=True, kw_only=True)
class RowWrite:
    """A row that another database has in another state.

    Attributes:
        kind: What it is.
        name: Its id, or the ends of a link.
        fields: What it should show; ``None`` to forget it.
        seen: What it showed when it was last read; ``None`` if it was not there.
        others: The fields of those who changed it while it was forgotten.
        vector: The vector of its text as :meth:`.Exchange.vectors` of the other database gave it.
    """

    kind: ExchangeKind
    name: str
    fields: Fields | None
    seen: Fields | None
    others: Sequence[Fields] = ()
    vector: Fields | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RowPut:
    """A row to insert or change: its name, what it should show, and the locked row, if there is one."""

    name: str
    fields: Fields
    row: Columns | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RowDrop:
    """A row to forget, with the fields of those who changed it while it was forgotten."""

    name: str
    others: Sequence[Fields]

    @property
    def was_replaced(self) -> bool:
        """Whether somebody who did not know of the deletion replaced it."""
        return any(each.get("state") == "replaced" for each in self.others)
