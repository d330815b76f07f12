"""Subjects of facts that may name an entity, for a person to decide."""

from dataclasses import dataclass, replace
from uuid import UUID

from commonplace.core.errors import NotFoundError, UndoRefusedError
from commonplace.knowledge.browse.lists import require_page
from commonplace.knowledge.entities.registry import lock_entities, record_change, require_living, write_entity
from commonplace.knowledge.entities.subjects import Subjects, link_subjects
from commonplace.knowledge.model.bounds import LIST_LIMIT
from commonplace.knowledge.model.entity_fields import EntityType
from commonplace.knowledge.model.entity_names import fold_name
from commonplace.knowledge.model.events import EventType
from commonplace.knowledge.model.fact_drafts import fact_key
from commonplace.knowledge.model.kinds import MemoryType, Validity
from commonplace.knowledge.store.events import record_decision
from commonplace.knowledge.store.id_lookup import find_entity_id, find_id
from commonplace.knowledge.store.session import KnowledgeSession
from commonplace.knowledge.store.statements import KnowledgeStatements
from commonplace.storage.rows import Noun


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectCandidate(Noun):
    """An entity that the subject of a fact may refer to; ``text`` is the beginning of the subject's newest fact."""

    fact_id: UUID
    subject: str
    text: str
    entity_id: UUID
    canonical_name: str
    entity_type: EntityType


class SubjectReviews:
    """Subjects of facts that may name an entity: a person decides."""

    def __init__(self, session: KnowledgeSession) -> None:
        self._session = session

    async def list(self, *, limit: int = LIST_LIMIT) -> list[SubjectCandidate]:
        """Return subjects of facts without an entity that may name an entity, newest fact first.

        Either several entities have the name, or the subject and a name begin with the same words.
        """
        require_page(limit)
        async with self._session.reading() as sql:
            return SubjectCandidate.from_rows(await sql.subject_candidates(limit=limit))

    async def decide(self, fact_id: UUID | str, entity_id: UUID | str, *, same: bool) -> None:
        """Decide whether the subject of a fact is an entity.

        If it is, all active facts of the subject without an entity get the entity, and the subject becomes an alias of
        the entity. Of two facts with the same key, the more trusted, else the newer, supersedes the other. If it is
        not, the pair is not listed again.

        Args:
            fact_id: The id or the short id of a fact.
            entity_id: The entity.
            same: Whether the subject is the entity.

        Raises:
            InvalidInputError: An id is malformed, or the entity does not exist or was merged.
            NotFoundError: The fact is not active.
        """
        now = self._session.clock()
        async with self._session.writing() as sql:
            entity_key = await find_entity_id(sql, entity_id, field="entity_id")
            key = await find_id(sql, fact_id, MemoryType.FACT, field="fact_id")
            row = await sql.standing_fact(id=key)
            if row is None:
                raise NotFoundError(MemoryType.FACT, str(key))
            made: dict[str, object] = {}
            if same:
                made = await self._link(sql, row["subject"], entity_key)
            else:
                require_living((await lock_entities(sql, entity_key)).get(entity_key), entity_key)
                await sql.tell_apart(first_id=key, second_id=entity_key, now=now)
            await record_decision(
                sql, MemoryType.FACT, key, entity_key, "same" if same else "distinct", **made
            )

    async def undo(self, fact_id: UUID | str, entity_id: UUID | str) -> None:
        """Undo the decision whether the subject of a fact is an entity; the pair is listed again.

        For the parameters see :meth:`decide`. If the subject was the entity, its facts lose the entity, the
        facts that the decision superseded are active again, and the entity loses the alias. Later changes stay.

        Raises:
            InvalidInputError: An id is malformed, or the entity was merged since.
            UndoRefusedError: Nobody decided that the subject is the entity.
            NotFoundError: No fact has the short id.
        """
        async with self._session.writing() as sql:
            entity_key = await find_entity_id(sql, entity_id, field="entity_id")
            key = await find_id(sql, fact_id, MemoryType.FACT, field="fact_id")
            if await sql.forget_distinction(first_id=key, second_id=entity_key) is None:
                await _unlink(sql, key, entity_key)
            await record_decision(sql, MemoryType.FACT, key, entity_key, None)

    async def _link(self, sql: KnowledgeStatements, subject: str, entity_id: UUID) -> dict[str, object]:
        """Set the entity of a subject's facts; return what :func:`_unlink` needs to undo this."""
        rows = await sql.unlinked_keys(subjects=[subject])
        keys = {(row["scope"], row["subject"], row["predicate"]) for row in rows}
        await sql.serialise_fact_keys(
            keys=[
                fact_key(scope, predicate, about)
                for scope, _, predicate in keys
                for about in (subject, entity_id)
            ]
        )
        entity = require_living((await lock_entities(sql, entity_id)).get(entity_id), entity_id)
        found = Subjects(entities={subject: entity_id})
        left = await _linked(sql, subject, keys, found) if keys else {}
        superseded: list[tuple[str, str]] = []
        for fact_id, (scope, _, predicate) in left.items():
            pair = await sql.by_trust(id=fact_id, entity_id=entity_id, scope=scope, predicate=predicate)
            weaker, stronger = (row["id"] for row in pair)
            await sql.supersede_fact(id=weaker, by_id=stronger, now=self._session.clock())
            superseded.append((str(weaker), str(stronger)))
        if left:
            await link_subjects(sql, set(left.values()), found)
        is_new = not await sql.subject_entities(keys=[fold_name(subject)])
        if is_new:
            named = await write_entity(sql, replace(entity, aliases=(*entity.aliases, subject)))
            await record_change(sql, EventType.ENTITY_UPDATED, entity, named)
        return {"facts": [str(row["id"]) for row in rows], "superseded": superseded, "alias_added": is_new}


