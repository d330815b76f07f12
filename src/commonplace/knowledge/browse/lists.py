"""Lists of memories and entities for people. Reading them does not count as a use."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from commonplace.core import pages
from commonplace.core.choices import optional_one_of, require_one_of
from commonplace.core.sources import Source
from commonplace.knowledge.browse.cursors import cursor_of, moment_after, name_after, place_after
from commonplace.knowledge.browse.entries import ListedEntity
from commonplace.knowledge.browse.orders import FactOrder, RuleOrder
from commonplace.knowledge.model import inputs
from commonplace.knowledge.model.config import LIST_LIMIT, MAX_LIMIT
from commonplace.knowledge.model.entity_fields import EntityType
from commonplace.knowledge.model.entity_names import fold_name
from commonplace.knowledge.model.feedback import RuleApplication
from commonplace.knowledge.model.kinds import (
    Episode,
    EpisodeStatus,
    Fact,
    Memory,
    MemoryType,
    Moment,
    Rule,
    Validity,
)
from commonplace.knowledge.model.maturity import Maturity
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
        ids: Collection[UUID] | None = None,
        validity: str | None = None,
        fading: bool | None = None,
        scope: str | None = None,
        subject: str | None = None,
        predicate: str | None = None,
        entity_id: UUID | str | None = None,
        as_of: Moment | None = None,
        valid_at: Moment | None = None,
        text: str | None = None,
        tag: str | None = None,
        unused: bool | None = None,
        source: str | None = None,
        source_butler: str | None = None,
        max_confidence: float | None = None,
        sort: str = FactOrder.STORED,
        reverse: bool = False,
        limit: int = LIST_LIMIT,
        offset: int = 0,
        after: str | None = None,
    ) -> list[Fact]:
        """Return facts in an order, by default newest first. Each given filter narrows the list.

        Args:
            ids: Return these facts only.
            validity: A :class:`Validity`.
            fading: Return only facts that are marked as fading, or only other facts.
            scope: Only this scope; the global scope is not included.
            subject: The exact subject.
            predicate: The exact predicate.
            entity_id: The entity that the facts are about.
            as_of: Return facts that were known at this moment; their fields are those of today.
            valid_at: Return facts that were true at this moment, also superseded facts.
            text: A text in subject, predicate or content; case does not matter.
            tag: One of the tags.
            unused: Return only facts that no search or block has shown, or only other facts.
            source: A :class:`~commonplace.core.sources.Source`.
            source_butler: The butler that stored the facts.
            max_confidence: The maximum effective confidence, 0.0 to 1.0.
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
                ids=None if ids is None else inputs.require_ids(ids),
                validity=optional_one_of(Validity, validity, field="validity"),
                fading=fading,
                scope=inputs.optional_scope(scope),
                subject=inputs.optional_filter(subject, field="subject"),
                predicate=inputs.optional_filter(predicate, field="predicate"),
                entity_id=inputs.optional_id(entity_id, field="entity_id"),
                as_of=inputs.optional_moment(as_of, field="as_of", at_end=True),
                valid_at=inputs.optional_moment(valid_at, field="valid_at", at_end=True),
                text=inputs.optional_filter(text, field="text") or None,
                tag=inputs.optional_filter(tag, field="tag") or None,
                unused=unused,
                source=optional_one_of(Source, source, field="source"),
                source_butler=inputs.optional_filter(source_butler, field="source_butler"),
                max_confidence=max_confidence,
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
        ids: Collection[UUID] | None = None,
        maturity: str | None = None,
        forgotten: bool | None = None,
        scope: str | None = None,
        text: str | None = None,
        tag: str | None = None,
        unused: bool | None = None,
        source: str | None = None,
        source_butler: str | None = None,
        max_confidence: float | None = None,
        sort: str = RuleOrder.STORED,
        reverse: bool = False,
        as_of: Moment | None = None,
        limit: int = LIST_LIMIT,
        offset: int = 0,
        after: str | None = None,
    ) -> list[Rule]:
        """Return rules in an order, by default newest first.

        The parameters are those of :meth:`facts`, but ``sort`` is a :class:`RuleOrder`. ``maturity`` is a
        :class:`Maturity`; ``forgotten`` returns only forgotten rules, or only other rules. ``as_of`` returns rules that
        were stored at this moment, with ``forgotten`` as it was then; their fields are those of today.
        """
        require_page(limit, offset)
        order = require_one_of(RuleOrder, sort, field="sort")
        async with self._session.reading() as sql:
            rows = await sql.list_rules(
                ids=None if ids is None else inputs.require_ids(ids),
                maturity=optional_one_of(Maturity, maturity, field="maturity"),
                forgotten=forgotten,
                scope=inputs.optional_scope(scope),
                text=inputs.optional_filter(text, field="text") or None,
                tag=inputs.optional_filter(tag, field="tag") or None,
                unused=unused,
                source=optional_one_of(Source, source, field="source"),
                source_butler=inputs.optional_filter(source_butler, field="source_butler"),
                max_confidence=max_confidence,
                now=self._session.clock(),
                sort=order,
                reverse=reverse,
                as_of=inputs.optional_moment(as_of, field="as_of", at_end=True),
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
        butler: str | None = None,
        live: bool = False,
        limit: int = LIST_LIMIT,
        offset: int = 0,
        after: str | None = None,
    ) -> list[Episode]:
        """Return episodes, the newest first, then by id.

        Args:
            status: Return episodes of this state only: ``pending``, ``consolidated``, ``failed`` or ``dead_letter``.
            butler: Return episodes of this butler only.
            live: Leave out expired and forgotten episodes that wait for cleanup.
            limit: Maximum number of episodes, 1 to 1,000.
            offset: The number of episodes to skip.
            after: The cursor of the last episode before the page, from :meth:`cursor_of`.
        """
        require_page(limit, offset)
        now = self._session.clock()
        async with self._session.reading() as sql:
            rows = await sql.list_episodes(
                status=optional_one_of(EpisodeStatus, status, field="status"),
                butler=inputs.optional_scope(butler, field="butler"),
                live_at=now if live else None,
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
