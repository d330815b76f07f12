"""Moves to another embedding model: the record of each move, its progress, and the lock that keeps moves apart."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

import asyncpg

from commonplace.core.clock import Clock
from commonplace.core.errors import ConflictError, StorageUnavailableError
from commonplace.core.request_context import DEFAULT_TENANT, request_context
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge.store.statements import KnowledgeStatements
from commonplace.knowledge.store.unit_of_work import queries, unit_of_work
from commonplace.knowledge.store.vectors import VectorModel
from commonplace.storage.database import Columns
from commonplace.storage.rows import read_row

ACTOR: Final = "reembedding"
BATCH_ROWS: Final = 256


class MoveState(StrEnum):
    """The states of a move; a move whose process died still counts as running."""

    RUNNING = "running"
    SWITCHED = "switched"
    ABORTED = "aborted"


class MoveStep(StrEnum):
    """The steps of a move."""

    EMBEDDING = "embedding"
    INDEXING = "indexing"
    SWITCHING = "switching"


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A move of all memories to another model.

    Attributes:
        id: The id; ids grow with time.
        to: The new model.
        away_from: The former model.
        step: The latest step.
        done: The number of embedded memories.
        total: The number of memories to embed, including memories stored during the move.
        updated_at: The time of the latest progress.
        ended_at: The time of the switch or the abort.
    """

    id: int
    to: VectorModel
    away_from: VectorModel
    state: MoveState
    step: MoveStep
    done: int
    total: int
    started_at: datetime
    updated_at: datetime
    ended_at: datetime | None

    @classmethod
    def from_row(cls, row: Columns) -> "Move":
        """Read a row of ``reembeddings``."""
        return read_row(
            cls,
            row,
            to=VectorModel(name=row["model"], version=row["version"]),
            away_from=VectorModel(name=row["replaces_model"], version=row["replaces_version"]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveStatus:
    """The active model and the newest move, if any, and whether a process is working on the move."""

    active: VectorModel | None
    working: bool
    last: Move | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveProgress:
    """The progress of a move: its step, and the numbers of embedded and of all memories."""

    step: MoveStep
    done: int
    total: int


OnProgress = Callable[[MoveProgress], None]


def silent(_: MoveProgress) -> None:
    """Ignore progress."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveWork:
    """The running move and its dependencies."""

    pool: asyncpg.Pool
    engine: EmbeddingEngine
    move: Move
    batch_rows: int
    on_progress: OnProgress
    clock: Clock

    async def enter(self, step: MoveStep) -> None:
        """Record and report the start of a step.

        Raises:
            MoveEndedError: The move was aborted.
        """
        async with work_of(self.pool) as sql:
            progress = await note(sql, self.move, done=0, step=step, now=self.clock())
        self.on_progress(progress)


class MoveEndedError(StorageUnavailableError):
    """The move was aborted while it was running; its vectors are being removed."""

    def __init__(self) -> None:
        super().__init__("the move to another embedding model was aborted")


@asynccontextmanager
async def work_of(
    pool: asyncpg.Pool, tenant: str = DEFAULT_TENANT, *, readonly: bool = False
) -> AsyncGenerator[KnowledgeStatements]:
    """Open a transaction of a tenant; for models and moves, which belong to no tenant, any tenant can be used."""
    with request_context(tenant_id=tenant, actor=ACTOR):
        async with unit_of_work(pool, readonly=readonly) as sql:
            yield sql


@asynccontextmanager
async def alone(pool: asyncpg.Pool) -> AsyncGenerator[None]:
    """Keep other processes from moving memories; the server releases the lock when the connection ends.

    Raises:
        StorageUnavailableError: Another process holds the lock.
    """
    async with pool.acquire() as connection:
        sql = queries().on(connection)
        if not await sql.seize_reembedding():
            raise StorageUnavailableError(
                "another process is moving the memories to another model; "
                "`commonplace knowledge reembed --status` shows its progress"
            )
        # The pool releases the lock when it takes the connection back.
        yield


async def tenants(pool: asyncpg.Pool) -> list[str]:
    """Return all tenants that have stored a memory, ordered by id.

    This runs outside a tenant's transaction, which would see only its own tenant.
    """
    async with pool.acquire() as connection:
        return [row["tenant_id"] for row in await queries().on(connection).known_tenants()]


async def require_ownership(pool: asyncpg.Pool) -> None:
    """Check that this role may rename columns, before hours of work are spent.

    Raises:
        StorageUnavailableError: Another role owns the tables.
    """
    async with work_of(pool, readonly=True) as sql:
        others = [row["relname"] for row in await sql.tables_of_others()]
    if others:
        raise StorageUnavailableError(
            f"this role does not own {', '.join(others)}, and only the owner can rename columns: "
            "connect as the role that created the schema"
        )


async def reembedding_status(pool: asyncpg.Pool) -> MoveStatus:
    """Return the active model and the newest move."""
    async with work_of(pool, readonly=True) as sql:
        active = await sql.active_model()
        last = await sql.last_reembedding()
        working = await sql.reembedding_is_seized()
    return MoveStatus(
        active=None if active is None else VectorModel(name=active["model"], version=active["version"]),
        working=working,
        last=None if last is None else Move.from_row(last),
    )


async def resume_or_begin(pool: asyncpg.Pool, to: VectorModel, dimensions: int, now: datetime) -> Move:
    """Return the running move to a model, or a new one.

    Raises:
        ConflictError: A move to another model is running.
    """
    async with work_of(pool) as sql:
        row = await sql.last_reembedding()
        last = None if row is None else Move.from_row(row)
        if last is not None and last.state is MoveState.RUNNING:
            if last.to.version != to.version:
                message = (
                    f"A move to {last.to} is running. Continue it with that model, or end it with --abort."
                )
                raise ConflictError("model", message, str(to))
            return last
        await sql.register_model(model=to.name, version=to.version, dimensions=dimensions)
        return Move.from_row(await sql.begin_reembedding(model=to.name, version=to.version, now=now))


async def note(
    sql: KnowledgeStatements, move: Move, *, done: int, step: MoveStep, now: datetime
) -> MoveProgress:
    """Record progress in the transaction that made it.

    Raises:
        MoveEndedError: The move was aborted; the transaction must roll back.
    """
    row = await sql.note_reembedding(id=move.id, done=done, step=step, now=now)
    if row is None:
        raise MoveEndedError
    return MoveProgress(step=step, done=row["done"], total=row["total"])
