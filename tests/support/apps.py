"""App memory for tests: conversations, memories as values, and a database that fails when it is told to."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from commonplace.apps.memory import AppMemory
from commonplace.apps.model.conversations import Message
from commonplace.apps.model.memories import Digest, Metadata
from commonplace.apps.model.receipts import DigestReceipt
from commonplace.core.errors import StorageUnavailableError
from commonplace.llm import Reply, Request, Script
from commonplace.storage.database import AnyStatements, Database, Dialect, StatementSet
from support.deadlines import DEADLINE_S

MOMENT = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def said(*texts: str) -> list[Message]:
    """Return messages in turns that the user begins."""
    return [
        Message(role="assistant" if place % 2 else "user", content=text) for place, text in enumerate(texts)
    ]


def memory(
    number: int,
    content: str | None = None,
    *,
    importance: float | None = None,
    created_at: datetime = MOMENT,
    app_id: str = "cal",
) -> Digest:
    """Return a memory as a value."""
    return Digest(
        id=number,
        app_id=app_id,
        user_id=None,
        content=content or f"Fact {chr(64 + number)} about subject{number} thing{number}.",
        created_at=created_at,
        updated_at=created_at,
        source_conversation_id=f"c-{number}",
        metadata=Metadata(importance=importance),
    )


async def fill(apps: AppMemory, app_id: str, count: int, *, first: int = 1) -> list[DigestReceipt]:
    """Ingest conversations of an app, one after the other, and return their receipts."""
    return [
        await apps.ingest(
            app_id, f"{app_id}-{number}", said(f"Please note matter{number} for the board.", "Noted.")
        )
        for number in range(first, first + count)
    ]


def digests(count: int, *, first: int = 1) -> Sequence[str]:
    """Return what a model says of as many conversations, each time something else."""
    return [f"The user keeps matter{number} for board{number}." for number in range(first, first + count)]


async def eventually(condition: Callable[[], Awaitable[object]], timeout_s: float = DEADLINE_S) -> None:
    """Poll until a condition holds; a TimeoutError if it does not in time."""
    async with asyncio.timeout(timeout_s):
        while not await condition():  # noqa: ASYNC110 - what is waited for happens in a database
            await asyncio.sleep(0.01)


class Meanwhile(Script):
    """A script that lets something happen while the model thinks: ``meanwhile``, before each answer."""

    meanwhile: Callable[[Request], Awaitable[object]] | None = None

    async def send(self, request: Request) -> Reply:
        """Wait for what happens, then take the next step."""
        if self.meanwhile is not None:
            await self.meanwhile(request)
        return await super().send(request)


class FaultyDatabase:
    """A real database whose transactions fail, and are rolled back, as often as it is told.

    Args:
        inner: The real one.
    """

    def __init__(self, inner: Database) -> None:
        self._inner = inner
        self.dialect: Dialect = inner.dialect
        self.where = inner.where
        self._faults: dict[str, int] = {}

    def fail(self, times: int, *, lock: str = "") -> None:
        """Let the next transactions fail whose lock begins so; the empty word means any."""
        self._faults[lock] = times

    @asynccontextmanager
    async def transaction(
        self, queries: StatementSet[AnyStatements], *, lock: str | None = None
    ) -> AsyncGenerator[AnyStatements]:
        """Open a transaction that may fail at its end."""
        async with self._inner.transaction(queries, lock=lock) as sql:
            yield sql
            for word, left in self._faults.items():
                if left > 0 and (lock or "").startswith(word):
                    self._faults[word] -= 1
                    raise StorageUnavailableError("the disk is full")

    @asynccontextmanager
    async def reading(
        self, queries: StatementSet[AnyStatements], *, once: bool = False
    ) -> AsyncGenerator[AnyStatements]:
        """Open a view."""
        async with self._inner.reading(queries, once=once) as sql:
            yield sql

    async def close(self) -> None:
        """Close the real one."""
        await self._inner.close()
