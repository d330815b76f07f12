"""The JSON of app memory."""

import math
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BeforeValidator, Field

from commonplace.apps import (
    APP_ID,
    FORMAT,
    MAX_ID_CHARS,
    MAX_MESSAGE_CHARS,
    MAX_NAME_CHARS,
    App,
    AppStatus,
    Conversation,
    DigestReceipt,
    DigestState,
    EnergyStatus,
    ImportReceipt,
    ListedApp,
    Memory,
    MemoryContext,
    Metadata,
    Speaker,
    Statistics,
)
from commonplace.web.paging import CountedPageShape
from commonplace.web.shape import Shape, Wanted, shows

MOST_MESSAGES: Final = 1000
"""The most messages in one request."""


@shows(
    Memory,
    id="unique; not reused after deletion",
    content="one paragraph, about 200 characters at most",
    updated_at="the time of the creation or the last merge",
    source_conversation_id="the conversation that the digest came from",
    user_id="the owner; null: shared by all users",
)
class MemoryShape(Shape):
    """A memory of an app."""

    metadata: Annotated[dict[str, Any], BeforeValidator(Metadata.as_dict)] = Field(
        description="importance (0 to 10), tags, relatedConversations and other keys"
    )


class MemoriesShape(Shape):
    """All memories of an app, newest first."""

    memories: list[MemoryShape]


class MemoriesPageShape(MemoriesShape, CountedPageShape):
    """A page of the memories of an app, newest first."""


@shows(MemoryContext, text="the block for a prompt; empty if there are no memories")
class ContextShape(Shape):
    """The memories that a model sees when a conversation of the app is in focus."""

    memories: list[MemoryShape] = Field(description="the memories in the block, newest first")


class DeletedShape(Shape):
    """A deleted memory."""

    success: Literal[True] = True


class PurgedShape(DeletedShape):
    """The result of a purge."""

    deleted_count: int = Field(description="the number of deleted memories")


class NewApp(Wanted):
    """An app to install."""

    app_id: str = Field(
        pattern=APP_ID, description="letters, digits, or `. : @ + - _` after the first character"
    )
    name: str | None = Field(
        default=None,
        min_length=1,
        max_length=MAX_NAME_CHARS,
        description="the name that models see; by default the id",
    )


@shows(App, name="the name that models see")
class InstalledAppShape(Shape):
    """An installed app."""


class AppShape(Shape):
    """An app."""

    app_id: str
    name: str = Field(description="the name that models see")
    status: AppStatus = Field(description="memories of an uninstalled app stay until they are purged")
    installed_at: datetime
    uninstalled_at: datetime | None
    memory_count: int

    @classmethod
    def of(cls, listed: ListedApp) -> Self:
        """Show an app."""
        app = listed.app
        return cls(
            app_id=app.app_id,
            name=app.name,
            status=app.status,
            installed_at=app.installed_at,
            uninstalled_at=app.uninstalled_at,
            memory_count=listed.memories,
        )


class AppsShape(CountedPageShape):
    """A page of apps, by id."""

    apps: list[AppShape]


class NewMessage(Wanted):
    """A message of a conversation."""

    role: Speaker
    content: str = Field(
        max_length=MAX_MESSAGE_CHARS, description="secrets in it are masked before it is stored"
    )


class NewMessages(Wanted):
    """Messages of a conversation, in order."""

    messages: list[NewMessage] = Field(min_length=1, max_length=MOST_MESSAGES)


class NewConversation(Wanted):
    """A conversation to begin."""

    conversation_id: str = Field(min_length=1, max_length=MAX_ID_CHARS, description="unique among all apps")
    user_id: str | None = Field(
        default=None,
        min_length=1,
        max_length=MAX_ID_CHARS,
        description="the owner of its memory; null: shared by all users",
    )


@shows(
    Conversation,
    user_id="the owner of its memory; null: shared by all users",
    last_role="the speaker of the last message",
    memories_shown="the number of memories that its model saw; null until its context was built",
)
class ConversationShape(Shape):
    """A conversation of an app."""


@shows(
    DigestReceipt,
    without={"compactions", "conflicts"},
    reason="the reason for the outcome",
    extractive="whether the sentences were picked by rule, not written by a model",
)
class DigestReceiptShape(Shape):
    """The result of digesting a conversation."""

    memory: MemoryShape | None = Field(description="the new memory; null if there is none")


