"""What a host asks a runtime to run, and what comes back."""

from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from commonplace.host.endpoint import Endpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRequest:
    """A session to run.

    Attributes:
        prompt: What to do.
        context: What it should know before it starts, for the end of its system prompt; may be empty.
        trigger_source: Why it runs, such as ``operator`` or ``schedule:consolidation``.
        tools_name: Name of the host's MCP server, which stands in the names of the tools.
        endpoint: Where the tools are; ``None`` for a session without tools.
    """

    prompt: str
    context: str
    trigger_source: str
    tools_name: str
    endpoint: Endpoint | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOutcome:
    """How a session ended.

    Attributes:
        answer: The last thing that it said.
        session_id: Its id in the runtime, where it has one.
        failure: Why it did not end well; ``None`` where it did.
        is_outage: Whether that says nothing about its prompt, which may be tried again: the runtime did not start or
            ran out of time, or its model is busy, failing, out of reach or refuses whoever asks.
    """

    answer: str
    session_id: UUID | None = None
    failure: str | None = None
    is_outage: bool = False


class Runtime(Protocol):
    """Runs sessions: the claude CLI, or a script in a test."""

    async def run(self, request: SessionRequest) -> SessionOutcome:
        """Run a session to its end; a failure of the session is an outcome, not an error."""
        ...
