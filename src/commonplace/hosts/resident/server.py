"""Server of the resident process: answers hooks with an open knowledge memory and a loaded model.

A request is one JSON object, after which the client closes its side of the connection. The answer is a JSON object with
``text`` for the model; an answer without ``text`` means that the process is being replaced. The end of a session is
answered as soon as its record is stored; learning continues in the background.
"""

import asyncio
import json
import logging
import signal
import socket
import time
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from commonplace.core.errors import CommonplaceError
from commonplace.core.settings import Settings, load_settings
from commonplace.hosts.hooks.events import ACTOR, handler
from commonplace.hosts.hooks.hook_input import HookCall, read_call
from commonplace.hosts.hooks.log import log_to
from commonplace.hosts.hooks.session_hooks import note_end, session_start, sweep_all
from commonplace.hosts.install.output import CLAUDE_CODE, rendered
from commonplace.hosts.resident.client import DEADLINES_S, MAX_INPUT_BYTES, PREPARE
from commonplace.hosts.resident.resident_socket import ResidentSocket
from commonplace.hosts.resident.upkeep import BackgroundConsolidation, BackgroundSync
from commonplace.hosts.resident.watch import Watch
from commonplace.knowledge import KnowledgeMemory
from commonplace.reranker import reranker_of
from commonplace.services.background.following import read_followed
from commonplace.services.team_client import TeamClient

MAX_REQUEST_BYTES: Final = 2 * MAX_INPUT_BYTES
READING_S: Final = 5.0
MARGIN_S: Final = 1.0
"""Seconds by which the process gives up earlier than its client."""

LEARNING_S: Final = 0.5
"""Seconds that a session start waits for learning from earlier sessions; the rest follows in the background."""

MODEL_WAITS_S: Final = 1.0
TEND_EVERY_S: Final = 1.0
STOPPING_S: Final = 10.0
"""Seconds that background work may take when the process stops; a later session learns the rest."""

_REPLACED: Final[Mapping[str, str]] = {}

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class HookRequest:
    """A request of a hook: its event, or :data:`.client.PREPARE`, and the arguments of :func:`read_call`.

    Attributes:
        build: The identity of the client's code.
        environ: The client's settings.
        server: The address of the service with knowledge memory; ``None`` for the home's own memory.
    """

    build: str
    event: str
    butler: str | None
    document: str
    environ: Mapping[str, str]
    host: str = CLAUDE_CODE
    directory: str = "/"
    server: str | None = None
    token_file: str = ""


def serve(
    place: ResidentSocket,
    listener: socket.socket,
    build: str,
    release: Callable[[], None],
    forks: socket.socket,
    *,
    prepares: bool,
) -> int:
    """Serve until nobody needs the process; return the exit status. See :class:`Resident` for the arguments.

    With ``prepares``, the process opens the memory of the home, if there is one, before a request needs it.
    """
    log_to(Path(place.home))
    try:
        asyncio.run(_serve(place, listener, build, release, forks, prepares=prepares))
    except Exception:  # noqa: BLE001 - the outer door of the process
        _log.exception("the resident process ended")
        return 1
    return 0


async def _serve(
    place: ResidentSocket,
    listener: socket.socket,
    build: str,
    release: Callable[[], None],
    forks: socket.socket,
    *,
    prepares: bool,
) -> None:
    settings = _without_workspace(load_settings(read_current_directory=False).settings)
    async with KnowledgeMemory.open(settings, actor=ACTOR, lazy=True) as memory:
        resident = Resident(place, build, settings, memory)
        if prepares and (settings.postgres_url or (settings.postgres_directory / "data").exists()):
            resident.need_memory()
        await resident.run(listener, release, forks)


