"""The interface of a host's modules, from start to stop (KNW-28)."""

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
    """An ended session, for modules.

    Attributes:
        answer: The last text of the session; empty if there is none.
        session_id: The id in the runtime, if there is one.
        started_at: The start of the session, aware UTC.
        failure: The reason of a failure; ``None`` if the session succeeded.
    """

    prompt: str
    answer: str
    session_id: UUID | None
    started_at: datetime
    failure: str | None = None


class Module(ABC):
    """A part that a host loads.

    A host starts modules after their dependencies, and lets each register its tools on the host's MCP server. It asks
    each for context before a session and tells each when the session has ended. It stops modules in reverse order.
    Errors of :meth:`session_context` and :meth:`session_ended` are logged and stop nothing.
    """

    name: ClassVar[str]
    """The name in ``[modules.<name>]`` of ``butler.toml``."""

    dependencies: ClassVar[tuple[str, ...]] = ()
    """Names of modules that must be started first."""

    migration_branch: ClassVar[str | None] = None
    """Label of the Alembic branch with the module's tables."""

    config_model: ClassVar[type[BaseModel]]
    """The model of ``[modules.<name>]``."""

    @abstractmethod
    async def on_startup(self, config: BaseModel | None, database: KnowledgeDatabase) -> None:
        """Keep what the module needs; return quickly."""

    @abstractmethod
    async def on_shutdown(self) -> None:
        """Release everything; may be called without a start."""

    @abstractmethod
    def register_tools(self, server: FastMCP) -> None:
        """Add the tools of the module, which is started."""

    async def session_context(self, prompt: str, butler: str) -> str:  # noqa: ARG002 - for modules with context
        """Return context for the system prompt of a session of this butler; may be empty."""
        return ""

    async def session_ended(self, session: EndedSession, butler: str) -> None:  # noqa: B027 - optional
        """Handle the end of a session."""
