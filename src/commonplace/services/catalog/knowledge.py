"""The shelf of knowledge memory: facts, rules, episodes and entities."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Final
from uuid import UUID

from commonplace.core.quoting import quoted
from commonplace.knowledge import (
    PINNED,
    Entity,
    Episode,
    Fact,
    FactCriteria,
    KnowledgeMemory,
    ListedEntity,
    Memory,
    Narrowing,
    Rule,
    RuleCriteria,
    Validity,
)
from commonplace.services.catalog.entries import (
    MAX_LISTED,
    CatalogEntry,
    CatalogFilter,
    HistoryStep,
    MemoryState,
    Verb,
)
from commonplace.services.catalog.shelf import ShelfChange, not_for
from commonplace.services.lineage.successors import successor
from commonplace.services.memory_ids import MemoryId, MemoryKind

_STATES: Final = {
    Validity.ACTIVE: MemoryState.CURRENT,
    Validity.SUPERSEDED: MemoryState.REPLACED,
    Validity.EXPIRED: MemoryState.EXPIRED,
    Validity.RETRACTED: MemoryState.FORGOTTEN,
    Validity.HELD: MemoryState.HELD,
}


class Knowledge:
    """Facts, rules, episodes and entities in the catalog."""

    def __init__(self, memory: KnowledgeMemory) -> None:
        self._memory = memory

    async def get(self, memory_id: MemoryId) -> CatalogEntry:
        """Return a memory or an entity; of a replaced one, the entry names the one that stands in its place."""
        if memory_id.kind is MemoryKind.ENTITY:
            return _entity_entry(await self._memory.entities.get(memory_id.full))
        return await self._entry(await self._memory.read(memory_id.kind.value, memory_id.full))

    async def find(self, key: UUID | str) -> Sequence[MemoryId]:
        """Return the ids of the memories and entities with a UUID, or with one that begins with some digits.

        Raises:
            InvalidInputError: Several memories of one kind have the digits.
        """
        found: list[MemoryId] = []
        for kind in (MemoryKind.FACT, MemoryKind.RULE, MemoryKind.EPISODE, MemoryKind.ENTITY):
            try:
                found.append(MemoryId.of(kind, await self._full_id(kind, key)))
            except LookupError:
                continue
        return found

    async def _full_id(self, kind: MemoryKind, key: UUID | str) -> UUID:
        if kind is MemoryKind.ENTITY:
            return (await self._memory.entities.get(key)).id
        return (await self._memory.read(kind.value, key)).id

    async def named(self, name: str) -> Sequence[MemoryId]:
        """Return the ids of the entities that a name, an alias or a part of a name fits best."""
        candidates = await self._memory.entities.resolve(name)
        return [
            MemoryId.of(MemoryKind.ENTITY, each.entity_id)
            for each in candidates
            if each.name_match is candidates[0].name_match
        ]

    async def about(self, entity_id: MemoryId) -> Sequence[CatalogEntry]:
        """Return the current facts about an entity, newest first."""
        narrowing = Narrowing(entity_id=(await self._memory.entities.get(entity_id.full)).id)
        facts = await self._memory.lists.facts(
            narrowing=narrowing, validity=Validity.ACTIVE, limit=MAX_LISTED
        )
        return [memory_entry(each, now=self._memory.clock()) for each in facts]

    async def timeline(self, subject: str = "", *, entity_id: str | None = None) -> Sequence[HistoryStep]:
        """Return the facts about a subject or an entity, past ones included, in the order in which they became true."""
        facts = await self._memory.history.timeline(subject, entity_id=entity_id)
        return [_value_step(each, event=each.predicate) for each in facts]

    async def list(self, kind: MemoryKind, narrowing: CatalogFilter) -> Sequence[CatalogEntry]:
        """Return memories, newest first, or entities by name."""
        memories: Sequence[Memory | ListedEntity]
        period = Narrowing(since=narrowing.since, until=narrowing.until)
        match kind:
            case MemoryKind.FACT:
                memories = await self._memory.lists.facts(
                    criteria=FactCriteria(text=narrowing.contains or None), narrowing=period, limit=MAX_LISTED
                )
            case MemoryKind.RULE:
                memories = await self._memory.lists.rules(
                    criteria=RuleCriteria(text=narrowing.contains or None), narrowing=period, limit=MAX_LISTED
                )
            case MemoryKind.EPISODE:
                memories = await self._memory.lists.episodes(
                    live=not narrowing.all_states, narrowing=period, limit=MAX_LISTED
                )
            case _:
                memories = await self._memory.lists.entities(
                    name=narrowing.contains or None,
                    merged=None if narrowing.all_states else False,
                    limit=MAX_LISTED,
                )
        now = self._memory.clock()
        entries = (_any_entry(each, now) for each in memories)
        return [entry for entry in entries if narrowing.matches(entry)][: narrowing.limit]

    async def edit(self, memory_id: MemoryId, content: str, *, allow_secrets: bool) -> ShelfChange:
        """Change the content of a fact or the text of a rule, which gets a new id, or the name of an entity."""
        return await self._edit(memory_id, content, allow_secrets=allow_secrets)

    async def _edit(
        self, memory_id: MemoryId, content: str, *, allow_secrets: bool, is_new: bool = True
    ) -> ShelfChange:
        if memory_id.kind is MemoryKind.ENTITY:
            entity = await self._memory.entities.get(memory_id.full)
            renamed = await self._memory.entities.update(
                entity.id, canonical_name=content, allow_secrets=allow_secrets
            )
            return ShelfChange(entry=_entity_entry(renamed), undo={"content": entity.canonical_name})
        before = await self._memory.read(memory_id.kind.value, memory_id.full)
        after = await self._memory.edit(
            memory_id.kind, memory_id.full, content, allow_secrets=allow_secrets, is_new=is_new
        )
        undo = None if after.id == before.id else {"content": before.content}
        return ShelfChange(entry=await self._entry(after), undo=undo)

    async def confirm(self, memory_id: MemoryId) -> ShelfChange:
        """Restart the decay of a fact or a rule."""
        if memory_id.kind in {MemoryKind.ENTITY, MemoryKind.EPISODE}:
            reason = f"An {memory_id.kind} has no confidence, so there is nothing to confirm."
            raise not_for(memory_id, "confirm", reason)
        return await self._changed(await self._memory.confirm(memory_id.kind, memory_id.full))

    async def pin(self, memory_id: MemoryId, *, pinned: bool) -> ShelfChange:
        """Add or remove the tag ``pinned`` of a fact or a rule."""
        if memory_id.kind in {MemoryKind.ENTITY, MemoryKind.EPISODE}:
            raise not_for(memory_id, "pin" if pinned else "unpin", "Only facts and rules can be pinned.")
        return await self._changed(await self._memory.pin(memory_id.kind, memory_id.full, pinned=pinned))

    async def keep_for_undo(self, memory_id: MemoryId) -> Mapping[str, object]:  # noqa: ARG002 - the rows stay
        """Return nothing: knowledge memory keeps what is forgotten."""
        return {}

    async def forget(self, memory_id: MemoryId) -> CatalogEntry:
        """Retract a fact, mark a rule or let an episode expire."""
        if memory_id.kind is MemoryKind.ENTITY:
            entry = await self.get(memory_id)
            name = quoted(entry.text)
            reason = f"Forget its facts, or delete everything about it: commonplace erase --subject {name}"
            raise not_for(memory_id, "forget", reason)
        return await self._entry(await self._memory.forget(memory_id.kind, memory_id.full))

    async def undo(self, memory_id: MemoryId, verb: Verb, state: Mapping[str, object]) -> ShelfChange:
        """Undo a change; the former text of an edited fact or rule comes back under a new id."""
        kind, key = memory_id.kind, memory_id.full
        match verb:
            case Verb.ADD:
                return ShelfChange(entry=await self.forget(memory_id))
            case Verb.EDIT if "replaces" in state:
                restored, *_ = await self._memory.undo_replacing(kind, key)
                return await self._changed(restored)
            case Verb.EDIT:
                return await self._edit(memory_id, str(state["content"]), allow_secrets=True, is_new=False)
            case Verb.CONFIRM:
                after = await self._memory.undo_confirmation(kind, key)
            case Verb.PIN | Verb.UNPIN:
                after = await self._memory.pin(kind, key, pinned=verb is Verb.UNPIN)
            case Verb.FORGET:
                after = await self._memory.restore(kind, key)
        return await self._changed(after)

    async def history(self, memory_id: MemoryId) -> Sequence[HistoryStep]:
        """Return the values of a fact, the facts about an entity, and the changes in the audit trail."""
        entry = await self.get(memory_id)
        events = await self._memory.events.list(memory_id=entry.full_id, limit=MAX_LISTED)
        steps = [
            HistoryStep(at=each.created_at, event=each.event_type, actor=each.actor or "")
            for each in reversed(events)
        ]
        values: Sequence[HistoryStep] = []
        if memory_id.kind is MemoryKind.FACT:
            values = [_value_step(each) for each in await self._memory.history.chain(entry.full_id)]
        elif memory_id.kind is MemoryKind.ENTITY:
            values = await self.timeline(entity_id=entry.full_id)
        return sorted([*values, *steps], key=lambda step: step.at)

    async def _changed(self, memory: Memory) -> ShelfChange:
        return ShelfChange(entry=await self._entry(memory))

    async def _entry(self, memory: Memory) -> CatalogEntry:
        replaced_by = await self.successor(memory)
        return memory_entry(memory, now=self._memory.clock(), replaced_by=replaced_by)

    async def successor(self, memory: Memory) -> MemoryId | None:
        """Return the id of the current memory that stands in the place of a replaced fact or rule."""
        current = await successor(self._memory, memory)
        return None if current is None else MemoryId.of(MemoryKind(current.memory_type.value), current.id)


def _value_step(fact: Fact, *, event: str = "value") -> HistoryStep:
    return HistoryStep(
        at=fact.valid_from or fact.created_at,
        event=event,
        actor=fact.source_butler or "",
        text=f"{MemoryId.of(MemoryKind.FACT, fact.id)} {fact.content}",
    )


def memory_entry(memory: Memory, *, now: datetime, replaced_by: MemoryId | None = None) -> CatalogEntry:
    """Return a memory of knowledge memory as an entry."""
    kind = MemoryKind(memory.memory_type)
    memory_id = MemoryId.of(kind, memory.id)
    is_fact = isinstance(memory, Fact)
    return CatalogEntry(
        id=str(memory_id),
        full_id=memory_id.full,
        kind=kind,
        state=MemoryState.REPLACED if replaced_by else _state(memory, now),
        text=f"{memory.subject} {memory.predicate}: {memory.content}" if is_fact else memory.content,
        content=memory.content,
        about=memory.butler if isinstance(memory, Episode) else memory.scope,
        confidence=None if isinstance(memory, Episode) else memory.effective_confidence,
        pinned=not isinstance(memory, Episode) and PINNED in memory.tags,
        created_at=memory.created_at,
        replaced_by=str(replaced_by) if replaced_by else None,
        fields={each.name: getattr(memory, each.name) for each in fields(memory)},
    )


def _state(memory: Memory, now: datetime) -> MemoryState:
    match memory:
        case Fact():
            state = _STATES[memory.validity]
        case Rule():
            state = MemoryState.FORGOTTEN if memory.is_forgotten else MemoryState.CURRENT
        case Episode():
            ended = memory.expires_at is not None and memory.expires_at <= now
            state = MemoryState.EXPIRED if ended else MemoryState.CURRENT
    return MemoryState.FLAGGED if state is MemoryState.CURRENT and memory.is_quarantined else state


def _any_entry(memory: Memory | ListedEntity, now: datetime) -> CatalogEntry:
    return _entity_entry(memory) if isinstance(memory, ListedEntity) else memory_entry(memory, now=now)


def _entity_entry(entity: Entity | ListedEntity) -> CatalogEntry:
    memory_id = MemoryId.of(MemoryKind.ENTITY, entity.id)
    survivor = entity.survivor_id if isinstance(entity, Entity) else entity.merged_into
    is_merged = survivor not in {None, entity.id}
    return CatalogEntry(
        id=str(memory_id),
        full_id=memory_id.full,
        kind=MemoryKind.ENTITY,
        state=MemoryState.REPLACED if is_merged else MemoryState.CURRENT,
        text=entity.canonical_name,
        content=entity.canonical_name,
        about=entity.entity_type,
        created_at=entity.created_at,
        replaced_by=str(MemoryId.of(MemoryKind.ENTITY, survivor)) if is_merged else None,
        fields={each.name: getattr(entity, each.name) for each in fields(entity)},
    )
