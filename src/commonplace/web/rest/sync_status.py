"""The state of sync of the home of a service, under ``/api/v1/sync/status``."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from commonplace.services.sync.erasures import ErasureStatus
from commonplace.services.sync.home import read_status
from commonplace.services.sync.status import DeviceStatus, SyncFailure, SyncStatus
from commonplace.web.http.access import OpenMemories, installation_reader
from commonplace.web.http.problems import REFUSED
from commonplace.web.http.shape import Shape
from commonplace.web.http.sync_conflicts import count_conflicts
from commonplace.web.rest.api import Api

api = Api("/api/v1/sync", "sync", REFUSED)


class SyncDeviceShape(Shape):
    """A device of the home.

    Attributes:
        id: its id
        name: what a person calls it
        is_this: whether it is the device of this service
        state: `syncs`, or why it writes nothing more
        seen_at: when this device last learned of it or took a file of it; null if that is not known
        files: the number of its latest file that was taken, or written
        files_missing: the number of its files that another device has seen and this one has not taken yet
    """

    id: str
    name: str
    is_this: bool
    state: Literal["syncs", "left", "revoked"]
    seen_at: datetime | None
    files: int
    files_missing: int

    @classmethod
    def of(cls, device: DeviceStatus) -> "SyncDeviceShape":
        """Return the shape of a device."""
        return cls(
            id=device.device,
            name=device.name,
            is_this=device.is_this,
            state="syncs" if device.departure is None else device.departure.value,
            seen_at=device.seen_at,
            files=device.number,
            files_missing=device.missing,
        )


class SyncErasureShape(Shape):
    """An erasure.

    Attributes:
        at: when a person asked for it
        memories: the number of memories
        waiting: the ids of the devices that have not erased them yet
    """

    at: datetime
    memories: int
    waiting: list[str]

    @classmethod
    def of(cls, erasure: ErasureStatus) -> "SyncErasureShape":
        """Return the shape of an erasure."""
        return cls(
            at=datetime.fromisoformat(erasure.at), memories=erasure.count, waiting=sorted(erasure.waiting)
        )


class SyncFailureShape(Shape):
    """Why syncs fail.

    Attributes:
        since: when the first sync failed since the last one that worked
        error: why the latest sync failed
    """

    since: datetime
    error: str

    @classmethod
    def of(cls, failure: SyncFailure) -> "SyncFailureShape":
        """Return the shape of a failure."""
        return cls(since=failure.since, error=failure.error)


class SyncStatusShape(Shape):
    """The state of sync, as the device of this service knows it; the target is not asked.

    Attributes:
        is_synced: whether the home syncs; if not, everything else is empty
        target: where the files are, without a password or token
        devices: all devices of the home, this one first
        unsent_changes: the changes of this device that are in no file yet
        unsent_files: the files that wait to be sent
        unwritten_memories: the memories that wait to be written here
        conflicts: the facts that wait for a person because two devices changed them; null if knowledge memory does
            not answer
        erasures: the erasures, the earliest first
        synced_at: when a sync last worked
        news_at: when a sync last had news
        problems: what a person should look at, from the last sync
        failure: why syncs fail; null if the last one worked
    """

    is_synced: bool = False
    target: str | None = None
    devices: list[SyncDeviceShape] = Field(default_factory=list[SyncDeviceShape])
    unsent_changes: int = 0
    unsent_files: int = 0
    unwritten_memories: int = 0
    conflicts: int | None = None
    erasures: list[SyncErasureShape] = Field(default_factory=list[SyncErasureShape])
    synced_at: datetime | None = None
    news_at: datetime | None = None
    problems: list[str] = Field(default_factory=list[str])
    failure: SyncFailureShape | None = None

    @classmethod
    def of(cls, status: SyncStatus, conflicts: int | None) -> "SyncStatusShape":
        """Return the shape of a status."""
        return cls(
            is_synced=True,
            target=status.target,
            devices=[SyncDeviceShape.of(each) for each in status.devices],
            unsent_changes=status.unsent,
            unsent_files=status.outbox,
            unwritten_memories=status.unwritten,
            conflicts=conflicts,
            erasures=[SyncErasureShape.of(each) for each in status.erasures],
            synced_at=status.synced_at,
            news_at=status.last.at if status.last else None,
            problems=list(status.last.problems) if status.last else [],
            failure=SyncFailureShape.of(status.failure) if status.failure else None,
        )


@api("GET /status", installation_reader, "The state of sync")
async def sync_status(memories: OpenMemories) -> SyncStatusShape:
    """Get the state of sync: devices, the last sync, and what waits.

    For the tenant of the installation, whose home it is. The target is not asked.
    """
    status = await read_status(memories.knowledge.database.settings)
    if status is None:
        return SyncStatusShape()
    return SyncStatusShape.of(status, await count_conflicts(memories.knowledge))
