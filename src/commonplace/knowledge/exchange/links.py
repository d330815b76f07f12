"""Links of other databases."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import ClassVar

from commonplace.core.errors import ConflictError
from commonplace.core.json_values import json_safe
from commonplace.knowledge.exchange.kinds import link_ends, link_name
from commonplace.knowledge.exchange.vectors import PageVectors
from commonplace.knowledge.exchange.writes import RowDrop, RowPut
from commonplace.knowledge.store.statements import KnowledgeStatements
from commonplace.storage.database import Columns


class LinkTable:
    """Links, each called by both of its ends."""

    most: ClassVar[int | None] = None

    async def lock(
        self, sql: KnowledgeStatements, names: Sequence[str], *, now: datetime
    ) -> Mapping[str, Columns]:
        """Return the links that exist."""
        del now
        rows = await sql.some_exchanged_links(ends=json_safe([link_ends(name) for name in names]))
        return {link_name(row): row for row in rows}

    async def put(
        self, sql: KnowledgeStatements, rows: Sequence[RowPut], vectors: PageVectors, *, now: datetime
    ) -> Mapping[str, ConflictError]:
        """Insert or change links; none has to wait, because a link may name what has not arrived."""
        del vectors, now
        await sql.put_links(rows=json_safe([{**link_ends(each.name), **each.fields} for each in rows]))
        return {}

    async def drop(self, sql: KnowledgeStatements, rows: Sequence[RowDrop], *, now: datetime) -> None:
        """Delete links."""
        del now
        for each in rows:
            await sql.delete_link(**link_ends(each.name))
