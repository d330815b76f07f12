"""The JSON of app memory."""

import math
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field

from commonplace.apps.digests.queue import DigestState
from commonplace.apps.energy import EnergyStatus
from commonplace.apps.exchange import FORMAT
from commonplace.apps.memories import Metadata
from commonplace.apps.receipts import ImportReceipt
from commonplace.apps.registry import AppStatus, ListedApp
from commonplace.apps.statistics import Statistics
from commonplace.web.paging import CountedPageShape
from commonplace.web.shape import Shape


class MemoryShape(Shape):
    """A memory of an app."""

    id: int = Field(description="never used again, not after deletion either")
    app_id: str
    content: str = Field(description="one paragraph, about 200 characters at most")
    created_at: datetime
    updated_at: datetime = Field(description="when it was created, or last merged with another")
    source_conversation_id: str | None = Field(description="the conversation that it is the digest of")
    user_id: str | None = Field(description="the user whose own memory it is; null: all users share it")
    metadata: Annotated[dict[str, Any], BeforeValidator(Metadata.as_dict)] = Field(
        description="importance (0 to 10), tags, relatedConversations and other keys"
    )


class MemoriesShape(Shape):
    """Every memory of an app, newest first."""

    memories: list[MemoryShape]


class MemoriesPageShape(MemoriesShape, CountedPageShape):
    """A page of the memories of an app, newest first."""


class DeletedShape(Shape):
    """A memory is gone."""

    success: Literal[True] = True


class PurgedShape(DeletedShape):
    """All memories of an app are gone."""

    deleted_count: int = Field(description="how many there were")


class AppShape(Shape):
    """An app."""

    app_id: str
    name: str = Field(description="what models know it by")
    status: AppStatus = Field(description="an uninstalled app's memories are retained until they are purged")
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
    """Apps, by id."""

    apps: list[AppShape]


class HitShape(Shape):
    """A memory that was found."""

    memory: MemoryShape
    score: float = Field(description="0 to 1: the share of the words that it holds, or the cosine of both")
    words: list[str] = Field(description="the words of the query that the memory contains")


class HitsShape(Shape):
    """What a search found, best first."""

    hits: list[HitShape]


class ExportedAppShape(Shape):
    """The app that a document comes from."""

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
    """All memories of an app, to keep or to take into another one."""

    format: Literal["commonplace-app-memories"] = FORMAT
    version: Literal[1] = 1
    exported_at: datetime
    app: ExportedAppShape
    memories: list[ExportedMemoryShape]


class RefusalShape(Shape):
    """A memory of a document that was not taken."""

    index: int = Field(description="which one of the document, from 0")
    reason: str


class ImportShape(Shape):
    """What became of a document's memories."""

    added: list[MemoryShape]
    known_count: int = Field(description="how many the app had already")
    refused: list[RefusalShape]
    shortened: list[int] = Field(
        description="which ones of the document, from 0, were added without all of their text"
    )

    @classmethod
    def of(cls, receipt: ImportReceipt) -> Self:
        """Show what became of it."""
        return cls.model_validate(
            {
                "added": receipt.added,
                "known_count": receipt.known,
                "refused": receipt.refused,
                "shortened": receipt.shortened,
            }
        )


class EnergyShape(Shape):
    """The energy that work on memories is paid from."""

    level: float = Field(description="units that are there now")
    capacity: float = Field(description="units of a full budget")
    share: float = Field(description="the level as a share of the capacity, 0 to 1")
    low: bool = Field(description="whether work on memories waits")
    wait_seconds: float | None = Field(
        description="how long until it runs; 0: at once; null: nothing refills the budget"
    )
    spent_last_day: dict[str, float] = Field(description="units by operation within 24 hours")

    @classmethod
    def of(cls, energy: EnergyStatus, spent: Mapping[str, float]) -> Self:
        """Show the level, and what was spent."""
        return cls(
            level=energy.level,
            capacity=energy.capacity,
            share=energy.share,
            low=energy.low,
            wait_seconds=None if math.isinf(energy.wait_s) else energy.wait_s,
            spent_last_day=dict(spent),
        )


class DigestShape(Shape):
    """A conversation that has ended and has no memory yet."""

    app_id: str
    conversation_id: str
    state: DigestState = Field(
        description="waiting, deferred until there is energy, or running in a process that is gone"
    )
    reason: str = Field(description="why it waits, in words")


class DigestsShape(CountedPageShape):
    """Digests that are to be made, the longest waiting first; those under way are not among them."""

    digests: list[DigestShape]


class StatisticsShape(Shape):
    """How app memory is used, over all processes and restarts."""

    apps: int = Field(description="apps that are known, uninstalled ones too")
    apps_with_memories: int
    utilisation: float = Field(description="the share of apps that have memories, 0 to 1")
    memories: int
    average_chars: float = Field(description="mean length of a memory")
    created_last_hour: int
    created_last_day: int
    compactions_last_day: dict[str, int] = Field(
        description="memories that made room within 24 hours, by app"
    )
    conversations: int
    in_focus: int = Field(description="conversations whose model was given a context")
    injection_rate: float = Field(description="the share of those that were shown a memory, 0 to 1")
    digests: dict[str, int] = Field(description="digests of conversations, by state")
    fullest: dict[str, int] = Field(description="the apps with the most memories, at most 20")
    energy: EnergyShape

    @classmethod
    def of(cls, figures: Statistics) -> Self:
        """Show the figures."""
        values = {name: getattr(figures, name) for name in cls.model_fields}
        energy = EnergyShape.of(figures.energy, figures.energy_last_day)
        return cls.model_validate(values | {"energy": energy})
