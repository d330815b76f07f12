"""Lists of memories and entities for people, a page at a time. Reading them does not count as a use."""

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
from commonplace.knowledge.config import LIST_LIMIT, MAX_LIMIT
from commonplace.knowledge.entities.fields import EntityType, require_type
from commonplace.knowledge.entities.names import fold_name
from commonplace.knowledge.kinds import Episode, EpisodeStatus, Fact, Rule, Validity
from commonplace.knowledge.lifecycle.feedback import RuleApplication
from commonplace.knowledge.lifecycle.maturity import Maturity
from commonplace.knowledge.unit_of_work import unit_of_work
from commonplace.storage.database import Row

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
    limit: int = LIST_LIMIT,
    offset: int = 0,
    clock: Clock = utc_now,
) -> list[Fact]:
    """Return facts, the newest first, then by id.

    Args:
        pool: The pool of the database.
        validity: Return facts of this validity only: ``active``, ``superseded``, ``expired`` or ``retracted``.
        fading: Return only facts that are marked as fading, or only other facts.
        scope: Return facts of this scope only, without the global one.
        entity_id: Return facts about this entity only.
        limit: Most facts, 1 to 1,000.
        offset: The number of facts to skip.
        clock: Gives the present.

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
    """Return a fact with the facts before and after it, the newest first; an empty list if the fact does not exist.

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
    limit: int = LIST_LIMIT,
    offset: int = 0,
    clock: Clock = utc_now,
) -> list[Rule]:
    """Return rules, the newest first, then by id.

    Args:
        pool: The pool of the database.
        maturity: Return rules of this maturity only: ``candidate``, ``established``, ``proven`` or ``anti_pattern``.
        forgotten: Return only forgotten rules, or only other rules.
        scope: Return rules of this scope only, without the global one.
        limit: Most rules, 1 to 1,000.
        offset: The number of rules to skip.
        clock: Gives the present.

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
    pool: asyncpg.Pool, rule_id: UUID | str, *, limit: int = LIST_LIMIT
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
    limit: int = LIST_LIMIT,
    offset: int = 0,
    clock: Clock = utc_now,
) -> list[Episode]:
    """Return episodes, the newest first, then by id.

    Args:
        pool: The pool of the database.
        status: Return episodes of this state only: ``pending``, ``consolidated``, ``failed`` or ``dead_letter``.
        butler: Return episodes of this butler only.
        live: Leave out episodes that expired or were forgotten and wait for the cleanup.
        limit: Most episodes, 1 to 1,000.
        offset: The number of episodes to skip.
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
    limit: int = LIST_LIMIT,
    offset: int = 0,
) -> list[ListedEntity]:
    """Return entities by canonical name, then by id.

    Args:
        pool: The pool of the database.
        name: Return entities with this text in one of their names, in any case of letters.
        entity_type: Return entities of this type only.
        merged: Return only entities that were merged into another, only other entities, or all for ``None``.
        limit: Most entities, 1 to 1,000.
        offset: The number of entities to skip.

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
