"""Requests to a runtime, and their outcomes."""

from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from commonplace.butlers.endpoint import Endpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRequest:
    """A session to run.

    Attributes:
        context: Text for the end of its system prompt; may be empty.
        trigger_source: The reason for the session, such as ``operator`` or ``schedule:consolidation``.
        tools_name: The name of the host's MCP server, which is part of the names of the tools.
        endpoint: The tools; ``None`` for a session without tools.
    """

    prompt: str
    context: str = ""
    trigger_source: str
    tools_name: str
    endpoint: Endpoint | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOutcome:
    """The outcome of a session.

    Attributes:
        answer: The last text of the session.
        session_id: The id in the runtime, if there is one.
        failure: The reason of a failure; ``None`` if the session succeeded.
        is_outage: Whether the failure is not the prompt's fault, so that a retry may succeed: the runtime did not
            start or timed out, or its model is busy, failing or unreachable, or refuses every request.
    """

    answer: str
    session_id: UUID | None = None
    failure: str | None = None
    is_outage: bool = False


class Runtime(Protocol):
    """A runner of sessions: the claude CLI, or a script in a test."""

    async def run(self, request: SessionRequest) -> SessionOutcome:
        """Run a session to its end; a failure is part of the outcome, not an error."""
        ...
