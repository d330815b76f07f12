"""Receipts: what became of an ended conversation, of the room that its memory needed, and of an import."""

import asyncio
from dataclasses import dataclass
from enum import StrEnum

from commonplace.apps.compaction.conflicts import Conflict
from commonplace.apps.conversations import Conversation
from commonplace.apps.memories import Memory


class DigestOutcome(StrEnum):
    """What became of the digest of a conversation."""

    CREATED = "created"
    NOTHING = "nothing"
    """Nothing in it is worth keeping."""
    REFUSED = "refused"
    """All that it came to looks like a secret."""
    SKIPPED = "skipped"
    """It failed; ending the conversation once more tries again."""
    DEFERRED = "deferred"
    """It waits for energy, or for tokens of the model."""
    REPEATED = "repeated"
    """It was made before, or somebody is at it."""
    DROPPED = "dropped"
    """The app's memories were purged meanwhile, or the app with its conversations."""


class CompactionAction(StrEnum):
    """What was done to get back to ten memories."""

    DELETE = "delete"
    EDIT = "edit"
    NONE = "none"
    """There was room."""
    DEFERRED = "deferred"
    """It waits; until then the space holds more than ten, of which ten are shown."""
    FAILED = "failed"
    """The database would not do it; the next digest of the app tries again."""


class Decider(StrEnum):
    """Who decided what goes."""

    MODEL = "model"
    RULE = "rule"
    """The model only picks sentences, so a rule decides (:mod:`~commonplace.apps.compaction.decision`)."""
    FIFO = "fifo"
    """The fallback: first in, first out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionReceipt:
    """How a space got back to ten memories.

    Attributes:
        app_id: Whose memories.
        action: What was done.
        decider: Who decided; ``None`` where nothing was done.
        removed: The memories that went.
        edited: The memory that got a new text, as it is now.
        reason: Why, in words of the decider.
        fallback: What failed, where first in, first out stood in for the model.
    """

    app_id: str
    action: CompactionAction
    decider: Decider | None = None
    removed: tuple[Memory, ...] = ()
    edited: Memory | None = None
    reason: str = ""
    fallback: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestReceipt:
    """What became of the digest of a conversation.

    Attributes:
        app_id: The app.
        conversation_id: The conversation.
        outcome: What became of it.
        reason: Why, in words.
        memory: The memory that was made; a compaction may have merged it into another since.
        compactions: What making room for it took.
        conflicts: Memories that disagree with it.
        extractive: Whether its sentences were picked, not written.
    """

    app_id: str
    conversation_id: str
    outcome: DigestOutcome
    reason: str = ""
    memory: Memory | None = None
    compactions: tuple[CompactionReceipt, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    extractive: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EndReceipt:
    """A conversation that has ended, durably, and its digest, which is under way.

    Attributes:
        conversation: As it is now.
        repeated: Whether it had ended before.
        digest: The work in the background.
    """

    conversation: Conversation
    repeated: bool
    digest: asyncio.Task[DigestReceipt]

    async def digested(self) -> DigestReceipt:
        """Wait for the digest; giving up waiting does not stop it."""
        return await asyncio.shield(self.digest)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A memory of an import that was not taken: which one of the document, from 0, and why."""

    index: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReceipt:
    """What became of an import.

    Attributes:
        app_id: Where the memories went.
        added: Those that are new, the oldest first.
        known: How many the app had already.
        refused: Those that were not taken.
        shortened: Which ones of the document, from 0, were added without all of their text.
    """

    app_id: str
    added: tuple[Memory, ...]
    known: int
    refused: tuple[Refusal, ...]
    shortened: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareReceipt:
    """What showing a memory to another app changed."""

    memory_id: int
    to_app_id: str
    changed: bool
