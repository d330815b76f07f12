"""Reading all rows that travel, and writing the rows of other databases."""

import asyncio
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any, Final, cast
from uuid import UUID

import asyncpg

from commonplace.core.errors import ConflictError, InvalidInputError
from commonplace.knowledge.exchange.applications import ApplicationTable
from commonplace.knowledge.exchange.entities import EntityTable
from commonplace.knowledge.exchange.episodes import EpisodeTable
from commonplace.knowledge.exchange.facts import FactTable, settle_all
from commonplace.knowledge.exchange.fields import Fields, fields_of
from commonplace.knowledge.exchange.kinds import LINK_ENDS, TEXT_KINDS, ExchangeKind, link_name
from commonplace.knowledge.exchange.links import LinkTable
from commonplace.knowledge.exchange.rules import RuleTable
from commonplace.knowledge.exchange.tables import RowTable
from commonplace.knowledge.exchange.vectors import PageVectors, packed_vector, page_vectors
from commonplace.knowledge.exchange.writes import RowDrop, RowPut, RowWrite
from commonplace.knowledge.store.session import KnowledgeSession
from commonplace.knowledge.store.statements import KnowledgeStatements
from commonplace.storage.database import Columns

Key = tuple[ExchangeKind, str]
"""The kind and the name of a row: its id, or the ends of a link."""

Written = Fields | None | ConflictError
"""What a row shows once it is written, or why it was not."""

_TABLES: Final[Mapping[ExchangeKind, RowTable]] = {
    ExchangeKind.LINK: LinkTable(),
    ExchangeKind.ENTITY: EntityTable(),
    ExchangeKind.EPISODE: EpisodeTable(),
    ExchangeKind.FACT: FactTable(),
    ExchangeKind.RULE: RuleTable(),
    ExchangeKind.APPLICATION: ApplicationTable(),
}


class Exchange:
    """Rows of a tenant as other databases of the same owner have them: ``memory.exchange``."""

    def __init__(self, session: KnowledgeSession) -> None:
        self._session = session

    async def read(self) -> Mapping[Key, Fields]:
        """Return the fields of every row that travels: all but forgotten and expired memories.

        Facts that wait for a rival compete first, because the rival may have been forgotten, and memories name their
        sources that have arrived.
        """
        async with self._session.reading() as sql:
            is_settled = not await sql.waiting_facts() and not await sql.has_arrived_sources()
            rows = await self._rows(sql) if is_settled else None
        if rows is None:
            async with self._session.writing() as sql:
                await settle_all(sql)
                await sql.attach_sources()
                rows = await self._rows(sql)
        return await asyncio.to_thread(_all_fields, rows)

    async def _rows(self, sql: KnowledgeStatements) -> Mapping[ExchangeKind, Sequence[Columns]]:
        return {
            ExchangeKind.LINK: await sql.exchanged_links(),
            ExchangeKind.ENTITY: await sql.exchanged_entities(),
            ExchangeKind.EPISODE: await sql.exchanged_episodes(now=self._session.clock()),
            ExchangeKind.FACT: await sql.exchanged_facts(),
            ExchangeKind.RULE: await sql.exchanged_rules(),
            ExchangeKind.APPLICATION: await sql.exchanged_applications(),
        }

    async def fingerprint(self) -> str:
        """Return a digest that is another one once :meth:`read` would return something else."""
        async with self._session.reading() as sql:
            return await sql.exchanged_fingerprint(now=self._session.clock())

    async def names(self) -> set[Key]:
        """Return the kind and the id of every fact, rule, episode and entity, in any state."""
        async with self._session.reading() as sql:
            rows = await sql.exchanged_names()
        return {(ExchangeKind(row["kind"]), str(row["id"])) for row in rows}

    async def present(self, keys: Collection[Key]) -> set[Key]:
        """Return those of facts and rules that are here, also if they were forgotten."""
        ids = _ids_of_texts(keys)
        if not ids:
            return set()
        async with self._session.reading() as sql:
            rows = await sql.some_exchanged_names(ids=ids)
        return {(ExchangeKind(row["kind"]), str(row["id"])) for row in rows}

    async def vectors(self, keys: Collection[Key]) -> Mapping[Key, Fields]:
        """Return the vectors of memories as they travel, for :attr:`.RowWrite.vector` of another database."""
        ids = _ids_of_texts(keys)
        if not ids:
            return {}
        async with self._session.reading() as sql:
            rows: Sequence[Columns] = await sql.exchanged_vectors(ids=ids)
        return {(ExchangeKind(row["kind"]), str(row["id"])): packed_vector(row) for row in rows}

    async def count_conflicts(self) -> int:
        """Return how many facts wait for a person because other databases changed them, or facts of their key, too."""
        async with self._session.reading() as sql:
            return await sql.count_conflicts()

    async def write(self, page: Sequence[RowWrite]) -> list[Written]:
        """Write rows in one transaction, and return what each shows then.

        That may be something else than was asked for: the fact of a key that holds already may stay, and an entity may
        be merged into one of its name. A row that shows something else by now than was seen, or names what has not
        arrived yet, is not written, and has a :class:`~commonplace.core.errors.ConflictError` in the place of its
        fields.

        Args:
            page: Rows, each once: links, entities and rules before what names them.

        Raises:
            EmbeddingError: A vector cannot be computed.
        """
        page = _required(page)
        vectors = await page_vectors(self._session.engine, page)
        try:
            async with self._session.writing() as sql:
                results = [
                    result
                    for table, run in _runs(page)
                    for result in await _write_run(sql, table, run, vectors, now=self._session.clock())
                ]
        except asyncpg.UniqueViolationError:
            if len(page) == 1:
                return [ConflictError("name", "Another row has this id or this key.", page[0].name)]
        else:
            return results
        return [result for each in page for result in await self.write([each])]


