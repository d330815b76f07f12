"""Markers of an agent, and the categories, levels and actions that they name."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

GENERAL: Final = "general"
"""The service name of general memories; a marker with this service is a general marker."""


class MemoryCategory(StrEnum):
    """The subject of a memory. Source: OPS-02."""

    TIMING = "timing"
    DEPENDENCY = "dependency"
    BEHAVIOR = "behavior"
    REMEDIATION = "remediation"
    MAINTENANCE = "maintenance"


class EventLevel(StrEnum):
    """Severity of an event, lowest first."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"


class CooldownAction(StrEnum):
    """The kinds of remediation that must not be repeated at once."""

    RESTART = "restart"
    REDEPLOYMENT = "redeployment"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryMarker:
    """An observation about one service, or a general observation if the service is ``None``."""

    category: MemoryCategory
    service: str | None
    observation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EventMarker:
    """An event of one service, or a general event if the service is ``None``."""

    level: EventLevel
    service: str | None
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CooldownMarker:
    """A remediation that the agent just carried out; the reason may be empty."""

    action: CooldownAction
    service: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectedMarker:
    """Text that looks like a marker but was not accepted, or not completely.

    The line is cut to 200 characters, with secrets masked, because rejected text did not pass the secret gate. The
    reason is a phrase for a log or a receipt.
    """

    line: str
    reason: str


Marker = MemoryMarker | EventMarker | CooldownMarker | RejectedMarker
