"""Health check of the service, part by part.

Supervisors check every few seconds, so the check only reads: writes would wear out the disk and take locks. A part that
is still starting is not down. Without background work or read replicas, the service is degraded, not down.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import Final, cast

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse
from pydantic import Field

from commonplace.core.errors import CommonplaceError, StorageUnavailableError
from commonplace.core.request_context import DEFAULT_TENANT
from commonplace.core.settings import Settings
from commonplace.embedding.backend import BackendName
from commonplace.embedding.model_files import find_model
from commonplace.knowledge import worker_status
from commonplace.llm.ledger import Ledger
from commonplace.services.health import WITHOUT_KNOWLEDGE, Aspect, HealthWarning, read_health, warnings_of
from commonplace.services.opening import Memories, OpenedMemories
from commonplace.services.sync.sync_health import read_sync_health
from commonplace.storage.migrations.runner import database_revisions, other_revisions
from commonplace.web.http.access import OpenMemories, known_caller
from commonplace.web.http.problems import UNHEALTHY, Problem
from commonplace.web.http.refusals import problem_response
from commonplace.web.http.shape import Shape

TIMEOUT_S: Final = 3.0
"""The time limit for each part; load balancers and supervisors give up after a few seconds."""

NOT_REQUIRED: Final = frozenset({"background work", "read replicas", "release"})
"""Parts that the service can do without."""

RELEASE: Final = version("commonplace")
"""The release that this process runs; another one may be installed while it runs."""


class State(StrEnum):
    """The state of a part or of the whole service, from best to worst."""

    OK = "ok"
    STARTING = "starting"
    """The part is starting; requests wait for it."""
    DEGRADED = "degraded"
    """The part does not work, but the memories can do without it for a while."""
    DOWN = "down"


class PartShape(Shape):
    """The state of a part of the service.

    Attributes:
        detail: the reason if the part does not work
        ms: the duration of the check in milliseconds
    """

    status: State
    detail: str
    ms: float


class HealthShape(Shape):
    """The state of a service that works.

    Attributes:
        version: the version of commonplace
        parts: each part of the service; only for callers of the installation
    """

    status: State
    version: str
    parts: dict[str, PartShape] | None = None


class HealthProblem(Problem):
    """A required part of the service is down."""

    parts: dict[str, PartShape] | None = Field(
        default=None, description="each part of the service; only for callers of the installation"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Checks:
    """The checks of all parts.

    Attributes:
        memories: The open memories.
        settings: The settings of the service; without them, neither tables nor background work are checked.
        worker: Whether background work runs in this process.
        ledger: The counts of language models.
    """

    memories: Memories
    settings: Settings | None = None
    worker: bool = False
    ledger: Ledger | None = None

    async def run(self) -> dict[str, PartShape]:
        """Check all parts at once, each for three seconds at most."""
        checks: dict[str, Callable[[], Awaitable[State]]] = {
            "operational": self._operational,
            "apps": self._apps,
            "workspace": self._workspace,
            "knowledge": self._knowledge,
            "embedding model": self._model,
        }
        if self.memories.knowledge.database.settings.postgres_read_url:
            checks["read replicas"] = self._replicas
        if self.settings is not None:
            checks["release"] = self._release
        if self.worker:
            checks["background work"] = self._background
        parts = await asyncio.gather(*(_look(check) for check in checks.values()))
        return dict(zip(checks, parts, strict=True))

    async def warnings(self, memories: Memories) -> list[HealthWarning]:
        """Return the warnings for a caller, the most severe first.

        Args:
            memories: The memories of the caller. A caller of another tenant sees only what concerns its episodes.
        """
        settings, knowledge = self.memories.knowledge.database.settings, memories.knowledge
        aspects = set(Aspect) if knowledge.tenant_id == DEFAULT_TENANT else {Aspect.EPISODES}
        if not knowledge.database.was_tried:
            aspects &= WITHOUT_KNOWLEDGE
        opened = OpenedMemories.of(memories)
        return warnings_of(
            await read_health(
                opened, settings, aspects=aspects, clock=knowledge.clock, read_sync=read_sync_health
            )
        )

    async def _operational(self) -> State:
        await self.memories.operational.cooldowns.list(limit=1)
        return State.OK

    async def _apps(self) -> State:
        await self.memories.apps.registry.list(limit=1)
        return State.OK

    async def _workspace(self) -> State:
        place = await asyncio.to_thread(_nearest, self.memories.workspace.path)
        if not os.access(place, os.R_OK | os.W_OK | (os.X_OK if place.is_dir() else 0)):
            raise StorageUnavailableError(f"{place} is not readable and writable")
        return State.OK

    async def _knowledge(self) -> State:
        if not self.memories.knowledge.database.was_tried:
            return State.STARTING
        await self.memories.knowledge.events.list(limit=1)
        return State.OK

    async def _release(self) -> State:
        """Compare the tables with this release; another process may have upgraded or restored them."""
        knowledge = self.memories.knowledge.database
        revisions = await database_revisions(self.settings) if self.settings else set[str]()
        if knowledge.was_tried:
            revisions |= await knowledge.revisions()
        if others := other_revisions(revisions):
            raise StorageUnavailableError(
                f"another release changed the tables ({', '.join(others)}): restart this service with that release"
            )
        return State.OK

    async def _replicas(self) -> State:
        replicas = self.memories.knowledge.database.replicas
        if replicas is None:
            return State.STARTING
        states = await replicas.states()
        faults = [f"{each.name}: {each.fault}" for each in states if each.fault]
        if not states:
            faults = ["no server of COMMONPLACE_POSTGRES_READ_URL is a replica"]
        if faults:
            raise StorageUnavailableError(f"reads go to the primary: {'; '.join(faults)}")
        return State.OK

    async def _model(self) -> State:
        options = self.memories.knowledge.engine.options
        if options.backend is not BackendName.FAKE:
            await asyncio.to_thread(find_model, options)
        return State.OK

    async def _background(self) -> State:
        knowledge = self.memories.knowledge
        if self.settings is None or not knowledge.database.was_tried:
            return State.STARTING
        status = await worker_status(knowledge, self.settings)
        if any(worker.alive for worker in status.workers):
            return State.OK
        return State.DEGRADED if status.began else State.STARTING


async def _look(check: Callable[[], Awaitable[State]]) -> PartShape:
    began, detail = perf_counter(), ""
    try:
        async with asyncio.timeout(TIMEOUT_S):
            state = await check()
    except TimeoutError:
        state, detail = State.DOWN, f"no answer within {TIMEOUT_S:g} s"
    except (CommonplaceError, OSError) as error:
        state, detail = State.DOWN, str(error)
    return PartShape(status=state, detail=detail, ms=round((perf_counter() - began) * 1000, 2))


def _nearest(path: Path) -> Path:
    """Return a path if it exists, else the nearest directory above it."""
    return next(place for place in (path, *path.parents) if place.exists())


def state_of(parts: Mapping[str, PartShape]) -> State:
    """Return the state of the worst part; a part that is not required counts as degraded at worst."""
    order = list(State)
    states = (
        min(part.status, State.DEGRADED, key=order.index) if name in NOT_REQUIRED else part.status
        for name, part in parts.items()
    )
    return max(states, key=order.index)


router = APIRouter(tags=["operations"])


@router.head("/healthz", include_in_schema=False, response_model=None)
@router.get(
    "/healthz",
    operation_id="health",
    response_description="The service works",
    summary="Check that the service works",
    response_model=HealthShape,
    response_model_exclude_none=True,
    responses={
        HTTPStatus.SERVICE_UNAVAILABLE.value: {"model": HealthProblem, "description": UNHEALTHY.title}
    },
)
async def health(request: Request, _memories: OpenMemories) -> HealthShape | JSONResponse:
    """Check every part: 200 if the required parts work or are starting, else 503; also 503 while the service stops.

    No token is needed. The parts are shown to callers of the installation and, on loopback without a login, to all
    callers.
    """
    if request.app.state.draining:
        return problem_response(UNHEALTHY.problem("the service is stopping"))
    parts = await cast("Checks", request.app.state.checks).run()
    state, caller = state_of(parts), known_caller(request)
    shown = parts if caller is not None and caller.principal.of_installation else None
    if state is State.DOWN:
        down = ", ".join(name for name, part in parts.items() if part.status is State.DOWN)
        return problem_response(HealthProblem(**UNHEALTHY.problem(f"down: {down}").model_dump(), parts=shown))
    return HealthShape(status=state, version=RELEASE, parts=shown)
