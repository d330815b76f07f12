"""Episodes of other databases."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import ClassVar
from uuid import UUID

from commonplace.core.errors import ConflictError
from commonplace.knowledge.exchange.fields import by_id
from commonplace.knowledge.exchange.kinds import ExchangeKind
from commonplace.knowledge.exchange.vectors import PageVectors
from commonplace.knowledge.exchange.writes import RowDrop, RowPut
from commonplace.knowledge.model.search_text import search_text
from commonplace.knowledge.store.statements import KnowledgeStatements
from commonplace.storage.database import Columns


class EpisodeTable:
    """Episodes; each is consolidated only where its session was."""

    most: ClassVar[int | None] = None

    async def lock(
        self, sql: KnowledgeStatements, names: Sequence[str], *, now: datetime
    ) -> Mapping[str, Columns]:
        """Lock episodes that have not expired."""
        return by_id(await sql.lock_exchanged_episodes(ids=list(map(UUID, names)), now=now))

    async def put(
        self, sql: KnowledgeStatements, rows: Sequence[RowPut], vectors: PageVectors, *, now: datetime
    ) -> Mapping[str, ConflictError]:
        """Insert episodes, or change when they expire; none has to wait."""
        del now
        names = [each.name for each in rows]
        records = [
            {
                **each.fields,
                "id": each.name,
                "place": place,
                "search_text": search_text(each.fields["content"]),
            }
            for place, each in enumerate(rows, start=1)
        ]
        await sql.put_episodes(rows=records, **vectors.parameters(names))
        await vectors.store_passages(sql, ExchangeKind.EPISODE, names)
        return {}

    async def drop(self, sql: KnowledgeStatements, rows: Sequence[RowDrop], *, now: datetime) -> None:
        """Forget episodes, also those that have expired: no clock shows them again."""
        del now
        for each in rows:
            await sql.drop_episode(id=UUID(each.name))
