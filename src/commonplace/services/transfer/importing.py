"""Import of items. Existing memories stay unchanged, so an import can be repeated."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from commonplace.apps import AppMemory
from commonplace.core.clock import format_timestamp
from commonplace.core.errors import ConflictError, InvalidInputError, NotFoundError, SecretRefusedError
from commonplace.core.quoting import quoted
from commonplace.core.request_context import current_context, request_context
from commonplace.core.sources import RANKS, Source
from commonplace.knowledge import EpisodeDraft, FactDraft, KnowledgeMemory, RuleDraft, Validity
from commonplace.operational import OperationalMemory
from commonplace.services.transfer.exporting import export, export_facts
from commonplace.services.transfer.items import (
    KINDS,
    TEXT_FIELD,
    DigestItem,
    EntityItem,
    Item,
    OperationalItem,
    PastItem,
    Unreadable,
    WorkspaceItem,
    identity,
    kind_of,
)
from commonplace.services.transfer.refusals import refusal_of
from commonplace.services.transfer.rewordings import KnownTexts
from commonplace.workspace import WorkspaceMemory

BATCH: Final = 500
"""Facts, rules or episodes that are stored with one computation of vectors."""


class ItemOutcome(StrEnum):
    """The outcome of the import of one item."""

    NEW = "new"
    REPLACES = "replaces"
    """A fact whose subject and predicate exist with other content; the old fact is kept as superseded."""
    HELD = "held"
    """A fact that contradicts a more trusted one; it waits for a person."""
    KNOWN = "known"
    REWORDED = "reworded"
    """An item that says in other words what a memory says that was there before the import; it is not stored."""
    PAST = "past"
    """A memory that was no longer current when it was exported; it is not stored."""
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """An item with the outcome of its import; ``reason`` says why it was refused, or what says the same."""

    item: Item | PastItem | Unreadable
    outcome: ItemOutcome
    reason: str = ""

    @property
    def kind(self) -> str:
        """The kind of the item; empty if it could not be read."""
        return "" if isinstance(self.item, Unreadable) else kind_of(_item(self.item))

    @property
    def text(self) -> str:
        """The text of the item, with the key of a fact; for an item that could not be read, its place."""
        if isinstance(self.item, Unreadable):
            return self.item.place
        return _text(_item(self.item))


def _item(item: Item | PastItem) -> Item:
    return item.item if isinstance(item, PastItem) else item


def _text(item: Item) -> str:
    key = f"{item.subject} {item.predicate}: " if isinstance(item, FactDraft) else ""
    return f"{key}{getattr(item, TEXT_FIELD[kind_of(item)])}"


def counts(imported: Iterable[Imported]) -> dict[str, int]:
    """Return how many items had each outcome."""
    found = Counter(each.outcome for each in imported)
    return {outcome.value: found[outcome] for outcome in ItemOutcome}


class Importer:
    """Stores items in the memories of a home.

    Args:
        knowledge: Takes entities, facts, rules and episodes, for its tenant.
        allow_secrets: Whether text that looks like a secret is stored.
    """

    def __init__(
        self,
        knowledge: KnowledgeMemory,
        operational: OperationalMemory,
        workspace: WorkspaceMemory,
        apps: AppMemory,
        *,
        allow_secrets: bool = False,
    ) -> None:
        self._knowledge = knowledge
        self._operational = operational
        self._workspace = workspace
        self._apps = apps
        self._allow_secrets = allow_secrets
        self._entities: dict[str, str] = {}
        self._same: dict[str, str] = {}

    async def plan(self, read: Iterable[Item | PastItem | Unreadable]) -> list[Imported]:
        """Return the outcome that an import would have for each item, without writing anything.

        Unreadable parts come first, then the items in the order in which they are stored.

        Raises:
            StorageError: A memory cannot be read.
        """
        known: set[tuple[object, ...]] = set()
        texts = KnownTexts(self._trust)
        trusts: dict[tuple[object, ...], Source] = {}
        entities: dict[tuple[object, ...], str] = {}
        first: dict[tuple[object, ...], str] = {}
        async for exported in export(self._knowledge, self._operational, self._workspace, self._apps):
            if exported.is_past:
                continue
            item = exported.item
            known.add(identity(item))
            texts.add(item)
            if isinstance(item, FactDraft):
                trusts[_fact_key(item)] = Source(item.source)
            elif isinstance(item, EntityItem):
                entities[identity(item)] = item.id
        waiting = {
            (identity(each.item), Source(each.item.source))
            async for each in export_facts(self._knowledge, Validity.HELD)
            if isinstance(each.item, FactDraft)
        }
        planned, items = _sorted(read)
        for item in items:
            if isinstance(item, EntityItem):
                self._same[item.id] = first.setdefault(identity(item), item.id)
                if identity(item) in entities:
                    self._entities[item.id] = entities[identity(item)]
            if isinstance(item, FactDraft) and (identity(item), self._trust(item)) in waiting:
                known.add(identity(item))
        planned += await asyncio.to_thread(
            lambda: [self._planned(item, known, texts, trusts) for item in items]
        )
        return planned

    def _planned(
        self,
        item: Item,
        known: set[tuple[object, ...]],
        texts: KnownTexts,
        trusts: dict[tuple[object, ...], Source],
    ) -> Imported:
        if identity(item) in known:
            return Imported(item=item, outcome=ItemOutcome.KNOWN)
        refusal = refusal_of(item, allow_secrets=self._allow_secrets)
        if refusal is not None:
            return Imported(item=item, outcome=ItemOutcome.REFUSED, reason=refusal)
        same = texts.repeated(item)
        if same is not None:
            reason = f"says the same as {quoted(_text(same))}"
            return Imported(item=item, outcome=ItemOutcome.REWORDED, reason=reason)
        known.add(identity(item))
        if not isinstance(item, FactDraft):
            return Imported(item=item, outcome=ItemOutcome.NEW)
        trust, current = self._trust(item), trusts.get(_fact_key(item))
        if current is not None and RANKS[current] > RANKS[trust]:
            return Imported(item=item, outcome=ItemOutcome.HELD)
        trusts[_fact_key(item)] = trust
        return Imported(item=item, outcome=ItemOutcome.NEW if current is None else ItemOutcome.REPLACES)

    def _trust(self, item: FactDraft | RuleDraft) -> Source:
        """Return the less trusted of the source of the import and the source that an item names."""
        named = Source(item.source) if item.source else self._knowledge.source
        return min(named, self._knowledge.source, key=RANKS.__getitem__)

    async def store(self, planned: Sequence[Imported]) -> list[Imported]:
        """Store the new items of a plan, and return the outcome of each item.

        Raises:
            StorageError: A memory cannot be written. Items stored before stay; the import can be repeated.
        """
        done: list[Imported] = []
        batch: list[Imported] = []
        for each in planned:
            if batch and (len(batch) == _batch_size(batch[0].item) or batch[0].kind != each.kind):
                done += await self._store_batch(batch)
                batch = []
            if each.outcome in {ItemOutcome.NEW, ItemOutcome.REPLACES, ItemOutcome.HELD}:
                batch.append(each)
            else:
                done.append(each)
        return done + (await self._store_batch(batch) if batch else [])

    async def _store_batch(self, batch: list[Imported]) -> list[Imported]:
        """Store items of one kind together. If one item is refused, nothing is stored, and each item is tried alone."""
        try:
            held = await self._store_items(
                [each.item for each in batch if not isinstance(each.item, PastItem | Unreadable)]
            )
        except (InvalidInputError, SecretRefusedError) as error:
            if len(batch) == 1:
                return [replace(batch[0], outcome=ItemOutcome.REFUSED, reason=str(error))]
            return [done for each in batch for done in await self._store_batch([each])]
        return [_as_stored(each, is_held=place in held) for place, each in enumerate(batch)]

    async def _store_items(self, items: Sequence[Item]) -> set[int]:
        """Store items of one kind, and return the places of the facts that are held."""
        allow = self._allow_secrets
        facts = [self._with_entity(item) for item in items if isinstance(item, FactDraft)]
        rules = [item for item in items if isinstance(item, RuleDraft)]
        episodes = [item for item in items if isinstance(item, EpisodeDraft)]
        receipts = await self._knowledge.store_facts(facts, allow_secrets=allow)
        await self._knowledge.store_rules(rules, allow_secrets=allow)
        await self._knowledge.store_episodes(episodes, allow_secrets=allow)
        with _as_import():
            for item in items:
                if isinstance(item, EntityItem | DigestItem | OperationalItem | WorkspaceItem):
                    await self._store_one(item)
        return {place for place, receipt in enumerate(receipts) if receipt.contradicts_id is not None}

    async def _store_one(self, item: EntityItem | DigestItem | OperationalItem | WorkspaceItem) -> None:
        allow = self._allow_secrets
        match item:
            case EntityItem():
                made = await self._knowledge.entities.create(
                    canonical_name=item.name,
                    entity_type=item.entity_type,
                    aliases=item.aliases,
                    metadata=item.metadata,
                    allow_secrets=allow,
                )
                self._entities[item.id] = str(made.id)
            case DigestItem():
                await self._store_digest(item)
            case OperationalItem():
                await self._operational.add(
                    category=item.category,
                    observation=item.observation,
                    service=item.service,
                    confidence=item.confidence,
                    updated_at=item.updated_at,
                    allow_secrets=allow,
                )
            case WorkspaceItem():
                await self._workspace.store(
                    item.text,
                    tags=item.tags,
                    scope=item.scope,
                    allow_secrets=allow,
                    is_new=False,
                    created_at=item.created_at,
                )

    async def _store_digest(self, item: DigestItem) -> None:
        """Store a digest with its times; its app is installed if it is not there."""
        try:
            await self._apps.registry.get(item.app_id)
        except NotFoundError:
            await self._apps.registry.register(item.app_id, name=item.app_name)
        memory = {
            "content": item.content,
            "createdAt": format_timestamp(item.created_at),
            "updatedAt": format_timestamp(item.updated_at),
            "userId": item.user_id,
            "sourceConversationId": item.source_conversation_id,
            "metadata": dict(item.metadata or {}),
        }
        receipt = await self._apps.import_document(item.app_id, {"memories": [memory]})
        for refusal in receipt.refused:
            raise ConflictError("digest", f"the digest {refusal.reason}", item.content)

    def _with_entity(self, fact: FactDraft) -> FactDraft:
        """Return a fact with the id of its entity in this home; no entity if it was refused or is missing."""
        given = str(fact.entity_id)
        return replace(fact, entity_id=self._entities.get(self._same.get(given, given)))


def _sorted(read: Iterable[Item | PastItem | Unreadable]) -> tuple[list[Imported], list[Item]]:
    """Return the outcomes of what is not stored in any case, and the items in the order in which they are stored."""
    planned: list[Imported] = []
    items: list[Item] = []
    for each in read:
        if isinstance(each, Unreadable):
            reason = f"{each.place}: {each.reason}"
            planned.append(Imported(item=each, outcome=ItemOutcome.REFUSED, reason=reason))
        elif isinstance(each, PastItem):
            planned.append(Imported(item=each, outcome=ItemOutcome.PAST))
        else:
            items.append(each)
    return planned, sorted(items, key=lambda item: list(KINDS).index(kind_of(item)))


def _as_import() -> AbstractContextManager[object]:
    """Name the import as the source of the texts. The person who starts an import has not approved each text."""
    context = current_context()
    if context is None:
        return nullcontext()
    return request_context(tenant_id=context.tenant_id, actor=context.actor, source=Source.IMPORT)


def _as_stored(planned: Imported, *, is_held: bool) -> Imported:
    """Return the outcome of a stored item, which another process or flags of its text may have changed."""
    if is_held is (planned.outcome is ItemOutcome.HELD):
        return planned
    return replace(planned, outcome=ItemOutcome.HELD if is_held else ItemOutcome.REPLACES)


def _batch_size(item: Item | PastItem | Unreadable) -> int:
    """Return how many items of this kind are stored in one transaction."""
    return BATCH if isinstance(item, FactDraft | RuleDraft | EpisodeDraft) else 1


def _fact_key(fact: FactDraft) -> tuple[object, ...]:
    return (fact.scope, fact.subject, fact.predicate)
