"""Relations between entities: facts about one entity whose text mentions another.

Relations are derived from facts and entity names, so that a superseded or forgotten fact ends its relation and a merge
moves it. A name that several entities share creates no relation.
"""

from dataclasses import dataclass
from uuid import UUID

from commonplace.knowledge.browse.lists import require_page
from commonplace.knowledge.entities.registry import Entity
from commonplace.knowledge.model import inputs
from commonplace.knowledge.model.bounds import LIST_LIMIT
from commonplace.knowledge.model.kinds import GLOBAL_SCOPE, Moment
from commonplace.knowledge.store.id_lookup import find_entity_id
from commonplace.knowledge.store.session import KnowledgeSession
from commonplace.storage.rows import Noun


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityRelation(Noun):
    """A relation of two entities.

    Attributes:
        predicate: The predicate of the fact, the name of the relation.
        source_id: The entity that the fact is about.
        target_id: The entity that the text of the fact mentions.
        text: The first 300 characters of the fact.
    """

    predicate: str
    source_id: UUID
    source_name: str
    target_id: UUID
    target_name: str
    fact_id: UUID
    text: str
    scope: str


class EntityRelations:
    """Relations between entities."""

    def __init__(self, session: KnowledgeSession) -> None:
        self._session = session

    async def list(
        self,
        entity_id: UUID | str,
        *,
        scope: str | None = None,
        as_of: Moment | None = None,
        valid_at: Moment | None = None,
        limit: int = LIST_LIMIT,
    ) -> list[EntityRelation]:
        """Return the relations of an entity in either direction, latest fact first."""
        require_page(limit)
        own = inputs.optional_scope(scope)
        times = self._session.times
        async with self._session.reading() as sql:
            entity_key = await find_entity_id(sql, entity_id, field="entity_id")
            entity = Entity.existing(await sql.entity_by_id(id=entity_key), str(entity_key))
            rows = await sql.relations(
                entity_id=entity.survivor_id,
                scopes=None if own is None else [GLOBAL_SCOPE, own],
                as_of=inputs.optional_moment(as_of, field="as_of", at_end=True, times=times),
                valid_at=inputs.optional_moment(valid_at, field="valid_at", at_end=True, times=times),
                now=self._session.clock(),
                limit=limit,
            )
            return EntityRelation.from_rows(rows)
