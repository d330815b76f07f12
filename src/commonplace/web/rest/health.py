"""The warnings under ``/api/v1/health``: what will be lost, and what is stuck. Source: ONE-06."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from fastapi import Request

from commonplace.services.health import HealthWarning, notice_of
from commonplace.web.http.access import KnowledgeOfCaller, OpenMemories, reader
from commonplace.web.http.shape import Shape, shows
from commonplace.web.rest.api import Api

if TYPE_CHECKING:
    from commonplace.web.http.health import Checks

api = Api("/api/v1", "operations")


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthReport:
    """The warnings, and the line for a session.

    Attributes:
        notice: The first urgent warning as one line for the head of a briefing; empty if none is urgent.
    """

    warnings: list[HealthWarning]
    notice: str


@shows(HealthWarning)
class HealthWarningShape(Shape):
    """A warning for the person who runs the memories.

    Attributes:
        code: what the warning is about, for programs
        severity: how much the warning matters
        text: what will be lost or is stuck, and when
        command: the command that helps
        detail: the error behind it, in the words of what failed; empty if there is none
        at: when memories will be lost, or since when work is stuck; null if no moment is known
    """


@shows(HealthReport)
class HealthReportShape(Shape):
    """The warnings, the most severe first.

    Attributes:
        notice: the first urgent warning as one line for the head of a briefing; empty if none is urgent
    """

    warnings: list[HealthWarningShape]


@api("GET /health", reader, "The warnings")
async def health_warnings(
    request: Request, memories: OpenMemories, knowledge: KnowledgeOfCaller
) -> HealthReport:
    """List what will be lost, and what is stuck.

    Each warning has a stable code and the command that helps. Tokens of other tenants see only the warnings about their
    own episodes. For the state of each part of the service, use `/healthz`.
    """
    checks = cast("Checks", request.app.state.checks)
    warnings = await checks.warnings(replace(memories, knowledge=knowledge))
    return HealthReport(warnings=warnings, notice=notice_of(warnings))
