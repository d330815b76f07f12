"""Memories by origin, for a person who cleans up: memories of one session, and rules that did harm."""

from dataclasses import dataclass
from uuid import UUID

from commonplace.knowledge import inputs
from commonplace.knowledge.browse.lists import require_page
from commonplace.knowledge.config import LIST_LIMIT
from commonplace.knowledge.connection.session import KnowledgeSession
from commonplace.knowledge.kinds import MemoryType, Rule
from commonplace.storage.nouns import Noun


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionMemory(Noun):
    """A memory that came from a session; ``text`` is its beginning."""

    memory_type: MemoryType
    id: UUID
    text: str


class OriginMethods(KnowledgeSession):
    """The methods of knowledge memory that list memories by their origin."""

    async def list_of_session(self, session_id: UUID | str) -> list[SessionMemory]:
        """Return the live episodes of a session, and the active facts and rules learned from them, oldest first."""
        key = inputs.require_id(session_id, field="session_id")
        async with self._reading() as sql:
            return SessionMemory.from_rows(await sql.list_of_session(session_id=key, now=self.clock()))

    async def list_harmful_rules(self, *, limit: int = LIST_LIMIT) -> list[Rule]:
        """Return rules that did harm, including warnings and forgotten rules, most recently judged first."""
        require_page(limit)
        now = self.clock()
        async with self._reading() as sql:
            return [Rule.from_row(row, now=now) for row in await sql.list_harmful_rules(limit=limit)]
