"""Items that wait for a person: memories to confirm or forget, and pairs of memories that may say the same."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final
from uuid import UUID

from commonplace.core.errors import InvalidInputError, NotFoundError, UndoRefusedError
from commonplace.knowledge.browse.lists import require_page
from commonplace.knowledge.memories.rules import supersede_rule
from commonplace.knowledge.model import inputs
from commonplace.knowledge.model.bounds import LIST_LIMIT
from commonplace.knowledge.model.kinds import MemoryType, Validity
from commonplace.knowledge.store.events import record_decision
from commonplace.knowledge.store.id_lookup import find_id
from commonplace.knowledge.store.session import KnowledgeSession
from commonplace.knowledge.store.statements import KnowledgeStatements
from commonplace.knowledge.store.unit_of_work import of_kind
from commonplace.knowledge.upkeep.decay import FAINT
from commonplace.storage.rows import Noun

NOTICE: Final = timedelta(days=14)
"""How long before it fades a used memory begins to wait for a person."""

LIKENESS: Final = 0.95
"""Cosine similarity above which two memories may say the same."""

MOST_EVENTS: Final = 1_000
"""The number of latest events that are searched for changed sources."""

LATEST: Final = 500
"""The number of newest facts, and of newest rules, that are compared with others."""

MOST_FACTS: Final = 5_000
MOST_RULES: Final = 2_000
"""The number of newest facts and rules that they are compared with, which limits the cost of a large scope."""


class WaitingReason(StrEnum):
    """The reason why a memory waits for a person."""

    HELD = "held"
    """The fact contradicts a more trusted one; confirmed, it supersedes that fact."""
    FLAGGED = "flagged"
    """The text looks like an instruction; blocks leave the memory out until a person confirms it."""
    FADING = "fading"
    """The memory is used, and will fade within 14 days unless a person confirms it."""
    STALE = "stale"
    """A memory that it is derived from or supported by was superseded or forgotten."""
    HARMFUL = "harmful"
    """The rule did harm after it was last confirmed."""


class Likeness(StrEnum):
    """A kind of similarity between two memories."""

    SPELLING = "spelling"
    """Their keys differ only in case, spaces, hyphens and the like."""
    WORDS = "words"
    MEANING = "meaning"


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingMemory(Noun):
    """A fact or rule that a person should confirm or forget.

    Attributes:
        text: The beginning of its text.
        contradicts: The beginning of the fact that a held fact contradicts and would replace, if one is active.
    """

    memory_type: MemoryType
    id: UUID
    text: str
    reason: WaitingReason
    last_confirmed_at: datetime | None
    contradicts: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DuplicatePair(Noun):
    """Two facts, or two rules, that may say the same; the texts are their beginnings."""

    memory_type: MemoryType
    older_id: UUID
    newer_id: UUID
    older_text: str
    newer_text: str
    reason: Likeness


class WaitingMemories:
    """Facts and rules that a person should confirm or forget."""

    def __init__(self, session: KnowledgeSession) -> None:
        self._session = session

    async def list(self, *, limit: int = LIST_LIMIT) -> list[WaitingMemory]:
        """Return facts and rules to confirm or forget, longest unconfirmed first."""
        require_page(limit)
        now = self._session.clock()
        async with self._session.reading() as sql:
            rows = await sql.list_waiting(
                now=now, soon=now + NOTICE, faint=FAINT, events=MOST_EVENTS, limit=limit
            )
            return WaitingMemory.from_rows(rows)


class DuplicateReviews:
    """Pairs of facts, and of rules, that may say the same: a person decides."""

    def __init__(self, session: KnowledgeSession) -> None:
        self._session = session

    async def list(self, *, limit: int = LIST_LIMIT) -> list[DuplicatePair]:
        """Return pairs of facts, and of rules, of one scope that may say the same, latest first.

        The 500 newest facts are compared with the 5,000 newest, and the 500 newest rules with the 2,000 newest.
        """
        require_page(limit)
        async with self._session.reading() as sql:
            rows = await sql.list_duplicates(
                likeness=LIKENESS, latest=LATEST, facts=MOST_FACTS, rules=MOST_RULES, limit=limit
            )
            return DuplicatePair.from_rows(rows)

    async def decide(
        self, memory_type: str, older_id: UUID | str, newer_id: UUID | str, *, same: bool
    ) -> None:
        """Decide about a pair; if both say the same, one supersedes the other.

        The more trusted memory stays; of equally trusted memories, the one without flags, then the newer one. A pair
        that does not say the same is not listed again.

        Args:
            memory_type: ``"fact"`` or ``"rule"``.
            older_id: The id or the short id of the older memory.
            newer_id: The id or the short id of the newer memory.
            same: Whether the two memories say the same.

        Raises:
            InvalidInputError: A parameter is malformed, both ids name one memory, or the memories are episodes.
            NotFoundError: One of the memories is not active, or is forgotten.
        """
        now = self._session.clock()
        async with changing_pair(self._session, memory_type, older_id, newer_id) as (sql, kind, older, newer):
            await require_living(sql, kind, older, newer)
            if same:
                await merge_pair(sql, kind, (older, newer), now)
            else:
                await sql.tell_apart(first_id=older, second_id=newer, now=now)
            await record_decision(sql, kind, newer, older, "same" if same else "distinct")

    async def undo(self, memory_type: str, older_id: UUID | str, newer_id: UUID | str) -> None:
        """Undo a decision about a pair; the pair waits again.

        For the parameters see :meth:`decide`.

        Raises:
            InvalidInputError: A parameter is malformed.
            UndoRefusedError: The pair is not decided, or another memory has replaced the older one since.
            NotFoundError: One of the memories does not exist.
        """
        async with changing_pair(self._session, memory_type, older_id, newer_id) as (sql, kind, older, newer):
            if await sql.forget_distinction(first_id=older, second_id=newer) is None:
                await restore_superseded(sql, kind, older, newer)
            await record_decision(sql, kind, newer, older, None)


@asynccontextmanager
async def changing_pair(
    session: KnowledgeSession, memory_type: str, older_id: UUID | str, newer_id: UUID | str
) -> AsyncGenerator[tuple[KnowledgeStatements, MemoryType, UUID, UUID]]:
    """Open a transaction that changes two facts or two rules.

    Raises:
        InvalidInputError: A parameter is malformed, both ids name one memory, or the memories are episodes.
    """
    kind = inputs.require_memory_type(memory_type)
    if kind is MemoryType.EPISODE:
        raise InvalidInputError("memory_type", "fact or rule, because episodes are not compared", str(kind))
    async with session.writing() as sql:
        older = await find_id(sql, older_id, kind, field="older_id")
        newer = await find_id(sql, newer_id, kind, field="newer_id")
        if older == newer:
            raise InvalidInputError("newer_id", "the id of a memory other than the older one", str(newer))
        yield sql, kind, older, newer


async def require_living(sql: KnowledgeStatements, kind: MemoryType, *ids: UUID) -> None:
    """Lock both memories.

    Raises:
        NotFoundError: A fact is not active, or a rule is forgotten.
    """
    living = {row["id"] for row in await of_kind(kind, sql).lock(ids=list(ids)) if row["lives"]}
    for each in ids:
        if each not in living:
            raise NotFoundError(kind, str(each))


async def merge_pair(
    sql: KnowledgeStatements, kind: MemoryType, pair: tuple[UUID, UUID], now: datetime
) -> None:
    """Let the more trusted memory supersede the other; of equally trusted ones, that without flags, then the newer."""
    rows = await of_kind(kind, sql).by_trust_and_age(ids=list(pair))
    weaker, stronger = (row["id"] for row in rows)
    await supersede(sql, kind, weaker, by_id=stronger, now=now)


async def supersede(
    sql: KnowledgeStatements, kind: MemoryType, memory_id: UUID, *, by_id: UUID, now: datetime
) -> None:
    """Let a fact or rule supersede another, within an open transaction."""
    if kind is MemoryType.FACT:
        # A pair has room for one link.
        await of_kind(kind, sql).unlink_opposed(newer_id=by_id, older_id=memory_id)
        await sql.supersede_fact(id=memory_id, by_id=by_id, now=now)
    else:
        await supersede_rule(sql, memory_id, by_id=by_id, now=now)


async def restore_superseded(sql: KnowledgeStatements, kind: MemoryType, older: UUID, newer: UUID) -> None:
    """Restore the superseded memory of a pair.

    Raises:
        UndoRefusedError: Neither memory superseded the other, or another memory has replaced it since.
    """
    for stronger, weaker in ((newer, older), (older, newer)):
        if await sql.unlink_superseded(memory_type=kind, older_id=weaker, newer_id=stronger) is None:
            continue
        restored = (
            await sql.restore_fact(id=weaker, validity=Validity.SUPERSEDED)
            if kind is MemoryType.FACT
            else await sql.restore_rule(id=weaker)
        )
        if restored is not None:
            return
    reason = f"neither {kind} replaced the other, or a third has replaced both"
    raise UndoRefusedError("older_id", "the decision", reason, str(older))
