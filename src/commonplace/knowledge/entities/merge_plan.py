"""What a merge of two entities does to their facts and to the target, and how it is taken back. Pure.

A fact has one active version for a scope and predicate of an entity. Where both entities have one, the more
confident stays and supersedes the other; at equal confidence the target's stays. Every fact of the source moves to
the target, the superseded and retracted ones too, so that the target has the whole history and nothing hangs on a
tombstone.

A merge is taken back field by field: what it changed and nobody has changed since becomes what it was.

Source: KNW-18.1 to KNW-18.3.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

ACTIVE: Final = "active"
SUPERSEDED: Final = "superseded"
_FIELDS: Final = ("entity_id", "validity", "supersedes_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What a merge may change of a fact."""

    entity_id: UUID
    validity: str
    supersedes_id: UUID | None

    def to_json(self) -> dict[str, str | None]:
        """Return it for an event."""
        superseded = None if self.supersedes_id is None else str(self.supersedes_id)
        return {"entity_id": str(self.entity_id), "validity": self.validity, "supersedes_id": superseded}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Place":
        """Read it from an event."""
        superseded = data["supersedes_id"]
        return cls(
            entity_id=UUID(data["entity_id"]),
            validity=data["validity"],
            supersedes_id=None if superseded is None else UUID(superseded),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FactState:
    """A fact as a merge sees it."""

    id: UUID
    place: Place
    scope: str
    predicate: str
    confidence: float

    @property
    def is_active(self) -> bool:
        """Whether it is the current version."""
        return self.place.validity == ACTIVE


@dataclass(frozen=True, slots=True, kw_only=True)
class FactChange:
    """A fact that is changed, with what it was and what it becomes."""

    fact_id: UUID
    before: Place
    after: Place


@dataclass(frozen=True, slots=True, kw_only=True)
class MergePlan:
    """What a merge does to facts.

    Attributes:
        changes: In the order of the facts.
        supersessions: Pairs of a winning fact and the one that it supersedes.
        repointed: Active facts of the source that stay active, on the target.
        history: Facts of the source that were not active and move along.
    """

    changes: tuple[FactChange, ...]
    supersessions: tuple[tuple[UUID, UUID], ...]
    repointed: int
    history: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UnmergePlan:
    """What taking back a merge does to facts.

    Attributes:
        changes: In the order of the merge's record.
        kept: What stays as it is because it was changed after the merge, in words.
        conflicts: Why it cannot be taken back at all, in words; empty where it can.
    """

    changes: tuple[FactChange, ...]
    kept: tuple[str, ...]
    conflicts: tuple[str, ...]


def plan_merge(source: UUID, target: UUID, facts: Sequence[FactState]) -> MergePlan:
    """Decide what becomes of the facts of two entities that are merged.

    Args:
        source: The entity that is merged away.
        target: The entity that stays.
        facts: All facts of both.
    """
    current = {
        (fact.scope, fact.predicate): fact
        for fact in facts
        if fact.place.entity_id == target and fact.is_active
    }
    changes: list[FactChange] = []
    supersessions: list[tuple[UUID, UUID]] = []
    repointed = history = 0
    for fact in facts:
        if fact.place.entity_id != source:
            continue
        rival = current.get((fact.scope, fact.predicate)) if fact.is_active else None
        wins = fact.is_active and (rival is None or fact.confidence > rival.confidence)
        if rival is not None:
            winner, loser = (fact, rival) if wins else (rival, fact)
            supersessions.append((winner.id, loser.id))
            changes.append(_change(rival, target, superseded=wins, supersedes=None if wins else fact.id))
        lost = rival is not None and not wins
        supersedes = rival.id if rival is not None and wins else None
        changes.append(_change(fact, target, superseded=lost, supersedes=supersedes))
        repointed += wins
        history += not fact.is_active
    return MergePlan(
        changes=tuple(change for change in changes if change.before != change.after),
        supersessions=tuple(supersessions),
        repointed=repointed,
        history=history,
    )


def _change(fact: FactState, target: UUID, *, superseded: bool, supersedes: UUID | None) -> FactChange:
    """Move a fact; what it superseded before stays on record, the link beside it tells the rest."""
    after = Place(
        entity_id=target,
        validity=SUPERSEDED if superseded else fact.place.validity,
        supersedes_id=fact.place.supersedes_id or supersedes,
    )
    return FactChange(fact_id=fact.id, before=fact.place, after=after)


def plan_unmerge(record: Iterable[FactChange], facts: Sequence[FactState]) -> UnmergePlan:
    """Decide what of a merge's changes is taken back.

    Args:
        record: The merge's changes.
        facts: The facts that it names, and all others of the entities that these belong to.
    """
    known = {fact.id: fact for fact in facts}
    places = {fact.id: fact.place for fact in facts}
    changes: list[FactChange] = []
    kept: list[str] = []
    for done in record:
        fact = known.get(done.fact_id)
        if fact is None:
            kept.append(f"fact {done.fact_id} is gone")
            continue
        restored, later = _restore(done, fact.place)
        kept += [f"{field} of fact {fact.id}" for field in later]
        if restored != fact.place:
            changes.append(FactChange(fact_id=fact.id, before=fact.place, after=restored))
            places[fact.id] = restored
    return UnmergePlan(changes=tuple(changes), kept=tuple(kept), conflicts=_conflicts(known, places))


def _restore(done: FactChange, now: Place) -> tuple[Place, list[str]]:
    """Return where a fact goes back to, and the fields that somebody changed since."""
    values: dict[str, Any] = {}
    later: list[str] = []
    for field in _FIELDS:
        before, after, current = getattr(done.before, field), getattr(done.after, field), getattr(now, field)
        values[field] = before if current == after else current
        if before != after and current not in (before, after):
            later.append(field)
    return Place(**values), later


def _conflicts(facts: Mapping[UUID, FactState], places: Mapping[UUID, Place]) -> tuple[str, ...]:
    """Name the facts of which two would be active at once for a scope and predicate of an entity."""
    rivals: defaultdict[tuple[UUID, str, str], list[UUID]] = defaultdict(list)
    for fact_id, place in places.items():
        if place.validity == ACTIVE:
            fact = facts[fact_id]
            rivals[place.entity_id, fact.scope, fact.predicate].append(fact_id)
    return tuple(
        f"facts {' and '.join(sorted(map(str, ids)))} would both be active for {predicate!r} in scope {scope!r}"
        for (_, scope, predicate), ids in rivals.items()
        if len(ids) > 1
    )
