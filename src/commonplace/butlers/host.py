"""The host: it starts modules, serves their tools, and runs sessions with their memory."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Final

from fastmcp import FastMCP

from commonplace.butlers.butler import Butler
from commonplace.butlers.endpoint import Endpoint, serve_tools
from commonplace.butlers.memory_module import MemoryModule
from commonplace.butlers.module import EndedSession, Module
from commonplace.butlers.sessions import Runtime, SessionOutcome, SessionRequest
from commonplace.core.clock import Clock, utc_now
from commonplace.core.errors import ModelUnavailableError, ModuleError
from commonplace.core.settings import Settings
from commonplace.knowledge import KnowledgeDatabase

OPERATOR_TRIGGER: Final = "operator"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ButlerHost:
    """A host with started modules and served tools. Use :meth:`open`."""

    butler: Butler
    modules: Sequence[Module]
    endpoint: Endpoint
    runtime: Runtime
    clock: Clock

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        butler: Butler,
        settings: Settings,
        runtime: Runtime,
        *,
        modules: Sequence[Module] | None = None,
        clock: Clock = utc_now,
    ) -> "AsyncGenerator[ButlerHost]":
        """Start the modules in ``butler.toml``, serve their tools, and stop both at the end of the block.

        It loads the available modules (by default only memory) that ``butler.toml`` names.

        Raises:
            ModuleError: A module is unknown or lacks a dependency, or dependencies form a cycle.
            SettingsError: A section of ``butler.toml`` is invalid.
        """
        name, tenant_id = butler.butler.name, butler.butler.tenant_id
        known = modules or [MemoryModule(settings, tenant_id=tenant_id, actor=f"butler:{name}", clock=clock)]
        ordered = _in_order(butler, known)
        database = KnowledgeDatabase(settings)
        async with AsyncExitStack() as stack:
            stack.push_async_callback(database.close)
            server = FastMCP(name)
            for module in ordered:
                stack.push_async_callback(module.on_shutdown)
                await module.on_startup(butler.module_config(module.name, module.config_model), database)
                module.register_tools(server)
            endpoint = await stack.enter_async_context(serve_tools(server))
            database.begin()
            yield cls(butler, ordered, endpoint, runtime, clock)

    async def run_session(self, prompt: str, *, trigger_source: str = OPERATOR_TRIGGER) -> SessionOutcome:
        """Run a session with the modules' context, and tell the modules how it ended.

        A module that fails is logged and skipped; it never stops the session (KNW-24).
        """
        started_at = self.clock()
        request = SessionRequest(
            prompt=prompt,
            context=await self._context(prompt),
            trigger_source=trigger_source,
            tools_name=self.butler.butler.name,
            endpoint=self.endpoint,
        )
        outcome = await self.runtime.run(request)
        await self._ended(
            EndedSession(
                prompt=prompt,
                answer=outcome.answer,
                session_id=outcome.session_id,
                started_at=started_at,
                failure=outcome.failure,
            )
        )
        return outcome

    async def spawn(self, prompt: str, *, trigger_source: str) -> str:
        """Run a session for the host's own work, without tools, context or episode, and return its answer.

        Raises:
            ModelUnavailableError: There is an outage; see :attr:`SessionOutcome.is_outage`.
            ModuleError: The session failed for another reason, which the message names.

        Source: KNW-12.2.
        """
        name = self.butler.butler.name
        request = SessionRequest(prompt=prompt, trigger_source=trigger_source, tools_name=name)
        outcome = await self.runtime.run(request)
        if outcome.failure:
            message = f"a session for {trigger_source} failed: {outcome.failure}"
            raise ModelUnavailableError(message) if outcome.is_outage else ModuleError(message)
        return outcome.answer

    async def _context(self, prompt: str) -> str:
        blocks: list[str] = []
        for module in self.modules:
            try:
                blocks.append(await module.session_context(prompt, self.butler.butler.name))
            except Exception:  # noqa: BLE001 - the fail-open boundary: a session starts without the module's context
                _log.exception("module %r failed to give context", module.name)
        return "\n\n".join(block for block in blocks if block)

    async def _ended(self, session: EndedSession) -> None:
        async with asyncio.TaskGroup() as group:
            for module in self.modules:
                group.create_task(self._tell(module, session))

    async def _tell(self, module: Module, session: EndedSession) -> None:
        try:
            await module.session_ended(session, self.butler.butler.name)
        except Exception:  # noqa: BLE001 - the fail-open boundary: the session itself has ended
            _log.exception("module %r failed at the end of a session", module.name)


def _in_order(butler: Butler, known: Sequence[Module]) -> list[Module]:
    """Return the modules that the butler names, each after its dependencies."""
    by_name = {module.name: module for module in known}
    for name in butler.modules:
        if name not in by_name:
            raise ModuleError(f"modules.{name}: unknown module; expected one of {', '.join(sorted(by_name))}")
    wanted = {name: by_name[name] for name in butler.modules}
    for module in wanted.values():
        for needed in module.dependencies:
            if needed not in wanted:
                raise ModuleError(
                    f"module {module.name!r} needs [modules.{needed}], which is missing: add it to butler.toml"
                )
    try:
        order = TopologicalSorter(
            {name: module.dependencies for name, module in wanted.items()}
        ).static_order()
        return [wanted[name] for name in order]
    except CycleError as error:
        raise ModuleError(f"the dependencies of modules form a cycle: {' -> '.join(error.args[1])}") from None
