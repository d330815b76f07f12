"""Reading all rows that travel, and writing the rows of other databases."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import asyncpg

from commonplace.core.choices import require_one_of
from commonplace.core.errors import ConflictError
from commonplace.knowledge.exchange.entities import drop_entity, put_entity
from commonplace.knowledge.exchange.facts import drop_fact, put_fact, settle_all
from commonplace.knowledge.exchange.fields import Fields, fields_of, parameters
from commonplace.knowledge.exchange.kinds import LINK_ENDS, TEXT_KINDS, ExchangeKind, link_ends, link_name
from commonplace.knowledge.exchange.rules import drop_rule, put_application, put_rule
from commonplace.knowledge.exchange.texts import KNOWN, PreparedTexts, Text, embedded_text
from commonplace.knowledge.model.search_text import search_text
from commonplace.knowledge.store.session import KnowledgeSession
from commonplace.knowledge.store.statements import KnowledgeStatements
from commonplace.storage.database import Columns

Key = tuple[ExchangeKind, str]
"""The kind and the name of a row: its id, or the ends of a link."""


class Exchange:
    """Rows of a tenant as other databases of the same owner have them: ``memory.exchange``."""

    def __init__(self, session: KnowledgeSession) -> None:
        self._session = session

    async def read(self) -> Mapping[Key, Fields]:
        """Return the fields of every row that travels: all but forgotten and expired memories.

        Facts that wait for a rival compete first, because the rival may have been forgotten.
        """
        async with self._session.reading() as sql:
            if not await sql.waiting_facts():
                return await self._rows(sql)
        async with self._session.writing() as sql:
            await settle_all(sql)
            return await self._rows(sql)

    async def _rows(self, sql: KnowledgeStatements) -> Mapping[Key, Fields]:
        rows: Mapping[ExchangeKind, Sequence[Columns]] = {
            ExchangeKind.LINK: await sql.exchanged_links(),
            ExchangeKind.ENTITY: await sql.exchanged_entities(),
            ExchangeKind.EPISODE: await sql.exchanged_episodes(now=self._session.clock()),
            ExchangeKind.FACT: await sql.exchanged_facts(),
            ExchangeKind.RULE: await sql.exchanged_rules(),
            ExchangeKind.APPLICATION: await sql.exchanged_applications(),
        }
        return {
            (kind, _name(kind, row)): fields
            for kind, each in rows.items()
            for row in each
            if (fields := _fields(kind, row)) is not None
        }

    async def names(self) -> set[Key]:
        """Return the kind and the id of every fact, rule, episode and entity, in any state."""
        async with self._session.reading() as sql:
            rows = await sql.exchanged_names()
        return {(ExchangeKind(row["kind"]), str(row["id"])) for row in rows}

    async def write(
        self,
        kind: ExchangeKind,
        name: str,
        fields: Fields | None,
        *,
        seen: Fields | None,
        others: Sequence[Fields] = (),
        texts: PreparedTexts | None = None,
    ) -> Fields | None:
        """Write a row, or forget its memory, and return the fields that it shows then.

        They may be others than those that were asked for: the fact of a key that holds already may stay, and an entity
        may be merged into one of its name.

        Args:
            kind: What it is.
            name: Its id, or the ends of a link.
            fields: What it should show; ``None`` to forget it.
            seen: What it showed when it was last read; ``None`` if it was not there.
            others: The fields of those who changed it while it was forgotten.
            texts: Vectors of texts that were prepared.

        Raises:
            ConflictError: It shows something else by now, or what it refers to has not arrived yet; nothing was
                written.
        """
        kind = require_one_of(ExchangeKind, kind, field="kind")
        text = await self._text(kind, fields, seen, texts or PreparedTexts(self._session.engine))
        async with _own_ids(name), self._session.writing() as sql:
            row = await self._lock(sql, kind, name)
            now = _fields(kind, row)
            if now not in (seen, fields):
                raise ConflictError("name", f"The {kind} changed here meanwhile.", name)
            is_hidden_episode = kind is ExchangeKind.EPISODE and fields is None  # It may have expired.
            if now == fields and not others and not is_hidden_episode:
                return now
            if fields is None:
                await self._drop(sql, kind, name, others)
            else:
                await self._put(sql, kind, name, fields, row, text)
            return _fields(kind, await self._lock(sql, kind, name))

    async def _text(
        self, kind: ExchangeKind, fields: Fields | None, seen: Fields | None, texts: PreparedTexts
    ) -> Text:
        """Return the vector of a text that is not known here."""
        new = None if fields is None else embedded_text(kind, fields)
        if new is None or (seen is not None and new == embedded_text(kind, seen)):
            return KNOWN
        return await texts.of(new)

    async def _lock(self, sql: KnowledgeStatements, kind: ExchangeKind, name: str) -> Columns | None:
        match kind:
            case ExchangeKind.LINK:
                return await sql.exchanged_link(**link_ends(name))
            case ExchangeKind.ENTITY:
                return await sql.lock_exchanged_entity(id=UUID(name))
            case ExchangeKind.EPISODE:
                return await sql.lock_exchanged_episode(id=UUID(name), now=self._session.clock())
            case ExchangeKind.FACT:
                return await sql.lock_exchanged_fact(id=UUID(name))
            case ExchangeKind.RULE:
                return await sql.lock_exchanged_rule(id=UUID(name))
            case ExchangeKind.APPLICATION:
                return await sql.exchanged_application(id=UUID(name))

    async def _put(
        self,
        sql: KnowledgeStatements,
        kind: ExchangeKind,
        name: str,
        fields: Fields,
        row: Columns | None,
        text: Text,
    ) -> None:
        match kind:
            case ExchangeKind.LINK:
                await sql.put_link(**link_ends(name), **parameters(fields))
            case ExchangeKind.ENTITY:
                await put_entity(sql, UUID(name), fields, row, now=self._session.clock())
            case ExchangeKind.EPISODE:
                await put_episode(sql, UUID(name), fields, text)
            case ExchangeKind.FACT:
                await put_fact(sql, UUID(name), fields, row, text)
            case ExchangeKind.RULE:
                await put_rule(sql, UUID(name), fields, row, text)
            case ExchangeKind.APPLICATION:
                await put_application(sql, UUID(name), fields)
        if kind in TEXT_KINDS:
            await text.store_passages(sql, TEXT_KINDS[kind], UUID(name))

    async def _drop(
        self, sql: KnowledgeStatements, kind: ExchangeKind, name: str, others: Sequence[Fields]
    ) -> None:
        match kind:
            case ExchangeKind.LINK:
                await sql.delete_link(**link_ends(name))
            case ExchangeKind.ENTITY:
                await drop_entity(sql, UUID(name))
            case ExchangeKind.EPISODE:
                await sql.drop_episode(id=UUID(name))
            case ExchangeKind.FACT:
                await drop_fact(sql, UUID(name), others)
            case ExchangeKind.RULE:
                await drop_rule(sql, UUID(name), others)
            case ExchangeKind.APPLICATION:
                await sql.delete_application(id=UUID(name))


@asynccontextmanager
async def _own_ids(name: str) -> AsyncGenerator[None]:
    """Translate the database's refusal of an id that a row of another tenant has."""
    try:
        yield
    except asyncpg.UniqueViolationError as error:
        raise ConflictError("name", "Another row has this id or this key.", name) from error


async def put_episode(sql: KnowledgeStatements, key: UUID, fields: Fields, text: Text) -> None:
    """Insert an episode, which is consolidated only where its session was, or change when it expires."""
    await sql.put_episode(
        id=key, search_text=search_text(fields["content"]), **parameters(fields), **text.columns
    )


def _name(kind: ExchangeKind, row: Columns) -> str:
    return link_name(row) if kind is ExchangeKind.LINK else str(row["id"])


def _fields(kind: ExchangeKind, row: Columns | None) -> dict[str, Any] | None:
    return fields_of(row, without=LINK_ENDS if kind is ExchangeKind.LINK else ())