class Resident:
    """The resident process: its settings, its memory, and running work.

    Args:
        place: The place, which the process holds.
        build: The identity of the process's code.
        settings: The settings; a request with other settings replaces the process.
        memory: The memory of the home, opened when a request needs it.
    """

    def __init__(
        self, place: ResidentSocket, build: str, settings: Settings, memory: KnowledgeMemory
    ) -> None:
        self._place = place
        self._build = build
        self._settings = settings
        self._memory = memory
        self._syncs = BackgroundSync(settings, memory)
        self._consolidation = BackgroundConsolidation(settings, memory, after=self._sync_later)
        self._watch = Watch(lambda call: self._begin_behind(self._learn(call)))
        self._used_at = time.monotonic()
        self._answers: set[asyncio.Task[Any]] = set()
        self._behind: set[asyncio.Task[None]] = set()
        self._needs_memory = False
        self._answered = asyncio.Event()
        self._stopping = asyncio.Event()

    async def run(self, listener: socket.socket, release: Callable[[], None], forks: socket.socket) -> None:
        """Answer requests until the process is idle for too long, replaced or stopped, or its home is gone.

        Args:
            listener: The listening socket.
            release: Called once the memory has opened its database or failed to.
            forks: Connected to the fork server. It gets a byte when this process has time, sends a byte for each fork,
                and is closed at the end.
        """
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stopping.set)
        server = await asyncio.start_unix_server(self._answer, sock=listener)
        self._begin_behind(self._warm(release, forks))
        loop.add_reader(forks, self._note_fork, forks)
        try:
            while not self._stopping.is_set():
                self._stop_if_idle()
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._stopping.wait(), TEND_EVERY_S)
        finally:
            server.close()
            self._place.leave()
            self._watch.close()
            loop.remove_reader(forks)
            forks.close()
            await self._finish()
            await self._consolidation.stop()

    async def _warm(self, release: Callable[[], None], forks: socket.socket) -> None:
        """Load the model if knowledge memory is in this home, have the fork server prepared, and open the reranker.

        The first session start needs no model, so loading waits for it, but not for long.
        """
        with suppress(TimeoutError):
            await asyncio.wait_for(self._answered.wait(), MODEL_WAITS_S)
        if self._needs_memory:
            self._memory.database.begin().add_done_callback(lambda _: release())
            self._memory.begin()
            await self._memory.engine.embed_query_async(None)
        else:
            release()
        with suppress(OSError, ValueError):  # The process may be gone, or this one may stop.
            forks.send(b"\n")
        if self._needs_memory and (reranker := reranker_of(self._settings)):
            await asyncio.to_thread(reranker.prepare)

    def _note_fork(self, forks: socket.socket) -> None:
        """Count a fork as a use of this process."""
        self._used_at = time.monotonic()
        if not forks.recv(4096):  # The fork server has died; hooks do not need it.
            asyncio.get_running_loop().remove_reader(forks)

    def need_memory(self) -> None:
        """Begin to open the home's knowledge memory, which hooks that use a service do not need."""
        if not self._needs_memory:
            self._needs_memory = True
            self._memory.database.begin()
            if self._answered.is_set():
                self._memory.begin()

    async def _learn_later(self) -> None:
        """Learn from sessions that nobody waits for, after all waiting hooks have their answers."""
        await asyncio.sleep(LEARNING_S)
        await sweep_all(self._settings.home, self._memory)
        await read_followed(self._settings.home, self._memory, wait_s=0.0)
        self._consolidate()
        await self._sync()

    async def _finish(self) -> None:
        """Wait for running answers and background work, but not for long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(STOPPING_S):
                while under_way := self._answers | self._behind:
                    await asyncio.wait(under_way)

    def _stop_if_idle(self) -> None:
        busy = self._answers or self._behind or self._consolidation.is_running
        idle_s = 0.0 if busy else time.monotonic() - self._used_at
        if not self._place.is_held() or idle_s > self._settings.resident_idle_s:
            self._stopping.set()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = cast("asyncio.Task[Any]", asyncio.current_task())
        self._answers.add(task)
        try:
            async with asyncio.timeout(READING_S):
                request = await _read(reader)
            if request is not None:
                answer = await self._handle(request, writer.get_extra_info("socket"))
                writer.write(json.dumps(answer).encode())
                await writer.drain()
        except (OSError, TimeoutError, ValueError, KeyError, TypeError) as error:
            _log.error("a request cannot be answered: %r", error)
        finally:
            writer.close()
            self._answers.discard(task)
            self._answered.set()
            self._used_at = time.monotonic()

    async def _handle(self, request: HookRequest, connection: socket.socket) -> Mapping[str, str]:
        try:
            loaded = load_settings(read_current_directory=False, environ=request.environ)
            if request.build != self._build or _without_workspace(loaded.settings) != self._settings:
                self._stopping.set()
                self._place.leave()
                return _REPLACED
            if request.event == PREPARE:
                if request.server is None:
                    self.need_memory()
                return {"text": ""}
            call = await asyncio.to_thread(
                read_call,
                request.document,
                loaded,
                request.environ,
                butler=request.butler,
                host=request.host,
                directory=Path(request.directory),
                service=TeamClient.at(request.server, request.token_file) if request.server else None,
            )
            if call.is_off:
                return {"text": ""}
            if request.event == "session-end":
                self._watch.end(call.session_id)
            else:
                self._watch.begin(connection, call)
            if call.service is None:
                self.need_memory()
            text = await self._do(request.event, call)
            return {"text": rendered(text, host=call.host, event=call.event)}
        except (CommonplaceError, OSError) as error:
            _log.error("%s: %s", request.event, str(error) or "no answer in time")
        except Exception:  # noqa: BLE001 - an outer door: the session goes on
            _log.exception("%s failed", request.event)
        return {"text": ""}

    async def _do(self, event: str, call: HookCall) -> str:
        if event == "session-end":
            await asyncio.to_thread(note_end, call)
            self._begin_behind(self._learn(call))
            return ""
        async with asyncio.timeout(DEADLINES_S[event] - MARGIN_S):
            if event == "session-start":
                self._begin_behind(self._learn_later())
                return await session_start(call, self._memory, learning_s=LEARNING_S)
            return await handler(event)(call, self._memory)

    async def _learn(self, call: HookCall) -> None:
        await handler("session-end")(call, self._memory)
        self._consolidate()
        await self._sync()

    async def _sync(self) -> None:
        if self._needs_memory:
            await self._syncs.run()

    def _sync_later(self) -> None:
        self._begin_behind(self._sync())

    def _consolidate(self) -> None:
        if self._needs_memory:
            self._consolidation.begin()

    def _begin_behind(self, work: Coroutine[Any, Any, None]) -> None:
        """Start background work that no client waits for."""
        task = asyncio.create_task(_logged(work))
        self._behind.add(task)
        task.add_done_callback(self._behind.discard)


async def _logged(work: Coroutine[Any, Any, None]) -> None:
    try:
        await work
    except (CommonplaceError, OSError) as error:
        _log.error("background work of the hooks: %s", error)
    except Exception:  # noqa: BLE001 - an outer door: a later session learns what this one did not
        _log.exception("background work of the hooks failed")


async def _read(reader: asyncio.StreamReader) -> HookRequest | None:
    """Return a request; ``None`` from a hook that was stopped before it asked, as Codex does when it ends."""
    parts: list[bytes] = []
    left = MAX_REQUEST_BYTES
    while left > 0 and (part := await reader.read(left)):
        parts.append(part)
        left -= len(part)
    return HookRequest(**cast("dict[str, Any]", json.loads(b"".join(parts)))) if parts else None


def _without_workspace(settings: Settings) -> Settings:
    return settings.model_copy(update={"workspace": settings.home})
