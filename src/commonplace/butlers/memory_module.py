"""Knowledge memory as a module of a host (KNW-28)."""

from typing import ClassVar, Final

from fastmcp import FastMCP
from pydantic import BaseModel

from commonplace.butlers.module import EndedSession, Module
from commonplace.core.clock import Clock, utc_now
from commonplace.core.errors import ModuleError
from commonplace.core.request_context import DEFAULT_TENANT
from commonplace.core.secrets import mask_secrets, masked_excerpt
from commonplace.core.settings import Settings
from commonplace.embedding import EmbeddingEngine, EmbeddingOptions, get_embedding_engine
from commonplace.knowledge import KnowledgeDatabase, KnowledgeMemory, MemoryModuleConfig
from commonplace.mcp.knowledge.server import build_tools

PROMPT_CHARS: Final = 1_000
ANSWER_CHARS: Final = 3_000
"""An episode summarises the session, so the answer gets more room than the question."""


class MemoryModule(Module):
    """The module that gives sessions knowledge memory: tools, context before a session, and an episode after it."""

    name: ClassVar = "memory"
    dependencies: ClassVar[tuple[str, ...]] = ()
    migration_branch: ClassVar = "memory"
    config_model: ClassVar[type[BaseModel]] = MemoryModuleConfig

    def __init__(
        self,
        settings: Settings,
        *,
        tenant_id: str = DEFAULT_TENANT,
        actor: str = "host",
        clock: Clock = utc_now,
    ) -> None:
        self._settings = settings
        self._tenant_id = tenant_id
        self._actor = actor
        self._clock = clock
        self._config = MemoryModuleConfig()
        self._database: KnowledgeDatabase | None = None
        self._embedding_engine: EmbeddingEngine | None = None

    async def on_startup(self, config: BaseModel | None, database: KnowledgeDatabase) -> None:
        """Keep the database, and the configuration if it belongs to this module.

        Source: KNW-28.1.
        """
        self._database = database
        if isinstance(config, MemoryModuleConfig):
            self._config = config

    async def on_shutdown(self) -> None:
        """Release the database and the engine; their owners close them.

        Source: KNW-28.2.
        """
        self._database = None
        self._embedding_engine = None

    def register_tools(self, server: FastMCP) -> None:
        """Add the 19 tools, with the configured defaults.

        Raises:
            ModuleError: The module is not started.

        Source: KNW-19, KNW-23.2.
        """
        for tool in build_tools(self.memory):
            server.add_tool(tool)

    async def session_context(self, prompt: str, butler: str) -> str:
        """Return the block of ``memory_context``; an unreachable memory gives no context (KNW-24.1)."""
        return await self.memory.context(prompt, butler)

    async def session_ended(self, session: EndedSession, butler: str) -> None:
        """Store an episode of the session; a failure is logged (KNW-24.2).

        Secrets are masked, so that a pasted secret does not cost the memory of the whole session.
        """
        await self.memory.store_episode(
            content=_episode_of(session),
            butler=butler,
            session_id=session.session_id,
            metadata={"purpose": self._config.purpose} if self._config.purpose else None,
            created_at=session.started_at,
        )

    @property
    def memory(self) -> KnowledgeMemory:
        """Knowledge memory of the host's tenant.

        Raises:
            ModuleError: The module is not started.
        """
        if self._database is None:
            raise ModuleError(f"module {self.name!r} is used before it is started: open it in a host")
        return KnowledgeMemory(
            self._database,
            self._get_embedding_engine(),
            tenant_id=self._tenant_id,
            actor=self._actor,
            clock=self._clock,
            config=self._config,
        )

    def _get_embedding_engine(self) -> EmbeddingEngine:
        """Return the engine of all calls, which is created at the first call and loads its model at its first use.

        Source: KNW-28.3.
        """
        if self._embedding_engine is None:
            self._embedding_engine = get_embedding_engine(EmbeddingOptions.from_settings(self._settings))
        return self._embedding_engine


def _episode_of(session: EndedSession) -> str:
    said = (
        ("Asked", session.prompt, PROMPT_CHARS),
        ("Answered", session.answer, ANSWER_CHARS),
        ("Failed", session.failure or "", PROMPT_CHARS),
    )
    # Mask the joined lines too: a label and the text on the next line may form a secret together.
    lines = [
        f"{label}: {masked_excerpt(text.strip(), chars)}"
        for label, text, chars in said
        if text.strip() or label == "Asked"
    ]
    return mask_secrets("\n".join(lines))
