"""The state of sync as a person sees it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from commonplace.core.clock import format_timestamp, parse_timestamp
from commonplace.services.sync.erasures import ErasureStatus
from commonplace.services.sync.known_devices import KnownDevice


@dataclass(frozen=True, slots=True, kw_only=True)
class LastSync:
    """The last sync of a device.

    Attributes:
        at: When it ended.
        problems: What a person should look at.
    """

    at: datetime
    problems: Sequence[str]

    def to_json(self) -> bytes:
        """Return it as a JSON document."""
        return json.dumps({"at": format_timestamp(self.at), "problems": list(self.problems)}).encode()

    @classmethod
    def from_json(cls, document: bytes) -> Self:
        """Return it from a JSON document."""
        values = json.loads(document)
        return cls(at=parse_timestamp(values["at"]), problems=values["problems"])


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncFailure:
    """The failure of the last sync.

    Attributes:
        since: When the first sync failed after the last one that worked.
        reason: Why the last one failed.
    """

    since: datetime
    reason: str

    def to_json(self) -> bytes:
        """Return it as a JSON document."""
        return json.dumps({"since": format_timestamp(self.since), "reason": self.reason}).encode()

    @classmethod
    def from_json(cls, document: bytes) -> Self:
        """Return it from a JSON document."""
        values = json.loads(document)
        return cls(since=parse_timestamp(values["since"]), reason=values["reason"])


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncStatus:
    """The state of sync, for people.

    Attributes:
        target: Where the files are.
        device: The id of this device.
        devices: All devices of the home, this one too.
        is_waiting: Whether changes wait to be sent.
        unwritten: The number of memories that wait to be written here.
        erasures: How far the erasures are, on each device.
        last: The last sync with news; ``None`` before the first.
        failure: The failure of the last sync; ``None`` if it worked.
    """

    target: str
    device: str
    devices: Sequence[KnownDevice]
    is_waiting: bool
    unwritten: int
    erasures: Sequence[ErasureStatus]
    last: LastSync | None
    failure: SyncFailure | None
