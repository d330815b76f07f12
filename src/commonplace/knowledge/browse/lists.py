"""Lists for people: what is in a memory, a page at a time. Nothing here counts as a reading of a memory."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

import asyncpg

from commonplace.core.clock import Clock, utc_now
from commonplace.core.errors import InvalidInputError
from commonplace.knowledge import inputs
from commonplace.knowledge.config import MAX_LIMIT
from commonplace.knowledge.entities.fields import EntityType, require_type
from commonplace.knowledge.entities.names import fold_name
from commonplace.knowledge.kinds import Episode, EpisodeStatus, Fact, Rule, Validity
from commonplace.knowledge.lifecycle.feedback import RuleApplication
from commonplace.knowledge.lifecycle.maturity import Maturity
from commonplace.knowledge.unit_of_work import unit_of_work
from commonplace.storage.database import Row

DEFAULT_LIMIT: Final = 50
MAX_OFFSET: Final = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedEntity:
    """An entity of a list.

    Attributes:
        merged_into: The entity that it was merged into, if any.
        facts: The number of its active facts.
    """

    id: UUID
    canonical_name: str
    entity_type: EntityType
    aliases: tuple[str, ...]
    metadata: Mapping[str, Any]
    created_at: datetime
    updated_at: datetime
    merged_into: UUID | None
    facts: int

    @classmethod
    def from_row(cls, row: Row) -> "ListedEntity":
        """Return the entity of a row."""
        values: dict[str, Any] = {each.name: row[each.name] for each in fields(cls)} | {
            "entity_type": EntityType(row["entity_type"]),
            "aliases": tuple(row["aliases"]),
        }
        return cls(**values)


async def list_facts(
    pool: asyncpg.Pool,
    *,
    validity: str | None = None,
    fading: bool | None = None,
    scope: str | None = None,
    entity_id: UUID | str | None = None,
    limit: int = DEFAULT_LIMIT,
    offset: int = 0,
    clock: Clock = utc_now,
) -> list[Fact]:
    """Return facts, the newest first, then by id.

    Args:
        pool: Of the database.
        validity: Of this one only: ``active``, ``superseded``, ``expired`` or ``retracted``.
        fading: Only those that are marked as fading, or only those that are not.
        scope: Of this scope alone; the global one is not added.
        entity_id: Of this entity only.
        limit: At most this many, 1 to 1,000.
        offset: After skipping this many.
        clock: The present.

    Raises:
        InvalidInputError: A parameter is malformed.
        TenantUnsetError: No request context is set.
        StorageUnavailableError: The server cannot be reached.
    """
    _require_page(limit, offset)
    async with unit_of_work(pool, readonly=True) as sql:
        rows = await sql.list_facts(
            validity=_one_of(validity, Validity, field="validity"),
            fading=fading,
            scope=None if scope is None else inputs.require_scope(scope),
            entity_id=inputs.optional_id(entity_id, field="entity_id"),
            limit=limit,
            offset=offset,
        )
        return [Fact.from_row(row, now=clock()) for row in rows]


async def fact_chain(pool: asyncpg.Pool, fact_id: UUID | str, *, clock: Clock = utc_now) -> list[Fact]:
    """Return a fact with all that it superseded and that superseded it, the newest first; empty where there is none.

    Raises:
        InvalidInputError: The id is malformed.
        TenantUnsetError: No request context is set.
        StorageUnavailableError: The server cannot be reached.
    """
    key = inputs.require_id(fact_id, field="fact_id")
    async with unit_of_work(pool, readonly=True) as sql:
        return [Fact.from_row(row, now=clock()) for row in await sql.fact_chain(id=key)]


async def list_rules(
    pool: asyncpg.Pool,
    *,
    maturity: str | None = None,
    forgotten: bool | None = None,
    scope: str | None = None,
    limit: int = DEFAULT_LIMIT,
    offset: int = 0,
    clock: Clock = utc_now,
) -> list[Rule]:
    """Return rules, the newest first, then by id.

    Args:
        pool: Of the database.
        maturity: Of this one only: ``candidate``, ``established``, ``proven`` or ``anti_pattern``.
        forgotten: Only those that are forgotten, or only those that are not.
        scope: Of this scope alone.
        limit: At most this many, 1 to 1,000.
        offset: After skipping this many.
        clock: The present.

    Raises:
        InvalidInputError: A parameter is malformed.
        TenantUnsetError: No request context is set.
        StorageUnavailableError: The server cannot be reached.
    """
    _require_page(limit, offset)
    async with unit_of_work(pool, readonly=True) as sql:
        rows = await sql.list_rules(
            maturity=_one_of(maturity, Maturity, field="maturity"),
            forgotten=forgotten,
            scope=None if scope is None else inputs.require_scope(scope),
            limit=limit,
            offset=offset,
        )
        return [Rule.from_row(row, now=clock()) for row in rows]


async def list_applications(
    pool: asyncpg.Pool, rule_id: UUID | str, *, limit: int = DEFAULT_LIMIT
) -> list[RuleApplication]:
    """Return the applications of a rule, the latest first.

    Raises:
        InvalidInputError: The id is malformed.
        TenantUnsetError: No request context is set.
        StorageUnavailableError: The server cannot be reached.

    Source: KNW-30.1.
    """
    _require_page(limit, 0)
    key = inputs.require_id(rule_id, field="rule_id")
    async with unit_of_work(pool, readonly=True) as sql:
        return [
            RuleApplication.from_row(row) for row in await sql.list_applications(rule_id=key, limit=limit)
        ]


async def list_episodes(
    pool: asyncpg.Pool,
    *,
    status: str | None = None,
    butler: str | None = None,
    live: bool = False,
    limit: int = DEFAULT_LIMIT,
    offset: int = 0,
    clock: Clock = utc_now,
) -> list[Episode]:
    """Return episodes, the newest first, then by id.

    Args:
        pool: Of the database.
        status: Of this state of consolidation only: ``pending``, ``consolidated``, ``failed`` or ``dead_letter``.
        butler: Of this one only.
        live: Only what a search could find; otherwise those that expired or were forgotten are among them, until they
            are cleaned up.
        limit: At most this many, 1 to 1,000.
        offset: After skipping this many.
        clock: Gives the present.

    Raises:
        InvalidInputError: A parameter is malformed.
        TenantUnsetError: No request context is set.
        StorageUnavailableError: The server cannot be reached.
    """
    _require_page(limit, offset)
    now = clock()
    async with unit_of_work(pool, readonly=True) as sql:
        rows = await sql.list_episodes(
            status=_one_of(status, EpisodeStatus, field="status"),
            butler=None if butler is None else inputs.require_scope(butler, field="butler"),
            live_at=now if live else None,
            limit=limit,
            offset=offset,
        )
        return [Episode.from_row(row, now=now) for row in rows]


async def list_entities(
    pool: asyncpg.Pool,
    *,
    name: str | None = None,
    entity_type: str | None = None,
    merged: bool | None = False,
    limit: int = DEFAULT_LIMIT,
    offset: int = 0,
) -> list[ListedEntity]:
    """Return entities by canonical name, then by id.

    Args:
        pool: Of the database.
        name: Only those one of whose names holds this text, whatever its case.
        entity_type: Of this type only.
        merged: Only those that were merged into another, only those that were not, or both for ``None``.
        limit: At most this many, 1 to 1,000.
        offset: After skipping this many.

    Raises:
        InvalidInputError: A parameter is malformed.
        TenantUnsetError: No request context is set.
        StorageUnavailableError: The server cannot be reached.
    """
    _require_page(limit, offset)
    async with unit_of_work(pool, readonly=True) as sql:
        rows = await sql.list_entities(
            key=fold_name(name) if name else None,
            entity_type=None if entity_type is None else require_type(entity_type),
            merged=merged,
            limit=limit,
            offset=offset,
        )
    return [ListedEntity.from_row(row) for row in rows]


def _require_page(limit: int, offset: int) -> None:
    if not 1 <= limit <= MAX_LIMIT:
        raise InvalidInputError("limit", f"1 to {MAX_LIMIT}", limit)
    if not 0 <= offset <= MAX_OFFSET:
        raise InvalidInputError("offset", f"0 to {MAX_OFFSET}", offset)


def _one_of(value: str | None, known: type[StrEnum], *, field: str) -> str | None:
    if value is not None and value not in set(known):
        raise InvalidInputError(field, f"one of {', '.join(known)}", value)
    return value
