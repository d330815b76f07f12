"""The JSON of app memory."""

import math
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field

from commonplace.apps import (
    APP_ID,
    FORMAT,
    App,
    Conversation,
    Digest,
    DigestReceipt,
    EnergyStatus,
    Id,
    ImportReceipt,
    ListedApp,
    MemoryContext,
    Messages,
    Metadata,
    Name,
    QueuedDigest,
    RegisteredApp,
    Statistics,
)
from commonplace.core.instructions import Flag
from commonplace.web.http.paging import CountedPageShape
from commonplace.web.http.shape import RequestShape, Shape, shows


@shows(Digest, without={"quarantine"})
class MemoryShape(Shape):
    """A digest of an app.

    Attributes:
        id: unique; not reused after deletion
        content: one paragraph, about 200 characters at most
        updated_at: the time of the creation or the last merge
        source_conversation_id: the conversation that the digest came from
        user_id: the owner; null if all users share the digest
        metadata: importance (0 to 10), tags, relatedConversations and other keys
        flags: reasons why no prompt shows the digest until a person confirms it
    """

    metadata: Annotated[dict[str, Any], BeforeValidator(Metadata.as_dict)]
    flags: list[Flag]


class MemoriesShape(Shape):
    """All digests of an app, newest first."""

    memories: list[MemoryShape]


class MemoriesPageShape(MemoriesShape, CountedPageShape):
    """A page of the digests of an app, newest first."""


@shows(MemoryContext)
class ContextShape(Shape):
    """The digests that a model sees when a conversation of the app is in focus.

    Attributes:
        text: the block for a prompt; empty if there are no digests
        memories: the digests in the block, newest first
    """

    memories: list[MemoryShape]


class DeletedShape(Shape):
    """A deleted digest."""

    success: Literal[True] = True


class PurgedShape(DeletedShape):
    """The result of a purge.

    Attributes:
        deleted_count: the number of deleted digests
    """

    deleted_count: int


class NewApp(RequestShape):
    """An app to install.

    Attributes:
        app_id: letters, digits, or `. : @ + - _` after the first character
        name: the name that models see; by default the id
    """

    app_id: str = Field(pattern=APP_ID)
    name: Name | None = None


@shows(App)
class InstalledAppShape(Shape):
    """An installed app.

    Attributes:
        name: the name that models see
    """


@shows(RegisteredApp)
class RegisteredAppShape(InstalledAppShape):
    """An app with the outcome of its registration."""


class AppShape(InstalledAppShape):
    """An app.

    Attributes:
        status: the digests of an uninstalled app stay until they are purged
    """

    memory_count: int

    @classmethod
    def of(cls, listed: ListedApp) -> Self:
        """Show an app."""
        return cls.model_validate(asdict(listed.app) | {"memory_count": listed.memories})


class AppsShape(CountedPageShape):
    """A page of apps, by id."""

    apps: list[AppShape]


class NewMessages(RequestShape):
    """Messages of a conversation, in order."""

    messages: Messages


class NewConversation(RequestShape):
    """A conversation to begin.

    Attributes:
        conversation_id: unique among all apps
        user_id: the owner of its digest; null if all users share the digest
    """

    conversation_id: Id
    user_id: Id | None = None


@shows(Conversation)
class ConversationShape(Shape):
    """A conversation of an app.

    Attributes:
        user_id: the owner of its digest; null if all users share the digest
        last_role: the speaker of the last message
        memories_shown: the number of digests that its model saw; null until its context is built
    """


@shows(DigestReceipt, without={"compactions", "conflicts"})
class DigestReceiptShape(Shape):
    """The result of digesting a conversation.

    Attributes:
        reason: the reason for the outcome
        memory: the new digest; null if there is none
        extractive: whether the sentences were picked by a rule, not written by a model
    """

    memory: MemoryShape | None


class EndedShape(Shape):
    """An ended conversation.

    Attributes:
        repeated: whether the conversation had ended before
        digest: null if the digest is made in the background
    """

    conversation: ConversationShape
    repeated: bool
    digest: DigestReceiptShape | None


class HitShape(Shape):
    """A search result.

    Attributes:
        score: 0 to 1: the share of the words in the digest, or the cosine similarity
        words: the words of the query that the digest contains
    """

    memory: MemoryShape
    score: float
    words: list[str]


class HitsShape(Shape):
    """Search results, best first."""

    hits: list[HitShape]


class ExportedAppShape(Shape):
    """The app of a document."""

    app_id: str
    name: str


class ExportedMemoryShape(Shape):
    """A digest in a document."""

    id: int
    content: str
    created_at: datetime
    updated_at: datetime
    source_conversation_id: str | None
    user_id: str | None
    metadata: dict[str, Any]


class ExportShape(Shape):
    """All digests of an app, for a backup or an import."""

    format: Literal["commonplace-app-memories"] = FORMAT
    version: Literal[1] = 1
    exported_at: datetime
    app: ExportedAppShape
    memories: list[ExportedMemoryShape]


class RefusalShape(Shape):
    """A digest of a document that was refused.

    Attributes:
        index: the position in the document, from 0
    """

    index: int
    reason: str


@shows(ImportReceipt, without={"app_id", "known"})
class ImportShape(Shape):
    """The result of an import.

    Attributes:
        known_count: the number of digests that the app already had
        shortened: the positions of digests whose text was shortened, from 0
    """

    added: list[MemoryShape]
    known_count: int = Field(validation_alias="known")
    refused: list[RefusalShape]


@shows(EnergyStatus, without={"wait_s"})
class EnergyShape(Shape):
    """The energy budget of digests and compactions.

    Attributes:
        level: the units left
        capacity: the units of a full budget
        share: the level as a share of the capacity, 0 to 1
        low: whether digests and compactions wait
        wait_seconds: the seconds until they run; 0: now; null: never, because the budget does not refill
        spent_last_day: the units spent in the last 24 hours, by operation
    """

    wait_seconds: float | None
    spent_last_day: Mapping[str, float]

    @classmethod
    def of(cls, energy: EnergyStatus, spent: Mapping[str, float]) -> Self:
        """Show the level and the units spent."""
        wait_seconds = None if math.isinf(energy.wait_s) else energy.wait_s
        return cls.model_validate(asdict(energy) | {"wait_seconds": wait_seconds, "spent_last_day": spent})


@shows(QueuedDigest, without={"outcome"})
class DigestShape(Shape):
    """An ended conversation without a digest.

    Attributes:
        state: waiting, deferred until there is energy, or running in a process that ended
        reason: the reason why the digest waits
        updated_at: the last change of the state
    """


class DigestsShape(CountedPageShape):
    """A page of waiting digests, oldest first; running digests are left out."""

    digests: list[DigestShape]


@shows(Statistics, without={"energy_last_day"})
class StatisticsShape(Shape):
    """Statistics of app memory, across all processes and restarts.

    Attributes:
        apps: all apps, including uninstalled apps
        utilisation: the share of apps with digests, 0 to 1
        average_chars: the mean length of a digest
        compactions_last_day: compactions in the last 24 hours, by app
        in_focus: conversations whose model received a context
        injection_rate: the share of these conversations whose context had a digest, 0 to 1
        digests: digests by state
        fullest: the number of digests of the largest apps, at most 20 apps
    """

    energy: EnergyShape

    @classmethod
    def of(cls, figures: Statistics) -> Self:
        """Show the statistics."""
        energy = EnergyShape.of(figures.energy, figures.energy_last_day)
        return cls.model_validate(asdict(figures) | {"energy": energy})
