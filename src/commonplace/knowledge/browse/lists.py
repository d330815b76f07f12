"""Lists of memories and entities for people. Reading them does not count as a use."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from commonplace.core import pages
from commonplace.core.choices import optional_one_of, require_one_of
from commonplace.core.sources import Source
from commonplace.knowledge.model import inputs
from commonplace.knowledge.model.bounds import LIST_LIMIT, MAX_LIMIT
from commonplace.knowledge.model.criteria import ALL_FACTS, ALL_RULES, FactCriteria, RuleCriteria
from commonplace.knowledge.model.entity_fields import EntityType
from commonplace.knowledge.model.entity_names import fold_name
from commonplace.knowledge.model.entries import ListedEntity
from commonplace.knowledge.model.feedback import RuleApplication
from commonplace.knowledge.model.kinds import (
    Episode,
    EpisodeStatus,
    Fact,
    Memory,
    MemoryType,
    Rule,
    Validity,
)
from commonplace.knowledge.model.maturity import Maturity
from commonplace.knowledge.model.narrowing import EVERYTHING, Narrowing
from commonplace.knowledge.model.orders import FactOrder, RuleOrder
from commonplace.knowledge.rules.cursors import cursor_of, moment_after, name_after, place_after
from commonplace.knowledge.store.session import KnowledgeSession
from commonplace.storage.rows import Noun


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionMemory(Noun):
    """A memory that came from a session; ``text`` is its beginning."""

    memory_type: MemoryType
    id: UUID
    text: str


class Lists:
    """Lists of memories and entities for people. Reading them does not count as a use."""

    def __init__(self, session: KnowledgeSession) -> None:
        self._session = session

    async def facts(
        self,
        *,
        validity: str | None = None,
        narrowing: Narrowing = EVERYTHING,
        criteria: FactCriteria = ALL_FACTS,
        sort: str = FactOrder.STORED,
        reverse: bool = False,
        limit: int = LIST_LIMIT,
        offset: int = 0,
        after: str | None = None,
    ) -> list[Fact]:
        """Return facts in an order, by default newest first.

        Args:
            validity: A :class:`Validity`; all facts if ``None``.
            narrowing: The facts that are considered. Unlike a search, a list leaves out global facts if it names
                another scope, and facts that only mention an entity.
            criteria: Further criteria.
            sort: A :class:`FactOrder`.
            reverse: Return the facts in the opposite order.
            limit: Maximum number of facts, 1 to 1,000.
            offset: The number of facts to skip.
            after: The cursor of the last fact before the page, from :meth:`cursor_of` with the same order.
        """
        require_page(limit, offset)
        order = require_one_of(FactOrder, sort, field="sort")
        async with self._session.reading() as sql:
            rows = await sql.list_facts(
                validity=optional_one_of(Validity, validity, field="validity"),
                fading=criteria.fading,
                subject=inputs.optional_filter(criteria.subject, field="subject"),
                predicate=inputs.optional_filter(criteria.predicate, field="predicate"),
                entity_id=narrowing.entity_id,
                valid_at=narrowing.valid_at,
                **_shared(narrowing, criteria),
                now=self._session.clock(),
                sort=order,
                reverse=reverse,
                limit=limit,
                offset=offset,
                **place_after(after, Fact, order),
            )
            return Fact.from_rows(rows, now=self._session.clock())

    async def rules(
        self,
        *,
        forgotten: bool | None = None,
        narrowing: Narrowing = EVERYTHING,
        criteria: RuleCriteria = ALL_RULES,
        sort: str = RuleOrder.STORED,
        reverse: bool = False,
        limit: int = LIST_LIMIT,
        offset: int = 0,
        after: str | None = None,
    ) -> list[Rule]:
        """Return rules in an order, by default newest first.

        The parameters are those of :meth:`facts`, but ``sort`` is a :class:`RuleOrder`. ``forgotten`` returns only
        forgotten rules, or only other rules; with ``as_of``, as they were then. A rule has neither an entity, so that
        a narrowing to an entity returns no rule, nor a period.
        """
        require_page(limit, offset)
        order = require_one_of(RuleOrder, sort, field="sort")
        if narrowing.entity_id is not None:
            return []
        async with self._session.reading() as sql:
            rows = await sql.list_rules(
                maturity=optional_one_of(Maturity, criteria.maturity, field="maturity"),
                forgotten=forgotten,
                **_shared(narrowing, criteria),
                now=self._session.clock(),
                sort=order,
                reverse=reverse,
                limit=limit,
                offset=offset,
                **place_after(after, Rule, order),
            )
            return Rule.from_rows(rows, now=self._session.clock())

    async def applications(self, rule_id: UUID | str, *, limit: int = LIST_LIMIT) -> list[RuleApplication]:
        """Return the applications of a rule, the latest first.

        Source: KNW-30.1.
        """
        require_page(limit)
        key = inputs.require_id(rule_id, field="rule_id")
        async with self._session.reading() as sql:
            return RuleApplication.from_rows(await sql.list_applications(rule_id=key, limit=limit))

    async def episodes(
        self,
        *,
        status: str | None = None,
        narrowing: Narrowing = EVERYTHING,
        live: bool = False,
        limit: int = LIST_LIMIT,
        offset: int = 0,
        after: str | None = None,
    ) -> list[Episode]:
        """Return episodes, the newest first, then by id.

        Args:
            status: Return episodes of this state only: ``pending``, ``consolidated``, ``failed`` or ``dead_letter``.
            narrowing: The episodes that are considered. The scope and ``learned_by`` name their butler. Episodes have
                neither tags nor an entity, so that a narrowing to these returns no episode.
            live: Leave out expired and forgotten episodes that wait for cleanup; with ``as_of``, as they were then.
            limit: Maximum number of episodes, 1 to 1,000.
            offset: The number of episodes to skip.
            after: The cursor of the last episode before the page, from :meth:`cursor_of`.
        """
        require_page(limit, offset)
        now = self._session.clock()
        state = optional_one_of(EpisodeStatus, status, field="status")
        if narrowing.tags or narrowing.entity_id is not None:
            return []
        async with self._session.reading() as sql:
            rows = await sql.list_episodes(
                status=state,
                scope=narrowing.scope,
                learned_by=narrowing.learned_by,
                since=narrowing.since,
                until=narrowing.until,
                as_of=narrowing.as_of,
                trusts=_trusts(narrowing),
                live_at=(narrowing.as_of or now) if live else None,
                limit=limit,
                offset=offset,
                **moment_after(after),
            )
            return Episode.from_rows(rows, now=now)

    async def entities(
        self,
        *,
        name: str | Sequence[str] | None = None,
        entity_type: str | None = None,
        merged: bool | None = False,
        limit: int = LIST_LIMIT,
        offset: int = 0,
        after: str | None = None,
    ) -> list[ListedEntity]:
        """Return entities by canonical name, then by id.

        Args:
            name: Return entities with this text in one of their names, ignoring case; if several texts are given, any
                of them matches.
            entity_type: Return entities of this type only.
            merged: Return only entities that were merged into another, only other entities, or all for ``None``.
            limit: Maximum number of entities, 1 to 1,000.
            offset: The number of entities to skip.
            after: The cursor of the last entity before the page, from :meth:`cursor_of`.
        """
        require_page(limit, offset)
        asked = inputs.require_items([name] if isinstance(name, str) else name or [], field="name")
        names = [inputs.optional_filter(each, field="name") or "" for each in asked]
        async with self._session.reading() as sql:
            return ListedEntity.from_rows(
                await sql.list_entities(
                    keys=[fold_name(each) for each in names] or None,
                    entity_type=optional_one_of(EntityType, entity_type, field="entity_type"),
                    merged=merged,
                    limit=limit,
                    offset=offset,
                    **name_after(after),
                )
            )

    async def of_session(self, session_id: UUID | str) -> list[SessionMemory]:
        """Return the live episodes of a session, and the active facts and rules learned from them, oldest first."""
        key = inputs.require_id(session_id, field="session_id")
        async with self._session.reading() as sql:
            return SessionMemory.from_rows(
                await sql.list_of_session(session_id=key, now=self._session.clock())
            )

    async def harmful_rules(self, *, limit: int = LIST_LIMIT) -> list[Rule]:
        """Return rules that did harm, including warnings and forgotten rules, most recently judged first."""
        require_page(limit)
        async with self._session.reading() as sql:
            return Rule.from_rows(await sql.list_harmful_rules(limit=limit), now=self._session.clock())

    async def names_of(self, ids: Collection[UUID]) -> Mapping[UUID, str]:
        """Return a label for each id: the key and text of a fact, the name of an entity, or the text of a memory.

        Args:
            ids: Ids of episodes, facts, rules and entities.

        Returns:
            At most 120 characters for each id. Forgotten memories, expired episodes and unknown ids are left out.
        """
        async with self._session.reading() as sql:
            return {
                row["id"]: row["name"]
                for row in await sql.names_of(ids=inputs.require_ids(ids), now=self._session.clock())
            }

    async def scopes_of(self, ids: Collection[UUID]) -> Mapping[UUID, str]:
        """Return the scope of each fact and rule.

        Args:
            ids: Ids of facts and rules. Other ids are ignored.
        """
        async with self._session.reading() as sql:
            return {row["id"]: row["scope"] for row in await sql.scopes_of(ids=inputs.require_ids(ids))}

    @staticmethod
    def cursor_of(last: Memory | ListedEntity, *, sort: str = FactOrder.STORED) -> str:
        """Return the cursor of the page that begins after an item of a list in an order."""
        return cursor_of(last, sort=sort)


def require_page(limit: int, offset: int = 0) -> None:
    """Require a limit from 1 to 1,000 and an offset from 0; see :func:`commonplace.core.pages.require_page`."""
    pages.require_page(limit, offset, max_limit=MAX_LIMIT)


def _shared(narrowing: Narrowing, criteria: FactCriteria | RuleCriteria) -> dict[str, Any]:
    """Return the parameters that the statements of facts and of rules share."""
    return {
        "ids": None if criteria.ids is None else inputs.require_ids(criteria.ids),
        "scope": narrowing.scope,
        "text": inputs.optional_filter(criteria.text, field="text") or None,
        "tags": list(narrowing.tags) or None,
        "since": narrowing.since,
        "until": narrowing.until,
        "learned_by": narrowing.learned_by,
        "trusts": _trusts(narrowing),
        "unused": criteria.unused,
        "source": optional_one_of(Source, criteria.source, field="source"),
        "max_confidence": criteria.max_confidence,
        "as_of": narrowing.as_of,
    }


def _trusts(narrowing: Narrowing) -> list[Source] | None:
    return None if narrowing.min_trust is None else list(narrowing.trusts)
