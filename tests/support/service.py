"""The service on loopback: in the test's own event loop, in a thread, or as a process."""

import asyncio
import os
import selectors
import signal
import subprocess
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from fastapi import FastAPI

from commonplace.access import Tokens
from commonplace.apps.memory import AppMemory
from commonplace.apps.model.energy import EnergyPolicy
from commonplace.core.clock import Clock, utc_now
from commonplace.core.settings import Settings
from commonplace.embedding import BackendName, EmbeddingEngine, EmbeddingOptions
from commonplace.knowledge.memory import KnowledgeMemory
from commonplace.knowledge.model.config import MemoryModuleConfig
from commonplace.llm import Model
from commonplace.operational.memory import OperationalMemory
from commonplace.services.opening import Memories
from commonplace.storage.embedded import remove_cluster
from commonplace.web.http.loopback import listen, url_of
from commonplace.web.http.security import SecurityOptions
from commonplace.web.service import create_app
from commonplace.web.serving import HttpServer
from commonplace.workspace import WorkspaceMemory
from support.commands import COMMAND, clean_environment
from support.deadlines import DEADLINE_S
from support.homes import migrated_database


@asynccontextmanager
async def open_app_memory(
    settings: Settings,
    *,
    clock: Clock = utc_now,
    energy: EnergyPolicy | None = None,
    engine: EmbeddingEngine | None = None,
) -> AsyncIterator[AppMemory]:
    """Open app memory with the extractive model, and vectors that need no weights."""
    engine = engine or EmbeddingEngine(EmbeddingOptions(backend=BackendName.FAKE))
    async with AppMemory.open(settings, clock=clock, energy=energy, engine=engine) as memory:
        yield memory


@asynccontextmanager
async def open_memories(
    settings: Settings,
    *,
    clock: Clock = utc_now,
    apps: AppMemory | None = None,
    config: MemoryModuleConfig | None = None,
) -> AsyncIterator[Memories]:
    """Open all four memories, with the extractive model and vectors that need no weights.

    Knowledge memory is opened by the first who needs it.
    """
    engine = EmbeddingEngine(EmbeddingOptions(backend=BackendName.FAKE))
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        yield Memories(
            operational=await enter(OperationalMemory.open(settings, clock=clock)),
            apps=apps or await enter(open_app_memory(settings, clock=clock, engine=engine)),
            workspace=await enter(WorkspaceMemory.open(settings, clock=clock)),
            knowledge=await enter(
                KnowledgeMemory.open(settings, clock=clock, engine=engine, config=config, lazy=True)
            ),
        )


@asynccontextmanager
async def serving(
    memory: AppMemory | Memories,
    *,
    security: SecurityOptions | None = None,
    tokens: Tokens | None = None,
    model: Model | None = None,
) -> AsyncIterator[str]:
    """Serve open memories from the event loop that runs; yield the URL.

    App memory alone gets three others beside it, in a directory of their own.
    """
    async with AsyncExitStack() as stack:
        home = Path(stack.enter_context(TemporaryDirectory()))
        stack.callback(remove_cluster, home / "postgres")
        settings = Settings(home=home, workspace=home)
        settings.database_path.write_bytes(migrated_database())
        if not isinstance(memory, Memories):
            memory = await stack.enter_async_context(open_memories(settings, apps=memory))
        tokens = tokens or await stack.enter_async_context(Tokens.open(settings))
        yield await stack.enter_async_context(
            serving_app(create_app(memory, tokens=tokens, security=security, settings=settings, model=model))
        )


@asynccontextmanager
async def serving_app(app: FastAPI) -> AsyncIterator[str]:
    """Serve an application from the event loop that runs; yield the URL."""
    with listen("127.0.0.1", 0) as listener:
        ready = asyncio.Event()
        server = HttpServer(app, on_ready=ready.set)
        running = asyncio.create_task(server.serve(sockets=[listener]))
        async with asyncio.timeout(DEADLINE_S):
            await ready.wait()
        try:
            yield url_of(listener)
        finally:
            server.stop()
            await running


@contextmanager
def serving_in_thread(settings: Settings, fill: Callable[[AppMemory], Awaitable[None]]) -> Iterator[str]:
    """Serve a memory, filled before, from a thread of its own; yield the URL."""
    urls: list[str] = []
    ready, stop = threading.Event(), threading.Event()

    async def work() -> None:
        try:
            async with open_app_memory(settings) as memory:
                await fill(memory)
                async with serving(memory) as url:
                    urls.append(url)
                    ready.set()
                    await asyncio.to_thread(stop.wait)
        finally:
            ready.set()

    thread = threading.Thread(target=lambda: asyncio.run(work()))
    thread.start()
    try:
        ready.wait()
        assert urls, "the service did not start"
        yield urls[0]
    finally:
        stop.set()
        thread.join()


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceProcess:
    """``commonplace serve`` as it runs."""

    url: str
    line: str
    process: subprocess.Popen[bytes]

    def signal(self, number: signal.Signals) -> None:
        """Send a signal."""
        self.process.send_signal(number)

    def ended(self) -> tuple[int, str]:
        """Wait until it has ended; return its exit status and what else it said on standard error."""
        _, said = self.process.communicate(timeout=DEADLINE_S)
        return self.process.returncode, said.decode()


@contextmanager
def service_process(
    home: Path, *arguments: str, program: Path = COMMAND, **variables: str
) -> Iterator[ServiceProcess]:
    """Start ``commonplace serve`` on a free port, and wait for the line that says where; its workspace is its home."""
    home.mkdir(parents=True, exist_ok=True)
    process = subprocess.Popen(
        [program, "serve", "--port", "0", *arguments],
        cwd=home,
        env=clean_environment(home, **variables),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        bufsize=0,
    )
    try:
        line = _first_line(process)
        url = next(word for word in line.split() if word.startswith("http://"))
        yield ServiceProcess(url=url, line=line, process=process)
    finally:
        process.kill()
        process.communicate()


def _first_line(process: subprocess.Popen[bytes]) -> str:
    assert process.stderr is not None
    line = b""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stderr, selectors.EVENT_READ)
        while not line.endswith(b"\n"):
            assert selector.select(DEADLINE_S), f"the service said nothing within {DEADLINE_S} s"
            piece = os.read(process.stderr.fileno(), 1)
            assert piece, f"the service ended: {line.decode()}"
            line += piece
    return line.decode()
