"""Facts and rules that contradict each other: they wait for a decision of a person (TRU-05, JDG-06)."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from commonplace.core.choices import require_one_of
from commonplace.core.errors import ConflictError
from commonplace.judge import PairVerdict, relatives
from commonplace.knowledge.browse.lists import require_page
from commonplace.knowledge.lifecycle.review import (
    changing_pair,
    merge_pair,
    require_living,
    restore_superseded,
    supersede,
)
from commonplace.knowledge.memories.replaced import oppose
from commonplace.knowledge.model.bounds import LIST_LIMIT
from commonplace.knowledge.model.kinds import MemoryType
from commonplace.knowledge.store.events import record_decision
from commonplace.knowledge.store.session import KnowledgeSession
from commonplace.knowledge.store.statements import KnowledgeStatements
from commonplace.knowledge.store.unit_of_work import of_kind
from commonplace.storage.rows import Noun

_LINKED: Final = "One {} was linked as contradicting the other."


@dataclass(frozen=True, slots=True, kw_only=True)
class OpposedPair(Noun):
    """Two facts or two rules of which the newer one may contradict the older one.

    Attributes:
        older_key: Subject and predicate of a fact; empty for a rule.
        newer_key: The same of the newer memory.
        since: When the newer memory was linked to the older one.
    """

    memory_type: MemoryType
    older_id: UUID
    newer_id: UUID
    older_key: str
    newer_key: str
    older_content: str
    newer_content: str
    since: datetime

    @property
    def older_text(self) -> str:
        """The text of the older memory, with the key of a fact."""
        return f"{self.older_key}{self.older_content}"

    @property
    def newer_text(self) -> str:
        """The text of the newer memory, with the key of a fact."""
        return f"{self.newer_key}{self.newer_content}"

    @property
    def reason(self) -> str:
        """Why the pair waits, as a sentence."""
        oppositions = relatives(self.newer_content, [self.older_content], str).opposed
        return oppositions[0].reason if oppositions else _LINKED.format(self.memory_type)


class OpposedReviews:
    """Pairs of facts, and of rules, that contradict each other: ``memory.reviews.opposed``."""

    def __init__(self, session: KnowledgeSession) -> None:
        self._session = session

    async def decide(
        self, memory_type: str, older_id: UUID | str, newer_id: UUID | str, verdict: str
    ) -> None:
        """Decide about a pair.

        ``same``: the more trusted memory stays, and of equally trusted ones the newer one. ``corrects``: the newer one
        stays. ``refines`` and ``distinct``: both stay, and the pair is not listed again.

        Args:
            memory_type: ``"fact"`` or ``"rule"``.
            older_id: The id or the short id of the older memory.
            newer_id: The id or the short id of the newer memory.
            verdict: How the newer memory relates to the older one.

        Raises:
            InvalidInputError: A parameter is malformed.
            ConflictError: The verdict is ``corrects``, and the older memory is more trusted than the caller.
            NotFoundError: One of the memories does not exist, or holds no more.
        """
        word, now = require_one_of(PairVerdict, verdict, field="verdict"), self._session.clock()
        async with changing_pair(self._session, memory_type, older_id, newer_id) as (sql, kind, older, newer):
            await require_living(sql, kind, older, newer)
            if word.keeps_both:
                await sql.tell_apart(first_id=older, second_id=newer, now=now)
            elif word is PairVerdict.SAME:
                await merge_pair(sql, kind, (older, newer), now)
            else:
                await _require_rank(sql, kind, older)
                await supersede(sql, kind, older, by_id=newer, now=now)
            await record_decision(sql, kind, newer, older, word)

    async def undo(self, memory_type: str, older_id: UUID | str, newer_id: UUID | str) -> None:
        """Undo a decision about a pair; the pair waits again.

        Raises:
            InvalidInputError: A parameter is malformed.
            UndoRefusedError: The pair is not decided, or another memory has replaced the older one since.
            NotFoundError: One of the memories does not exist.
        """
        async with changing_pair(self._session, memory_type, older_id, newer_id) as (sql, kind, older, newer):
            if await sql.forget_distinction(first_id=older, second_id=newer) is None:
                await restore_superseded(sql, kind, older, newer)
                await oppose(sql, kind, newer, older, now=self._session.clock())
            await record_decision(sql, kind, newer, older, None)

    async def list(self, *, limit: int = LIST_LIMIT) -> list[OpposedPair]:
        """Return the pairs that wait, the longest waiting first."""
        require_page(limit)
        async with self._session.reading() as sql:
            return OpposedPair.from_rows(await sql.list_opposed(limit=limit))


async def _require_rank(sql: KnowledgeStatements, kind: MemoryType, older: UUID) -> None:
    """Refuse a caller who is less trusted than the memory to replace.

    Raises:
        ConflictError: The memory is more trusted.
    """
    if await of_kind(kind, sql).is_outranked(id=older):
        message = f"The older {kind} is more trusted than you, so a person must decide: commonplace review"
        raise ConflictError("older_id", message, str(older))
