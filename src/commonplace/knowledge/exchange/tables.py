"""What the rows of each kind must be able to do with a page of writes."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import ClassVar, Protocol

from commonplace.core.errors import ConflictError
from commonplace.knowledge.exchange.vectors import PageVectors
from commonplace.knowledge.exchange.writes import RowDrop, RowPut
from commonplace.knowledge.store.statements import KnowledgeStatements
from commonplace.storage.database import Columns


class RowTable(Protocol):
    """The rows of one kind. All methods run in one transaction."""

    most: ClassVar[int | None]
    """The most rows of a page; ``None`` if it may have any number of them."""

    async def lock(
        self, sql: KnowledgeStatements, names: Sequence[str], *, now: datetime
    ) -> Mapping[str, Columns]:
        """Lock rows, and return those that exist, by name."""
        ...

    async def put(
        self, sql: KnowledgeStatements, rows: Sequence[RowPut], vectors: PageVectors, *, now: datetime
    ) -> Mapping[str, ConflictError]:
        """Insert or change rows. Return, by name, those that must wait for another row; nothing of them is written."""
        ...

    async def drop(self, sql: KnowledgeStatements, rows: Sequence[RowDrop], *, now: datetime) -> None:
        """Forget rows."""
        ...
