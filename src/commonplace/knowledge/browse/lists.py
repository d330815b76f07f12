"""Lists for people: what is in a memory, a page at a time. Nothing here counts as a reading of a memory."""

from typing import Any, Final
from uuid import UUID

import asyncpg

from commonplace.core.clock import Clock, utc_now
from commonplace.core.errors import InvalidInputError
from commonplace.knowledge import inputs
from commonplace.knowledge.entities.fields import require_type
from commonplace.knowledge.entities.names import fold_name
from commonplace.knowledge.lifecycle.maturity import Maturity
from commonplace.knowledge.unit_of_work import unit_of_work

DEFAULT_LIMIT: Final = 50
MAX_LIMIT: Final = 1_000
MAX_OFFSET: Final = 2**31 - 1
VALIDITIES: Final = ("active", "superseded", "expired", "retracted")
STATUSES: Final = ("pending", "consolidated", "failed", "dead_letter")

Rows = list[dict[str, Any]]


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
) -> Rows:
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

    Returns:
        Rows without vectors, with ``is_fading`` and ``effective_confidence`` at the present, 0 to 1.

    Raises:
        InvalidInputError: A parameter is malformed.
        TenantUnsetError: No request context is set.
        StorageUnavailableError: The server cannot be reached.
    """
    _require_page(limit, offset)
    async with unit_of_work(pool, readonly=True) as sql:
        rows = await sql.list_facts(
            validity=_one_of(validity, VALIDITIES, field="validity"),
            fading=fading,
            scope=None if scope is None else inputs.require_scope(scope),
            entity_id=inputs.optional_id(entity_id, field="entity_id"),
            limit=limit,
            offset=offset,
            now=clock(),
        )
    return [dict(row) for row in rows]


async def fact_chain(pool: asyncpg.Pool, fact_id: UUID | str, *, clock: Clock = utc_now) -> Rows:
    """Return a fact with all that it superseded and that superseded it, the newest first; empty where there is none.

    Rows are as those of :func:`list_facts`.

    Raises:
        InvalidInputError: The id is malformed.
        TenantUnsetError: No request context is set.
        StorageUnavailableError: The server cannot be reached.
    """
    key = inputs.require_id(fact_id, field="fact_id")
    async with unit_of_work(pool, readonly=True) as sql:
        return [dict(row) for row in await sql.fact_chain(id=key, now=clock())]


async def list_rules(
    pool: asyncpg.Pool,
    *,
    maturity: str | None = None,
    forgotten: bool | None = None,
    scope: str | None = None,
    limit: int = DEFAULT_LIMIT,
    offset: int = 0,
    clock: Clock = utc_now,
) -> Rows:
    """Return rules, the newest first, then by id.

    Args:
        pool: Of the database.
        maturity: Of this one only: ``candidate``, ``established``, ``proven`` or ``anti_pattern``.
        forgotten: Only those that are forgotten, or only those that are not.
        scope: Of this scope alone.
        limit: At most this many, 1 to 1,000.
        offset: After skipping this many.
        clock: The present.

    Returns:
        Rows without vectors, with ``is_forgotten``, ``is_fading`` and ``effective_confidence`` at the present.

    Raises:
        InvalidInputError: A parameter is malformed.
        TenantUnsetError: No request context is set.
        StorageUnavailableError: The server cannot be reached.
    """
    _require_page(limit, offset)
    async with unit_of_work(pool, readonly=True) as sql:
        rows = await sql.list_rules(
            maturity=_one_of(maturity, tuple(Maturity), field="maturity"),
            forgotten=forgotten,
            scope=None if scope is None else inputs.require_scope(scope),
            limit=limit,
            offset=offset,
            now=clock(),
        )
    return [dict(row) for row in rows]


async def list_applications(pool: asyncpg.Pool, rule_id: UUID | str, *, limit: int = DEFAULT_LIMIT) -> Rows:
    """Return when a rule was applied, the latest first: ``outcome``, ``reason``, ``actor``, ``applied_at``.

    Raises:
        InvalidInputError: The id is malformed.
        TenantUnsetError: No request context is set.
        StorageUnavailableError: The server cannot be reached.

    Source: KNW-30.1.
    """
    _require_page(limit, 0)
    key = inputs.require_id(rule_id, field="rule_id")
    async with unit_of_work(pool, readonly=True) as sql:
        return [dict(row) for row in await sql.list_applications(rule_id=key, limit=limit)]


async def list_episodes(
    pool: asyncpg.Pool,
    *,
    status: str | None = None,
    butler: str | None = None,
    live: bool = False,
    limit: int = DEFAULT_LIMIT,
    offset: int = 0,
    clock: Clock = utc_now,
) -> Rows:
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

    Returns:
        Rows without vectors.

    Raises:
        InvalidInputError: A parameter is malformed.
        TenantUnsetError: No request context is set.
        StorageUnavailableError: The server cannot be reached.
    """
    _require_page(limit, offset)
    async with unit_of_work(pool, readonly=True) as sql:
        rows = await sql.list_episodes(
            status=_one_of(status, STATUSES, field="status"),
            butler=None if butler is None else inputs.require_scope(butler, field="butler"),
            live_at=clock() if live else None,
            limit=limit,
            offset=offset,
        )
    return [dict(row) for row in rows]


async def list_entities(
    pool: asyncpg.Pool,
    *,
    name: str | None = None,
    entity_type: str | None = None,
    merged: bool | None = False,
    limit: int = DEFAULT_LIMIT,
    offset: int = 0,
) -> Rows:
    """Return entities by canonical name, then by id.

    Args:
        pool: Of the database.
        name: Only those one of whose names holds this text, whatever its case.
        entity_type: Of this type only.
        merged: Only those that were merged into another, only those that were not, or both for ``None``.
        limit: At most this many, 1 to 1,000.
        offset: After skipping this many.

    Returns:
        Rows with ``merged_into`` and ``facts``, the number of active facts.

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
    return [dict(row) for row in rows]


def _require_page(limit: int, offset: int) -> None:
    if not 1 <= limit <= MAX_LIMIT:
        raise InvalidInputError("limit", f"1 to {MAX_LIMIT}", limit)
    if not 0 <= offset <= MAX_OFFSET:
        raise InvalidInputError("offset", f"0 to {MAX_OFFSET}", offset)


def _one_of(value: str | None, known: tuple[str, ...], *, field: str) -> str | None:
    if value is not None and value not in known:
        raise InvalidInputError(field, f"one of {', '.join(known)}", value)
    return value
