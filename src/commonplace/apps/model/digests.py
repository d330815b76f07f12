"""Digests: the request, the text of the answer, and the queue."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import zip_longest
from typing import Any, Final

from commonplace.apps.model.conflicts import Contradiction
from commonplace.apps.model.conversations import Message, require_message
from commonplace.apps.model.memories import Digest, DigestDraft
from commonplace.apps.model.receipts import (
    CompactionAction,
    CompactionReceipt,
    DigestOutcome,
    DigestReceipt,
)
from commonplace.core.clock import format_timestamp, parse_timestamp
from commonplace.core.secrets import mask_secrets
from commonplace.storage.rows import Noun


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryCreationRequest:
    """A conversation to digest.

    Attributes:
        app_id: The app that it belongs to.
        conversation_id: The source of the memory.
        messages: The messages in order.
        conversation_summary: The host's summary, or an empty text.
        user_id: The user whose space receives the memory; ``None`` for the app's common space.
        ended_at: When the conversation ended (aware), if known.
    """

    app_id: str
    conversation_id: str
    messages: tuple[Message, ...]
    conversation_summary: str = ""
    user_id: str | None = None
    ended_at: datetime | None = None

    @classmethod
    def from_sides(
        cls,
        *,
        app_id: str,
        conversation_id: str,
        user_messages: Sequence[str],
        assistant_messages: Sequence[str],
        conversation_summary: str = "",
    ) -> "MemoryCreationRequest":
        """Build a request from the messages of each side; the user begins, and the sides take turns."""
        turns = zip_longest(user_messages, assistant_messages)
        said = [
            require_message(role, text)
            for turn in turns
            for role, text in zip(("user", "assistant"), turn, strict=True)
            if text is not None
        ]
        return cls(
            app_id=app_id,
            conversation_id=conversation_id,
            messages=tuple(said),
            conversation_summary=conversation_summary,
        )

    @property
    def chars(self) -> int:
        """The length of the conversation, which determines its cost in energy."""
        return sum(len(message.content) for message in self.messages)

    def to_json(self) -> str:
        """Return the JSON text for the queue, with its secrets masked."""
        said = [{"role": message.role, "content": mask_secrets(message.content)} for message in self.messages]
        ended_at = None if self.ended_at is None else format_timestamp(self.ended_at)
        return json.dumps(
            {
                "messages": said,
                "summary": mask_secrets(self.conversation_summary),
                "user_id": self.user_id,
                "ended_at": ended_at,
            }
        )

    @classmethod
    def from_json(cls, app_id: str, conversation_id: str, text: str) -> "MemoryCreationRequest":
        """Read the JSON text of the queue."""
        values: dict[str, Any] = json.loads(text)
        ended_at = values.get("ended_at")
        return cls(
            app_id=app_id,
            conversation_id=conversation_id,
            messages=tuple(Message(**message) for message in values["messages"]),
            conversation_summary=values["summary"],
            user_id=values["user_id"],
            ended_at=None if ended_at is None else parse_timestamp(ended_at),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestText:
    """The text of a memory from a model's answer.

    Attributes:
        content: The memory's text; ``None`` if nothing is worth keeping, or all of it looks like secrets.
        secrets: The kinds of secrets in the sentences that were left out.
        refused: Whether the model refused to answer.
    """

    content: str | None
    secrets: tuple[str, ...] = ()
    refused: bool = False


class DigestState(StrEnum):
    """The state of a digest in the queue."""

    WAITING = "waiting"
    RUNNING = "running"
    DEFERRED = "deferred"
    DONE = "done"


class ListedState(StrEnum):
    """The states by which digests are listed."""

    WAITING = "waiting"
    RUNNING = "running"
    DEFERRED = "deferred"
    SKIPPED = "skipped"
    FAILED = "failed"
    """Another name of skipped digests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestClaim:
    """The right to make the digest of a conversation."""

    app_id: str
    conversation_id: str
    token: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedDigest(Noun):
    """One row of the queue; ``updated_at`` is the last change of its state."""

    app_id: str
    conversation_id: str
    state: DigestState
    outcome: DigestOutcome | None
    reason: str
    updated_at: datetime


COMPLETED: Final = "completed"


@dataclass(frozen=True, slots=True, kw_only=True)
class CatchUp:
    """The receipts of work that had been waiting."""

    digests: tuple[DigestReceipt, ...]
    compactions: tuple[CompactionReceipt, ...]

    @property
    def waiting(self) -> bool:
        """Whether some of the work still waits."""
        return any(one.outcome is DigestOutcome.DEFERRED for one in self.digests) or any(
            one.action is CompactionAction.DEFERRED for one in self.compactions
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DatedDigest(QueuedDigest):
    """A digest in the queue, with the time when it was queued."""

    queued_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenDigests:
    """At most fifty open digests, the longest waiting first, and the number of all open digests."""

    digests: list[DatedDigest]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestAttempt:
    """The result of an attempt at a digest; its receipt adds the conversation.

    Attributes:
        memory: The new memory; ``None`` for every outcome but ``created``.
        conflicts: The memories that contradict the new one.
        compactions: The compactions that made room for it.
        extractive: Whether its sentences were picked, not written.
    """

    outcome: DigestOutcome
    reason: str = ""
    memory: Digest | None = None
    conflicts: tuple[Contradiction, ...] = ()
    compactions: tuple[CompactionReceipt, ...] = ()
    extractive: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A memory that an attempt may store.

    Attributes:
        vector: Its vector in the stored form; ``None`` if the embedding engine does not work.
        reason: What was left out of the text; empty if nothing was.
    """

    draft: DigestDraft
    vector: bytes | None = None
    reason: str = ""
    extractive: bool = False
