"""Receipts of digests, compactions, imports, purges and shares."""

import asyncio
from dataclasses import dataclass
from enum import StrEnum

from commonplace.apps.model.conflicts import Contradiction
from commonplace.apps.model.conversations import Conversation
from commonplace.apps.model.memories import Digest


class DigestOutcome(StrEnum):
    """The outcome of digesting a conversation."""

    CREATED = "created"
    NOTHING = "nothing"
    """The conversation has no content worth keeping."""
    REFUSED = "refused"
    """The whole digest looks like a secret."""
    SKIPPED = "skipped"
    """The digest failed; ending the conversation again retries it."""
    DEFERRED = "deferred"
    """The digest waits for energy, or for the model."""
    REPEATED = "repeated"
    """The digest exists, or another worker is making it."""
    DROPPED = "dropped"
    """The app's memories, or the app itself, were purged meanwhile."""


class CompactionAction(StrEnum):
    """The action that brought a space back to ten memories."""

    DELETE = "delete"
    EDIT = "edit"
    NONE = "none"
    """The space had room."""
    DEFERRED = "deferred"
    """The compaction waits; until then the space holds more than ten memories, and ten are shown."""
    FAILED = "failed"
    """The database failed; the next digest of the app retries the compaction."""


class Decider(StrEnum):
    """The part that chose the memory to remove."""

    MODEL = "model"
    RULE = "rule"
    """The extractive model cannot decide, so a rule does (:mod:`~commonplace.apps.rules.compaction_decision`)."""
    FIFO = "fifo"
    """The fallback: the oldest memory is removed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionReceipt:
    """The result of bringing a space back to ten memories.

    Attributes:
        decider: Who decided; ``None`` if nothing was done.
        edited: The memory with a new text, after the edit.
        fallback: The failure that made the compactor fall back on first in, first out.
    """

    app_id: str
    action: CompactionAction
    decider: Decider | None = None
    removed: tuple[Digest, ...] = ()
    edited: Digest | None = None
    reason: str = ""
    fallback: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestReceipt:
    """The result of digesting a conversation.

    Attributes:
        memory: The new memory; a compaction may have merged it into another one since.
        compactions: The compactions that made room for it.
        extractive: Whether its sentences were picked, not written.
    """

    app_id: str
    conversation_id: str
    outcome: DigestOutcome
    reason: str = ""
    memory: Digest | None = None
    compactions: tuple[CompactionReceipt, ...] = ()
    conflicts: tuple[Contradiction, ...] = ()
    extractive: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EndReceipt:
    """The durable end of a conversation, and its running digest.

    Attributes:
        repeated: Whether it had ended before.
    """

    conversation: Conversation
    repeated: bool
    digest: asyncio.Task[DigestReceipt]

    async def digested(self) -> DigestReceipt:
        """Wait for the digest; cancelling the wait does not stop the digest."""
        return await asyncio.shield(self.digest)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A memory that an import refused: its position in the document, from 0, and the reason."""

    index: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReceipt:
    """The result of an import.

    Attributes:
        added: The new memories, oldest first.
        known: The number of memories that the app already had.
        shortened: Positions in the document, from 0, of memories that lost some of their text.
    """

    app_id: str
    added: tuple[Digest, ...]
    known: int
    refused: tuple[Refusal, ...]
    shortened: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgeReceipt:
    """The result of purging an app's memories; ``deleted`` counts them."""

    app_id: str
    deleted: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareReceipt:
    """The result of sharing or unsharing a memory; ``changed`` tells whether anything changed."""

    memory_id: int
    to_app_id: str
    changed: bool