class EndedShape(Shape):
    """An ended conversation."""

    conversation: ConversationShape
    repeated: bool = Field(description="whether the conversation had ended before")
    digest: DigestReceiptShape | None = Field(description="null: the digest is made in the background")


class HitShape(Shape):
    """A search result."""

    memory: MemoryShape
    score: float = Field(description="0 to 1: the share of the words in the memory, or the cosine similarity")
    words: list[str] = Field(description="the words of the query that the memory contains")


class HitsShape(Shape):
    """Search results, best first."""

    hits: list[HitShape]


class ExportedAppShape(Shape):
    """The app of a document."""

    app_id: str
    name: str


class ExportedMemoryShape(Shape):
    """A memory in a document."""

    id: int
    content: str
    created_at: datetime
    updated_at: datetime
    source_conversation_id: str | None
    user_id: str | None
    metadata: dict[str, Any]


class ExportShape(Shape):
    """All memories of an app, for a backup or an import."""

    format: Literal["commonplace-app-memories"] = FORMAT
    version: Literal[1] = 1
    exported_at: datetime
    app: ExportedAppShape
    memories: list[ExportedMemoryShape]


class RefusalShape(Shape):
    """A memory of a document that was refused."""

    index: int = Field(description="the position in the document, from 0")
    reason: str


class ImportShape(Shape):
    """The result of an import."""

    added: list[MemoryShape]
    known_count: int = Field(description="the number of memories that the app already had")
    refused: list[RefusalShape]
    shortened: list[int] = Field(description="the positions of memories whose text was shortened, from 0")

    @classmethod
    def of(cls, receipt: ImportReceipt) -> Self:
        """Show the receipt of an import."""
        return cls.model_validate(
            {
                "added": receipt.added,
                "known_count": receipt.known,
                "refused": receipt.refused,
                "shortened": receipt.shortened,
            }
        )


class EnergyShape(Shape):
    """The energy budget of digests and compactions."""

    level: float = Field(description="the units left")
    capacity: float = Field(description="the units of a full budget")
    share: float = Field(description="the level as a share of the capacity, 0 to 1")
    low: bool = Field(description="whether digests and compactions wait")
    wait_seconds: float | None = Field(
        description="the seconds until they run; 0: now; null: the budget does not refill"
    )
    spent_last_day: dict[str, float] = Field(description="the units spent in the last 24 hours, by operation")

    @classmethod
    def of(cls, energy: EnergyStatus, spent: Mapping[str, float]) -> Self:
        """Show the level and the units spent."""
        return cls(
            level=energy.level,
            capacity=energy.capacity,
            share=energy.share,
            low=energy.low,
            wait_seconds=None if math.isinf(energy.wait_s) else energy.wait_s,
            spent_last_day=dict(spent),
        )


class DigestShape(Shape):
    """An ended conversation without a digest."""

    app_id: str
    conversation_id: str
    state: DigestState = Field(
        description="waiting, deferred until there is energy, or running in a process that ended"
    )
    reason: str = Field(description="the reason why the digest waits")


class DigestsShape(CountedPageShape):
    """A page of waiting digests, oldest first; running digests are left out."""

    digests: list[DigestShape]


class StatisticsShape(Shape):
    """Statistics of app memory, across all processes and restarts."""

    apps: int = Field(description="all apps, including uninstalled apps")
    apps_with_memories: int
    utilisation: float = Field(description="the share of apps with memories, 0 to 1")
    memories: int
    average_chars: float = Field(description="the mean length of a memory")
    created_last_hour: int
    created_last_day: int
    compactions_last_day: dict[str, int] = Field(description="compactions in the last 24 hours, by app")
    conversations: int
    in_focus: int = Field(description="conversations whose model received a context")
    injection_rate: float = Field(description="the share of these whose context had a memory, 0 to 1")
    digests: dict[str, int] = Field(description="digests by state")
    fullest: dict[str, int] = Field(description="memories of the largest apps, at most 20 apps")
    energy: EnergyShape

    @classmethod
    def of(cls, figures: Statistics) -> Self:
        """Show the statistics."""
        values = {name: getattr(figures, name) for name in cls.model_fields}
        energy = EnergyShape.of(figures.energy, figures.energy_last_day)
        return cls.model_validate(values | {"energy": energy})
