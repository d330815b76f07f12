"""The review queue of one caller: every door lists, decides and undoes through it."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from commonplace.core.choices import require_one_of
from commonplace.core.errors import CommonplaceError, InvalidInputError, NotFoundError, UndoRefusedError
from commonplace.core.request_context import request_context
from commonplace.core.sources import Source
from commonplace.services.review import deleted_notes, knowledge, notes, observations, quarantine
from commonplace.services.review.ids import ItemId, ItemKind
from commonplace.services.review.items import DecisionReceipt, Item, ReviewVerdict, Topic

if TYPE_CHECKING:
    from commonplace.services.opening import Memories

MOST: Final = 1_000
"""The maximum number of items of each kind."""

_OF_INSTALLATION: Final = frozenset({ItemKind.OBSERVATIONS, ItemKind.QUARANTINED})
"""The kinds of items that belong to the installation; the others belong to a tenant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The items of a queue: pairs of observations and of notes, memories in quarantine, then items of knowledge memory.

    Attributes:
        problem: Why knowledge memory is left out; ``None`` if it is not.
    """

    items: list[Item] = field(default_factory=list[Item])
    problem: CommonplaceError | None = None

    def of_topic(self, topic: Topic | None) -> list[Item]:
        """Return the items of one topic, or all items for ``None``."""
        return [item for item in self.items if topic in {None, item.topic}]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewQueue:
    """The items that wait for a person in the memories that a caller may see.

    Decisions are made in the name of the tenant, actor and source of ``memories.knowledge``; see
    :meth:`~commonplace.knowledge.KnowledgeMemory.acting_for`.

    Attributes:
        memories: The open memories.
        sees_installation: Whether the caller may see operational, app and workspace memory; a caller of another tenant
            sees knowledge memory only.
        lists_knowledge: Whether to list items of knowledge memory; a list must not create its database.
    """

    memories: "Memories"
    sees_installation: bool = True
    lists_knowledge: bool = True

    async def list_items(self, *, decided: bool = False) -> Listing:
        """Return the items that wait, or the decided pairs; at most :data:`MOST` of each kind.

        If knowledge memory cannot be read, the listing has the other items and the problem.

        Raises:
            StorageError: Operational, app or workspace memory cannot be read.
        """
        items: list[Item] = []
        if self.sees_installation:
            items += await observations.list_pairs(self.memories.operational, decided=decided, limit=MOST)
            items += await notes.list_pairs(self.memories.workspace, decided=decided, limit=MOST)
        if self.sees_installation and not decided:
            items += await quarantine.list_items(self.memories, limit=MOST)
        if not self.lists_knowledge:
            return Listing(items=items)
        try:
            items += await knowledge.list_items(self.memories.knowledge, decided=decided, limit=MOST)
            items += [] if decided else await deleted_notes.list_items(self.memories.knowledge, limit=MOST)
        except CommonplaceError as error:
            return Listing(items=items, problem=error)
        return Listing(items=items)

    async def count_pairs(self) -> int:
        """Return how many pairs of observations wait for the caller, with one statement."""
        return await self.memories.operational.reviews.count() if self.sees_installation else 0

    async def decide(self, item_id: str, verdict: str) -> DecisionReceipt:
        """Decide about an item.

        Raises:
            InvalidInputError: The id is malformed, the verdict does not fit the item, or a person must decide.
            ConflictError: The item is decided, or its state does not allow the decision.
            NotFoundError: The item does not exist, or does not belong to the caller.
            StorageError: A memory cannot be read or written.
        """
        key = self._visible(item_id)
        word = require_one_of(ReviewVerdict, verdict, field="verdict")
        if word not in key.verdicts:
            raise InvalidInputError("verdict", f"one of {', '.join(key.verdicts)} for {key}", str(word))
        with self._acting():
            if key.kind is ItemKind.OBSERVATIONS:
                return await observations.decide(self.memories.operational, key, word)
            if key.is_of_notes:
                return await notes.decide(self.memories.workspace, key, word)
            if key.kind is ItemKind.QUARANTINED:
                self._require_person(key)
                return await quarantine.decide(self.memories, key, word)
            return await knowledge.decide(self.memories.knowledge, key, word)

    async def undo(self, item_id: str) -> DecisionReceipt:
        """Undo the decision about an item, which then waits again.

        Raises:
            InvalidInputError: The id is malformed.
            ConflictError: The item is not decided, or the decision can no longer be undone.
            NotFoundError: The item does not exist, or does not belong to the caller.
            StorageError: A memory cannot be read or written.
        """
        key = self._visible(item_id)
        if key.kind is ItemKind.QUARANTINED:
            reason = "a person approved the text, or the memory was deleted"
            raise UndoRefusedError("id", "the decision", reason, str(key))
        with self._acting():
            if key.kind is ItemKind.OBSERVATIONS:
                return await observations.undo(self.memories.operational, key)
            if key.is_of_notes:
                return await notes.undo(self.memories.workspace, key)
            return await knowledge.undo(self.memories.knowledge, key)

    def _visible(self, item_id: str) -> ItemId:
        """Return the id of an item that the caller may see."""
        key = ItemId.parse(item_id)
        if (key.kind in _OF_INSTALLATION or key.is_of_notes) and not self.sees_installation:
            raise NotFoundError("item", str(key))
        return key

    def _require_person(self, key: ItemId) -> None:
        """Refuse an agent, which could approve its own instructions."""
        if self.memories.knowledge.source is not Source.PERSON:
            expected = "an item that an agent may decide about; ask the user"
            raise InvalidInputError("id", expected, str(key))

    @contextmanager
    def _acting(self) -> Generator[None]:
        """Act as the tenant, actor and source of knowledge memory inside the block."""
        caller = self.memories.knowledge
        with request_context(tenant_id=caller.tenant_id, actor=caller.actor, source=caller.source):
            yield