def _required(page: object) -> Sequence[RowWrite]:
    """Require rows.

    Raises:
        InvalidInputError: It is something else.
    """
    rows = list(cast("Sequence[object]", page)) if isinstance(page, Sequence) else [page]
    if not all(isinstance(each, RowWrite) for each in rows):
        raise InvalidInputError("page", "a list of rows to write", rows)
    return cast("Sequence[RowWrite]", rows)


def _ids_of_texts(keys: Collection[Key]) -> list[UUID]:
    """Return the ids of the memories with a text.

    Raises:
        InvalidInputError: These are no keys.
    """
    try:
        return [UUID(name) for kind, name in keys if kind in TEXT_KINDS]
    except (TypeError, ValueError, AttributeError) as error:
        raise InvalidInputError("keys", "pairs of a kind and an id", keys) from error


def _runs(page: Sequence[RowWrite]) -> Iterator[tuple[RowTable, Sequence[RowWrite]]]:
    """Yield the rows in groups of one kind, either to put or to drop, which their table writes together."""
    for (kind, _), group in groupby(page, key=lambda each: (each.kind, each.fields is None)):
        table = _TABLES[kind]
        rows = list(group)
        size = table.most or len(rows)
        for first in range(0, len(rows), size):
            yield table, rows[first : first + size]


async def _write_run(
    sql: KnowledgeStatements,
    table: RowTable,
    run: Sequence[RowWrite],
    vectors: PageVectors,
    *,
    now: datetime,
) -> list[Written]:
    """Write rows of one kind that are all put, or all dropped."""
    names = [each.name for each in run]
    rows = await table.lock(sql, names, now=now)
    results: dict[str, Written] = {}
    changes: list[RowWrite] = []
    for each in run:
        shown = _fields(each.kind, rows.get(each.name))
        if shown not in (each.seen, each.fields):
            message = f"The {each.kind} changed here meanwhile."
            results[each.name] = ConflictError("name", message, each.name)
        elif shown == each.fields and not each.others and not _may_have_expired(each):
            results[each.name] = shown
        else:
            changes.append(each)
    puts = [
        RowPut(name=each.name, fields=each.fields, row=rows.get(each.name))
        for each in changes
        if each.fields is not None
    ]
    drops = [RowDrop(name=each.name, others=each.others) for each in changes if each.fields is None]
    if puts:
        results.update(await table.put(sql, puts, vectors, now=now))
    if drops:
        await table.drop(sql, drops, now=now)
    left = [each for each in changes if each.name not in results]
    if left:
        after = await table.lock(sql, [each.name for each in left], now=now)
        results.update({each.name: _fields(each.kind, after.get(each.name)) for each in left})
    return [results[name] for name in names]


def _may_have_expired(write: RowWrite) -> bool:
    """Return whether a row that is to be forgotten may be there after all, and come back with another clock."""
    return write.kind is ExchangeKind.EPISODE and write.fields is None


def _all_fields(rows: Mapping[ExchangeKind, Iterable[Columns]]) -> dict[Key, Fields]:
    return {
        (kind, _name(kind, row)): fields
        for kind, each in rows.items()
        for row in each
        if (fields := _fields(kind, row)) is not None
    }


def _name(kind: ExchangeKind, row: Columns) -> str:
    return link_name(row) if kind is ExchangeKind.LINK else str(row["id"])


def _fields(kind: ExchangeKind, row: Columns | None) -> dict[str, Any] | None:
    return fields_of(row, without=LINK_ENDS if kind is ExchangeKind.LINK else ())
