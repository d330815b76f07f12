"""Plans of merges: how a merge of two entities changes their facts, and how an unmerge restores them. Pure.

An entity has one active fact per scope and predicate. If both entities have one, the more trusted fact stays and
supersedes the other; of equally trusted facts, the fact without flags, then the fact with the higher confidence, then
the target's fact. All facts of the source move to the target, including superseded and retracted facts, so the target
has the whole history.

An unmerge restores field by field: a field that the merge changed and that is unchanged since gets its old value.

Source: KNW-18.1 to KNW-18.3.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import UUID

from commonplace.core.quoting import quoted
from commonplace.core.sources import RANKS, Source
from commonplace.storage.database import Columns
from commonplace.storage.rows import Noun, read_row

ACTIVE: Final = "active"
SUPERSEDED: Final = "superseded"
_FIELDS: Final = ("entity_id", "validity", "supersedes_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedFields(Noun):
    """The fields of a fact that a merge can change."""

    entity_id: UUID
    validity: str
    supersedes_id: UUID | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FactState(Noun):
    """The fields of a fact that a merge needs."""

    id: UUID
    place: MergedFields
    scope: str
    predicate: str
    confidence: float
    trust: Source = Source.AGENT
    flags: tuple[str, ...] = ()

    @classmethod
    def from_row(cls, row: Columns) -> "FactState":
        """Read a row of ``facts``."""
        return read_row(cls, row, place=MergedFields.from_row(row))

    @property
    def is_active(self) -> bool:
        """Whether the fact is active."""
        return self.place.validity == ACTIVE

    @property
    def weight(self) -> tuple[int, bool, float]:
        """The rank of the fact; of two facts with the same key, the fact with the higher rank stays active."""
        return RANKS[self.trust], not self.flags, self.confidence


@dataclass(frozen=True, slots=True, kw_only=True)
class FactChange:
    """A fact with its place before and after."""

    fact_id: UUID
    before: MergedFields
    after: MergedFields

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "FactChange":
        """Read a change from an event."""
        return cls(fact_id=UUID(data["fact_id"]), before=_place(data["before"]), after=_place(data["after"]))


def _place(data: Mapping[str, Any]) -> MergedFields:
    superseded = data["supersedes_id"]
    return MergedFields(
        entity_id=UUID(data["entity_id"]),
        validity=data["validity"],
        supersedes_id=None if superseded is None else UUID(superseded),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MergePlan:
    """The changes of facts by a merge.

    Attributes:
        changes: In the order of the facts.
        supersessions: Pairs of a winning fact and the fact that it supersedes.
        repointed: Active facts of the source that stay active.
        history: Facts of the source that were not active before.
    """

    changes: tuple[FactChange, ...]
    supersessions: tuple[tuple[UUID, UUID], ...]
    repointed: int
    history: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UnmergePlan:
    """The changes of facts by an unmerge.

    Attributes:
        changes: In the order of the merge's record.
        kept: Descriptions of fields that stay because they changed after the merge.
        conflicts: Reasons why the merge cannot be undone; empty if it can.
    """

    changes: tuple[FactChange, ...]
    kept: tuple[str, ...]
    conflicts: tuple[str, ...]


def plan_merge(source: UUID, target: UUID, facts: Sequence[FactState]) -> MergePlan:
    """Plan the changes of facts for a merge.

    Args:
        source: The entity to merge away.
        target: The entity that stays.
        facts: All facts of both entities.
    """
    current = {
        (fact.scope, fact.predicate): fact
        for fact in facts
        if fact.place.entity_id == target and fact.is_active
    }
    moved = [fact for fact in facts if fact.place.entity_id == source]
    changes: list[FactChange] = []
    supersessions: list[tuple[UUID, UUID]] = []
    for fact in moved:
        rival = current.get((fact.scope, fact.predicate)) if fact.is_active else None
        if rival is None:
            changes.append(_change(fact, target))
            continue
        winner, loser = (fact, rival) if fact.weight > rival.weight else (rival, fact)
        supersessions.append((winner.id, loser.id))
        changes += [_change(loser, target, superseded=True), _change(winner, target, supersedes=loser.id)]
    history = sum(not fact.is_active for fact in moved)
    lost = {fact.id for fact in moved} & {loser for _, loser in supersessions}
    return MergePlan(
        changes=tuple(change for change in changes if change.before != change.after),
        supersessions=tuple(supersessions),
        repointed=len(moved) - history - len(lost),
        history=history,
    )


def _change(
    fact: FactState, target: UUID, *, superseded: bool = False, supersedes: UUID | None = None
) -> FactChange:
    """Return the change of a fact; an existing ``supersedes_id`` stays, because the link records the new one."""
    after = MergedFields(
        entity_id=target,
        validity=SUPERSEDED if superseded else fact.place.validity,
        supersedes_id=fact.place.supersedes_id or supersedes,
    )
    return FactChange(fact_id=fact.id, before=fact.place, after=after)


def plan_unmerge(record: Iterable[FactChange], facts: Sequence[FactState]) -> UnmergePlan:
    """Plan which changes of a merge are undone.

    Args:
        record: The merge's changes.
        facts: The facts of the record, and all other facts of their entities.
    """
    known = {fact.id: fact for fact in facts}
    places = {fact.id: fact.place for fact in facts}
    changes: list[FactChange] = []
    kept: list[str] = []
    for done in record:
        fact = known.get(done.fact_id)
        if fact is None:
            kept.append(f"fact {done.fact_id} no longer exists")
            continue
        restored, later = _restore(done, fact.place)
        kept += [f"{field} of fact {fact.id}" for field in later]
        if restored != fact.place:
            changes.append(FactChange(fact_id=fact.id, before=fact.place, after=restored))
            places[fact.id] = restored
    return UnmergePlan(changes=tuple(changes), kept=tuple(kept), conflicts=_conflicts(known, places))


def _restore(done: FactChange, now: MergedFields) -> tuple[MergedFields, list[str]]:
    """Return the restored place of a fact, and the fields that changed after the merge."""
    restored, later = now, list[str]()
    for field in _FIELDS:
        before, after, current = (getattr(place, field) for place in (done.before, done.after, now))
        if current == after:
            restored = replace(restored, **{field: before})
        elif current != before != after:
            later.append(field)
    return restored, later


def _conflicts(facts: Mapping[UUID, FactState], places: Mapping[UUID, MergedFields]) -> tuple[str, ...]:
    """Return the facts that would be active at once for one scope and predicate of an entity."""
    rivals: defaultdict[tuple[UUID, str, str], list[UUID]] = defaultdict(list)
    for fact_id, place in places.items():
        if place.validity == ACTIVE:
            fact = facts[fact_id]
            rivals[place.entity_id, fact.scope, fact.predicate].append(fact_id)
    return tuple(
        f"facts {' and '.join(sorted(map(str, ids)))} would both be active for {quoted(predicate)} "
        f"in scope {quoted(scope)}"
        for (_, scope, predicate), ids in rivals.items()
        if len(ids) > 1
    )
