"""History: the changes between two moments, and the facts of one subject in chronological order."""

from dataclasses import dataclass
from uuid import UUID

from commonplace.core.errors import InvalidInputError
from commonplace.knowledge.browse.lists import require_page
from commonplace.knowledge.model import inputs
from commonplace.knowledge.model.bounds import MAX_LIMIT
from commonplace.knowledge.model.kinds import Fact, Moment, Rule
from commonplace.knowledge.store.session import KnowledgeSession


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeDiff:
    """The facts and rules that differ between two moments, in their current form, oldest first.

    Attributes:
        added: Known only at the later moment.
        removed: Known only at the earlier moment: superseded, forgotten, expired or ended since.
    """

    added: tuple[Fact | Rule, ...]
    removed: tuple[Fact | Rule, ...]


class ChangeHistory:
    """The past of facts and rules."""

    def __init__(self, session: KnowledgeSession) -> None:
        self._session = session

    async def diff(
        self,
        since: Moment,
        until: Moment | None = None,
        *,
        scope: str | None = None,
        limit: int = MAX_LIMIT,
        offset: int = 0,
    ) -> KnowledgeDiff:
        """Return the changes between two moments."""
        require_page(limit, offset)
        now = self._session.clock()
        earlier, later = (
            inputs.optional_moment(since, field="since", times=self._session.times),
            inputs.optional_moment(until, field="until", at_end=True, times=self._session.times),
        )
        later = later or now
        if earlier is None or earlier >= later:
            raise InvalidInputError("since", f"a moment before {later.isoformat()}", str(since))
        wanted = {
            "since": earlier,
            "until": later,
            "scope": inputs.optional_scope(scope),
            "limit": limit,
            "offset": offset,
        }
        async with self._session.reading() as sql:
            facts = await sql.facts_changed(**wanted)
            rules = await sql.rules_changed(**wanted)
        changed = [
            *((Fact.from_row(row, now=now), row["scope_after"] is not None) for row in facts),
            *((Rule.from_row(row, now=now), row["after"]) for row in rules),
        ]
        return KnowledgeDiff(
            added=tuple(memory for memory, is_known in changed if is_known),
            removed=tuple(memory for memory, is_known in changed if not is_known),
        )

    async def timeline(
        self,
        subject: str = "",
        *,
        entity_id: UUID | str | None = None,
        limit: int = MAX_LIMIT,
        offset: int = 0,
    ) -> list[Fact]:
        """Return the facts of a subject or an entity, in the order in which they became true."""
        require_page(limit, offset)
        key = inputs.optional_id(entity_id, field="entity_id")
        wanted = inputs.optional_filter(subject, field="subject") or ""
        if not wanted and key is None:
            raise InvalidInputError("subject", "a subject or the id of an entity", subject)
        async with self._session.reading() as sql:
            rows = await sql.timeline(subject=wanted, entity_id=key, limit=limit, offset=offset)
            return Fact.from_rows(rows, now=self._session.clock())

    async def chain(self, fact_id: UUID | str) -> list[Fact]:
        """Return a fact with its predecessors and successors, newest first; an empty list if it does not exist."""
        key = inputs.require_id(fact_id, field="fact_id")
        async with self._session.reading() as sql:
            return Fact.from_rows(await sql.fact_chain(id=key), now=self._session.clock())