async def _linked(
    sql: KnowledgeStatements, subject: str, keys: set[tuple[str, str, str]], found: Subjects
) -> dict[UUID, tuple[str, str, str]]:
    """Set the entity of a subject's facts with some keys; return the keys of the facts that stay without it, by id."""
    await link_subjects(sql, keys, found)
    rows = await sql.unlinked_keys(subjects=[subject])
    left = {row["id"]: (row["scope"], row["subject"], row["predicate"]) for row in rows}
    return {fact_id: key for fact_id, key in left.items() if key in keys}


async def _unlink(sql: KnowledgeStatements, fact_id: UUID, entity_id: UUID) -> None:
    """Undo that the subject of a fact is an entity.

    Raises:
        InvalidInputError: The entity was merged.
        UndoRefusedError: The newest decision did not give the subject the entity.
    """
    made = await sql.last_subject_decision(fact_id=str(fact_id), entity_id=str(entity_id))
    if made is None or made["facts"] is None:
        reason = "the newest decision did not give the subject this entity"
        raise UndoRefusedError("entity_id", "the decision", reason, str(entity_id))
    ids = [UUID(each) for each in made["facts"]]
    rows = {row["id"]: row for row in await sql.keys_of_facts(ids=[*ids, fact_id])}
    await sql.serialise_fact_keys(
        keys=[
            fact_key(row["scope"], row["predicate"], about)
            for row in rows.values()
            for about in (row["subject"], entity_id)
        ]
    )
    entity = require_living((await lock_entities(sql, entity_id)).get(entity_id), entity_id)
    await sql.unlink_facts(ids=ids, entity_id=entity_id)
    for weaker, stronger in made["superseded"]:
        older, newer = UUID(weaker), UUID(stronger)
        if await sql.unlink_superseded(memory_type=MemoryType.FACT, older_id=older, newer_id=newer):
            await sql.restore_fact(id=older, validity=Validity.SUPERSEDED)
    if made["alias_added"]:
        kept = tuple(alias for alias in entity.aliases if alias != rows[fact_id]["subject"])
        named = await write_entity(sql, replace(entity, aliases=kept))
        await record_change(sql, EventType.ENTITY_UPDATED, entity, named)
