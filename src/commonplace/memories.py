"""The four memories, opened together."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Self, TypeVar

from commonplace.apps.memory import AppMemory
from commonplace.core.clock import Clock, utc_now
from commonplace.core.settings import Settings
from commonplace.knowledge import KnowledgeMemory, MemoryModuleConfig
from commonplace.llm import Model
from commonplace.operational import OperationalMemory
from commonplace.workspace import WorkspaceMemory

_M = TypeVar("_M")


@dataclass(frozen=True, slots=True, kw_only=True)
class Memories:
    """The open memories of one installation. Use :meth:`open`.

    Operational, app and workspace memory belong to the installation, knowledge memory to a tenant: see
    :meth:`KnowledgeMemory.acting_for`.
    """

    operational: OperationalMemory
    apps: AppMemory
    workspace: WorkspaceMemory
    knowledge: KnowledgeMemory

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        settings: Settings,
        *,
        clock: Clock = utc_now,
        config: MemoryModuleConfig | None = None,
        model: Model | None = None,
    ) -> AsyncGenerator[Self]:
        """Open all four, and close them at the end of the block. Knowledge memory opens in the background.

        ``config`` is the section of ``butler.toml`` about knowledge memory. A model writes the digests of app memory,
        instead of the model of the settings.

        Raises:
            SettingsError: The model of the settings or ``agent.json`` cannot be used.
            StorageError: The database of operational and app memory cannot be opened or upgraded.
        """
        async with AsyncExitStack() as stack:
            yield cls(
                operational=await stack.enter_async_context(OperationalMemory.open(settings, clock=clock)),
                apps=await stack.enter_async_context(AppMemory.open(settings, clock=clock, model=model)),
                workspace=await stack.enter_async_context(WorkspaceMemory.open(settings, clock=clock)),
                knowledge=await stack.enter_async_context(
                    KnowledgeMemory.open(settings, clock=clock, config=config, lazy=True)
                ),
            )


async def try_open(stack: AsyncExitStack, opening: AbstractAsyncContextManager[_M]) -> Callable[[], _M]:
    """Open a memory until the stack closes; return a function that returns it, or raises why it did not open."""
    try:
        memory = await stack.enter_async_context(opening)
    except Exception as error:  # noqa: BLE001 - a fail-open boundary; the function raises the error again
        reason = error

        def closed() -> _M:
            raise reason

        return closed
    return lambda: memory
