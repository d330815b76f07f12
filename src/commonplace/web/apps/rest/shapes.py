"""The JSON of app memory."""

import math
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field

from commonplace.apps import (
    FORMAT,
    AppStatus,
    DigestState,
    EnergyStatus,
    ImportReceipt,
    ListedApp,
    Metadata,
    Statistics,
)
from commonplace.web.paging import CountedPageShape
from commonplace.web.shape import Shape


class MemoryShape(Shape):
    """A memory of an app."""

    id: int = Field(description="unique; not reused after deletion")
    app_id: str
    content: str = Field(description="one paragraph, about 200 characters at most")
    created_at: datetime
    updated_at: datetime = Field(description="the time of the creation or the last merge")
    source_conversation_id: str | None = Field(description="the conversation that the digest came from")
    user_id: str | None = Field(description="the owner; null: shared by all users")
    metadata: Annotated[dict[str, Any], BeforeValidator(Metadata.as_dict)] = Field(
        description="importance (0 to 10), tags, relatedConversations and other keys"
    )


class MemoriesShape(Shape):
    """All memories of an app, newest first."""

    memories: list[MemoryShape]


class MemoriesPageShape(MemoriesShape, CountedPageShape):
    """A page of the memories of an app, newest first."""


class DeletedShape(Shape):
    """A deleted memory."""

    success: Literal[True] = True


class PurgedShape(DeletedShape):
    """The result of a purge."""

    deleted_count: int = Field(description="the number of deleted memories")


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
