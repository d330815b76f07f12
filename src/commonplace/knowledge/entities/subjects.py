"""Entities of facts: the subject of a fact names an entity, or creates one if its type is obvious.

A fact without an entity gets the entity whose canonical name is its subject, else the entity with that alias. If
several entities have the name, the fact gets no entity, and the review queue asks a person. :func:`plain_type` is the
rule for new entities.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from commonplace.knowledge.entities.registry import MADE_FROM, Entity, record_change
from commonplace.knowledge.model.entity_fields import EntityType
from commonplace.knowledge.model.entity_names import fold_name, fold_names, normal_name
from commonplace.knowledge.model.events import EventType
from commonplace.knowledge.store.statements import KnowledgeStatements
from commonplace.storage.database import Columns

MAX_NAME_WORDS: Final = 4
FACT: Final = "fact"

_TYPES: Final = {
    predicate: kind
    for kind, predicates in {
        EntityType.PERSON: (
            "birthday born_in born_on date_of_birth employed_by employer job job_title married_to nationality "
            "profession spouse studied_at works_at works_for"
        ),
        EntityType.ORGANIZATION: "ceo founded_by founded_in has_ceo headquartered_in headquarters_in",
        EntityType.PLACE: "capital_of has_population population",
    }.items()
    for predicate in predicates.split()
}
"""Predicates that apply to only one type. ``lives_in`` and ``owner`` are missing, because they also apply to things."""

_LEGAL_FORMS: Final = frozenset({"ag", "corp", "gmbh", "inc", "llc", "ltd", "plc", "sa", "sarl"})
_PARTICLES: Final = frozenset({"al", "bin", "da", "de", "del", "der", "di", "la", "of", "the", "van", "von"})
_WORD: Final = re.compile(r"[^\W\d_][^\W\d_.'\u2019-]*(?:[.'\u2019-][^\W\d_]*)*")
_GAP: Final = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Subjects:
    """The entities of some subjects, by subject; ``made`` are the subjects whose entity was just created."""

    entities: Mapping[str, UUID]
    made: frozenset[str] = frozenset()


def plain_type(subject: str, predicate: str) -> EntityType | None:
    """Return the type of a new entity for a subject, or ``None`` if the type is not obvious.

    The subject must be one to four capitalised words without digits. If it ends with the legal form of a company, it is
    an organization; otherwise the predicate decides, if it applies to only one type, such as ``works_at`` to persons.
    Acronyms are never persons.
    """
    words = subject.split()
    said = [word for word in words if word not in _PARTICLES]
    if not 1 <= len(said) <= len(words) <= MAX_NAME_WORDS:
        return None
    if not all(_WORD.fullmatch(word) and word[0].isupper() for word in said):
        return None
    if len(words) > 1 and words[-1].rstrip(".").casefold() in _LEGAL_FORMS:
        return EntityType.ORGANIZATION
    kind = _TYPES.get(_GAP.sub("_", predicate.casefold()).strip("_").removeprefix("is_"))
    is_acronym = any(len(word) > 1 and word.isupper() for word in said)
    return None if kind is EntityType.PERSON and is_acronym else kind


def chosen(rows: Iterable[Columns]) -> dict[str, UUID]:
    """Return the entity of each folded name: the only entity with this canonical name, else with this alias.

    Args:
        rows: Rows of the statement ``subject_entities``.
    """
    canonical: defaultdict[str, set[UUID]] = defaultdict(set)
    aliases: defaultdict[str, set[UUID]] = defaultdict(set)
    for row in rows:
        (canonical if row["is_canonical"] else aliases)[row["name_key"]].add(row["id"])
    found = {key: canonical.get(key) or aliases[key] for key in canonical.keys() | aliases.keys()}
    return {key: next(iter(ids)) for key, ids in found.items() if len(ids) == 1}


async def find_subjects(
    sql: KnowledgeStatements, subjects: Collection[str], makers: Mapping[str, EntityType]
) -> Subjects:
    """Return the entities of subjects, creating new entities if allowed.

    Call this before keys are locked, because it may wait for another transaction that creates the same entity.

    Args:
        sql: A transaction that may write.
        subjects: The subjects of some facts.
        makers: The obvious types of subjects that may create an entity; an existing entity with the same beginning
            prevents it.
    """
    keys = {subject: fold_name(subject) for subject in subjects}
    rows = await sql.subject_entities(keys=list(set(keys.values())))
    known = {row["name_key"] for row in rows}
    missing = {subject: makers[subject] for subject in makers if keys[subject] not in known}
    made: frozenset[str] = frozenset()
    if missing:
        alike = {row["name"] for row in await sql.names_alike(names=list(missing))}
        made = await _make(sql, {name: kind for name, kind in missing.items() if name not in alike})
        rows = await sql.subject_entities(keys=list(set(keys.values())))
    found = chosen(rows)
    return Subjects(
        entities={subject: found[key] for subject, key in keys.items() if key in found}, made=made
    )


async def _make(sql: KnowledgeStatements, types: Mapping[str, EntityType]) -> frozenset[str]:
    """Create entities in name order, which prevents deadlocks, and return the subjects of new entities."""
    made: set[str] = set()
    for subject in sorted(types):
        name = normal_name(subject)
        row = await sql.entity_insert(
            canonical_name=name,
            entity_type=types[subject],
            aliases=[],
            metadata={MADE_FROM: FACT},
            name_keys=fold_names(name, []),
        )
        if row is not None:
            await record_change(sql, EventType.ENTITY_CREATED, None, Entity.from_row(row))
            made.add(subject)
    return frozenset(made)


async def link_subjects(
    sql: KnowledgeStatements, keys: Collection[tuple[str, str, str]], found: Subjects
) -> None:
    """Set the entity of the active facts of some keys, so that new facts supersede them.

    All facts about a subject whose entity was just created are linked, regardless of their predicate. A fact stays
    without an entity if the entity has another fact with the predicate.

    Args:
        sql: A transaction that has serialised the keys.
        keys: Scope, subject and predicate of each new fact whose subject names its entity.
        found: The entities of the subjects.
    """
    wanted = set(keys)
    if found.made:
        rows = await sql.unlinked_keys(subjects=list(found.made))
        wanted |= {(row["scope"], row["subject"], row["predicate"]) for row in rows}
    scopes, subjects, predicates = map(list, zip(*sorted(wanted), strict=True))
    ids = [found.entities[subject] for subject in subjects]
    await sql.link_facts(scopes=scopes, subjects=subjects, predicates=predicates, entity_ids=ids)
