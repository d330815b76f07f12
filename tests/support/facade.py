"""Knowledge memory as a host opens it, on a test's own database, with vectors that need no model."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from commonplace.core.settings import Settings
from commonplace.embedding import BackendName, EmbeddingEngine, EmbeddingOptions
from commonplace.knowledge.memory import KnowledgeMemory


@asynccontextmanager
async def open_knowledge(
    url: str | None,
    home: Path,
    *,
    engine: EmbeddingEngine | None = None,
    **options: Any,  # noqa: ANN401 - those of KnowledgeMemory.open
) -> AsyncIterator[KnowledgeMemory]:
    """Open knowledge memory at a URL, or embedded in a home."""
    settings = Settings(home=home, workspace=home, postgres_url=url)
    engine = engine or EmbeddingEngine(EmbeddingOptions(backend=BackendName.FAKE))
    async with KnowledgeMemory.open(settings, engine=engine, **options) as memory:
        yield memory
