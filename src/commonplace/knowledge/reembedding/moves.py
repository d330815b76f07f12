"""The record of each move to another model: begun, how far it is, how it ended."""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import asyncpg

from commonplace.core.context import DEFAULT_TENANT, request_context
from commonplace.core.errors import InvalidInputError, StorageUnavailableError
from commonplace.knowledge.active_model import VectorModel
from commonplace.knowledge.unit_of_work import queries, unit_of_work
from commonplace.storage.database import Statements

ACTOR: Final = "reembedding"


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A move of all memories to another model.

    Attributes:
        id: Numbers grow with time.
        to: The model that it moves to.
        away_from: The one that was searched with before.
        state: ``running``, ``switched`` or ``aborted``; a move whose process died is still running.
        step: What it did last: ``embedding``, ``indexing`` or ``switching``.
        done: Memories embedded so far.
        total: Memories to embed; grows with what is stored meanwhile.
        started_at: When it was begun.
        updated_at: When it last got on.
        ended_at: When it switched or was aborted.
    """

    id: int
    to: VectorModel
    away_from: VectorModel
    state: str
    step: str
    done: int
    total: int
    started_at: datetime
    updated_at: datetime
    ended_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a move is: its step, and how many memories of how many are embedded."""

    step: str
    done: int
    total: int


OnProgress = Callable[[Progress], None]


class MoveEndedError(StorageUnavailableError):
    """Somebody aborted the move while it was under way; what it laid down is being removed."""

    def __init__(self) -> None:
        super().__init__("the move to another embedding model was aborted by somebody else meanwhile")


def move_of(row: Mapping[str, Any]) -> Move:
    """Return a move from its row."""
    return Move(
        id=row["id"],
        to=VectorModel(name=row["model"], version=row["version"]),
        away_from=VectorModel(name=row["replaces_model"], version=row["replaces_version"]),
        **{
            name: row[name]
            for name in ("state", "step", "done", "total", "started_at", "updated_at", "ended_at")
        },
    )


@asynccontextmanager
async def work_of(
    pool: asyncpg.Pool, tenant: str = DEFAULT_TENANT, *, readonly: bool = False
) -> AsyncGenerator[Statements]:
    """Open a transaction of a tenant; what concerns models and moves is of no tenant, and any will do."""
    with request_context(tenant_id=tenant, actor=ACTOR):
        async with unit_of_work(pool, readonly=readonly) as sql:
            yield sql


@asynccontextmanager
async def alone(pool: asyncpg.Pool) -> AsyncGenerator[None]:
    """Be the only process that moves memories; the server ends that with the connection, however the process ends.

    Raises:
        StorageUnavailableError: Another is at it.
    """
    async with pool.acquire() as connection:
        sql = Statements(queries(), connection)
        if not await sql.seize_reembedding():
            raise StorageUnavailableError(
                "another process is moving the memories to another model at this moment: "
                "`commonplace knowledge reembed --status` shows how far it is"
            )
        # The pool lets go of the lock when it takes the connection back.
        yield


async def tenants(pool: asyncpg.Pool) -> list[str]:
    """Return every tenant that ever stored a memory, in the order of their ids.

    Outside of any tenant's transaction, inside of which no other tenant is seen.
    """
    async with pool.acquire() as connection:
        return [row["tenant_id"] for row in await Statements(queries(), connection).known_tenants()]


async def require_ownership(pool: asyncpg.Pool) -> None:
    """See that this role may exchange columns, before hours of work are spent.

    Raises:
        StorageUnavailableError: The tables are somebody else's.
    """
    async with work_of(pool, readonly=True) as sql:
        others = [row["relname"] for row in await sql.tables_of_others()]
    if others:
        raise StorageUnavailableError(
            f"this role does not own {', '.join(others)}, and only their owner can exchange columns: "
            "connect as the role that created the schema"
        )


async def resume_or_begin(pool: asyncpg.Pool, to: VectorModel, dimensions: int, now: datetime) -> Move:
    """Return the move to a model: the one that is under way, or a new one.

    Raises:
        InvalidInputError: One to another model is under way.
    """
    async with work_of(pool) as sql:
        row = await sql.last_reembedding()
        if row is not None and row["state"] == "running":
            move = move_of(row)
            if move.to.version != to.version:
                raise InvalidInputError(
                    "model", f"{move.to}, to which a move is under way (or --abort, to end that one)", str(to)
                )
            return move
        await sql.register_model(model=to.name, version=to.version, dimensions=dimensions)
        return move_of(await sql.begin_reembedding(model=to.name, version=to.version, now=now))


async def note(sql: Statements, move: Move, *, done: int, step: str, now: datetime) -> Progress:
    """Note what was done, in the transaction that did it.

    Raises:
        MoveEndedError: The move was aborted; the transaction must not go on.
    """
    row = await sql.note_reembedding(id=move.id, done=done, step=step, now=now)
    if row is None:
        raise MoveEndedError
    return Progress(step=step, done=row["done"], total=row["total"])
