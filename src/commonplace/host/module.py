"""What a host asks of a module, from start to stop (KNW-28)."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar
from uuid import UUID

from fastmcp import FastMCP
from pydantic import BaseModel

from commonplace.knowledge import KnowledgeDatabase


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedSession:
    """A session that is over, as modules get to know it.

    Attributes:
        prompt: What the session was asked to do.
        answer: The last thing that it said; empty where it said nothing.
        session_id: Its id in the runtime that ran it, where that gave one.
        started_at: When it began, aware UTC.
        failure: Why it did not end well; ``None`` where it did.
    """

    prompt: str
    answer: str
    session_id: UUID | None
    started_at: datetime
    failure: str | None = None


class Module(ABC):
    """A part that a host loads.

    A host starts modules after those that they depend on, lets each register its tools on the host's MCP server,
    asks each for what a session should know before it starts, tells each when it has ended, and stops them in the
    reverse order. What :meth:`session_context` and :meth:`session_ended` raise is logged, and stops nobody.
    """

    name: ClassVar[str]
    """As in ``[modules.<name>]`` of ``butler.toml``."""

    dependencies: ClassVar[tuple[str, ...]] = ()
    """Names of modules that have to be started before."""

    migration_branch: ClassVar[str | None] = None
    """Label of the Alembic branch that holds its tables."""

    config_model: ClassVar[type[BaseModel]]
    """What ``[modules.<name>]`` may hold."""

    @abstractmethod
    async def on_startup(self, config: BaseModel | None, database: KnowledgeDatabase) -> None:
        """Take what the module needs; nothing slow."""

    @abstractmethod
    async def on_shutdown(self) -> None:
        """Let go of everything; may be called without a start."""

    @abstractmethod
    def register_tools(self, server: FastMCP) -> None:
        """Add the module's tools; it was started before."""

    async def session_context(self, prompt: str, butler: str) -> str:  # noqa: ARG002 - for those that know something
        """Return what a session of this butler should know before it starts, for the system prompt; may be empty."""
        return ""

    async def session_ended(self, session: EndedSession, butler: str) -> None:  # noqa: B027 - optional
        """Take notice of a session that is over."""
