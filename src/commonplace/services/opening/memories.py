"""The four memories, opened together, or each as far as it opens."""

from collections.abc import AsyncGenerator, Callable, Collection
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass
from typing import NoReturn, Self, TypeVar

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


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedMemories:
    """Functions that return each memory, or raise the error that prevented opening it."""

    operational: Callable[[], OperationalMemory]
    apps: Callable[[], AppMemory]
    workspace: Callable[[], WorkspaceMemory]
    knowledge: Callable[[], KnowledgeMemory]

    @classmethod
    def of(cls, memories: Memories) -> Self:
        """Return the functions for memories that are all open."""
        return cls(
            operational=lambda: memories.operational,
            apps=lambda: memories.apps,
            workspace=lambda: memories.workspace,
            knowledge=lambda: memories.knowledge,
        )

    @classmethod
    async def open(
        cls,
        stack: AsyncExitStack,
        settings: Settings,
        *,
        knowledge: KnowledgeMemory | None = None,
        besides: Collection[str] = (),
    ) -> Self:
        """Open each memory until the stack closes. Knowledge memory opens in the background.

        ``knowledge`` is an open memory to use. The operational, app and workspace memories that ``besides`` names are
        not opened, and must not be asked for.
        """

        async def opened(name: str, opening: AbstractAsyncContextManager[_M]) -> Callable[[], _M]:
            return _unasked if name in besides else await _try_open(stack, opening)

        lazily = KnowledgeMemory.open(settings, lazy=True) if knowledge is None else nullcontext(knowledge)
        return cls(
            operational=await opened("operational", OperationalMemory.open(settings)),
            apps=await opened("apps", AppMemory.open(settings)),
            workspace=await opened("workspace", WorkspaceMemory.open(settings)),
            knowledge=await _try_open(stack, lazily),
        )


async def _try_open(stack: AsyncExitStack, opening: AbstractAsyncContextManager[_M]) -> Callable[[], _M]:
    """Open a memory until the stack closes; return a function that returns it, or raises why it did not open."""
    try:
        memory = await stack.enter_async_context(opening)
    except Exception as error:  # noqa: BLE001 - a fail-open boundary; the function raises the error again
        reason = error

        def closed() -> _M:
            raise reason

        return closed
    return lambda: memory


def _unasked() -> NoReturn:
    raise AssertionError("a memory that nobody asks for was not opened")
