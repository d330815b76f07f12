"""Kills, server restarts, a full disk and a clock jump, while memories are written.

A writer process stores memories in operational, workspace and knowledge memory, and prints each one after it was
acknowledged. The faults hit while it writes. Then every acknowledged memory is looked up.

    python benchmarks/chaos.py [--rounds 10]

The exit status is 1 if an acknowledged memory is lost, or if an outage is not named. A full disk needs a file system of
its own, which only root can mount; without root, this part is skipped.
"""

import argparse
import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psutil

from commonplace.core.clock import format_timestamp
from commonplace.core.errors import ClockError, CommonplaceError, StorageError
from commonplace.core.settings import Settings
from commonplace.embedding import BackendName, EmbeddingEngine, EmbeddingOptions
from commonplace.knowledge import KnowledgeMemory
from commonplace.operational import OperationalMemory
from commonplace.storage.clock_guard import FILE, machine_now
from commonplace.storage.embedded import join_server, remove_cluster
from commonplace.workspace import WorkspaceMemory

SEED = 15
PATIENCE_S = 60.0
EPISODES = 100_000
KINDS = ("operational", "workspace", "knowledge")
DISK_BYTES = 4 << 20


@dataclass(slots=True)
class Outcome:
    """The numbers of one part; ``named`` counts outages that were reported as such."""

    acknowledged: Counter[str] = field(default_factory=Counter)
    lost: Counter[str] = field(default_factory=Counter)
    named: int = 0
    wrong: list[str] = field(default_factory=list)


def settings_of(home: Path) -> Settings:
    """Return the settings of a home whose workspace lies in it."""
    workspace = home / "workspace"
    workspace.mkdir(parents=True, exist_ok=True)
    return Settings(home=home, workspace=workspace)


async def opened(
    stack: AsyncExitStack, home: Path
) -> tuple[OperationalMemory, WorkspaceMemory, KnowledgeMemory]:
    """Open three memories with vectors that need no weights."""
    settings = settings_of(home)
    engine = EmbeddingEngine(EmbeddingOptions(backend=BackendName.FAKE))
    return (
        await stack.enter_async_context(OperationalMemory.open(settings)),
        await stack.enter_async_context(WorkspaceMemory.open(settings)),
        await stack.enter_async_context(KnowledgeMemory.open(settings, engine=engine, lazy=True)),
    )


async def write(home: Path, kinds: list[str]) -> None:
    """Store memories until the process is killed; print a line for each acknowledged one, or for an outage."""
    async with AsyncExitStack() as stack:
        operational, workspace, knowledge = await opened(stack, home)
        for number in range(EPISODES):
            for kind in kinds:
                text = f"{os.getpid()} {number} {random.random()}"  # noqa: S311 - makes texts differ
                try:
                    if kind == "operational":
                        stored = (await operational.add(category="timing", observation=text)).memory.id
                    elif kind == "workspace":
                        stored = (await workspace.store(text)).id
                    else:
                        stored = (
                            await knowledge.store_episode(content=text, butler="chaos", fail_open=False)
                        ).id
                    print(kind, stored, flush=True)
                except StorageError as error:
                    print("outage", kind, str(error).partition("\n")[0], flush=True)


async def kept(home: Path) -> dict[str, set[str]]:
    """Return the ids of all memories by kind."""
    async with AsyncExitStack() as stack:
        operational, _, knowledge = await opened(stack, home)
        lines = (home / "workspace" / ".aegis/memory/memories.jsonl").read_bytes().splitlines()
        found = {
            "operational": {str(memory.id) for memory in await operational.list_memories()},
            "workspace": {json.loads(line)["id"] for line in lines if line.strip()},
            "knowledge": set[str](),
        }
        if (home / "postgres").exists():
            async with knowledge.session.reading() as sql:
                rows = await sql.connection.fetch("SELECT id FROM episodes")
            found["knowledge"] = {str(row["id"]) for row in rows}
        return found


@contextmanager
def writer(home: Path, *kinds: str) -> Iterator[subprocess.Popen[str]]:
    """Run a writer process, and kill it at the end of the block."""
    command = [sys.executable, __file__, "--write", str(home), *kinds]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def note(outcome: Outcome, written: dict[str, set[str]], line: str) -> None:
    """Count a line of a writer."""
    kind, _, rest = line.strip().partition(" ")
    if kind == "outage":
        outcome.named += 1
    elif kind in KINDS and line.endswith("\n"):
        outcome.acknowledged[kind] += 1
        written.setdefault(kind, set()).add(rest)


def read_until(
    process: subprocess.Popen[str], outcome: Outcome, written: dict[str, set[str]], count: int
) -> None:
    """Read lines of a writer until it has acknowledged a number of memories."""
    wanted, deadline = sum(outcome.acknowledged.values()) + count, time.monotonic() + PATIENCE_S
    for line in process.stdout or ():
        note(outcome, written, line)
        if sum(outcome.acknowledged.values()) >= wanted or time.monotonic() > deadline:
            return


def compare(outcome: Outcome, home: Path, written: dict[str, set[str]]) -> Outcome:
    """Count the acknowledged memories that are gone."""
    found = asyncio.run(kept(home))
    for kind, ids in written.items():
        outcome.lost[kind] += len(ids - found[kind])
    return outcome


def kills(home: Path, rounds: int) -> Outcome:
    """Kill the writer at a random moment, again and again."""
    outcome, written, chance = Outcome(), dict[str, set[str]](), random.Random(SEED)  # noqa: S311 - the same faults
    for _ in range(rounds):
        with writer(home, *KINDS) as process:
            read_until(process, outcome, written, chance.randint(3, 60))
            time.sleep(chance.random() / 50)
            process.kill()
            for line in process.stdout or ():
                note(outcome, written, line)
    return compare(outcome, home, written)


def restarts(home: Path, rounds: int) -> Outcome:
    """Kill the database server under the writer, which goes on when the server is back."""
    outcome, written = Outcome(), dict[str, set[str]]()
    membership = join_server(home / "postgres")
    try:
        with writer(home, "knowledge") as process:
            for _ in range(rounds):
                read_until(process, outcome, written, 20)
                pid = int((membership.cluster.data / "postmaster.pid").read_text().split()[0])
                with psutil.Process(pid).oneshot():
                    os.kill(pid, signal.SIGKILL)
                read_until(process, outcome, written, 5)
    finally:
        membership.leave()
    return compare(outcome, home, written)


def full_disk(directory: Path) -> Outcome | None:
    """Fill a small disk under the writer, make room, and write again; ``None`` if no disk can be mounted."""
    outcome, written, disk = Outcome(), dict[str, set[str]](), directory / "disk"
    disk.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(disk)]
    if subprocess.run(mounting, capture_output=True, check=False).returncode:
        return None
    try:
        home, ballast = disk / "home", disk / "ballast"
        with writer(home, "operational", "workspace") as process:
            read_until(process, outcome, written, 20)
            with ballast.open("wb") as file:
                _fill(file.fileno())
            deadline = time.monotonic() + PATIENCE_S
            while outcome.named < 10 and time.monotonic() < deadline:
                note(outcome, written, process.stdout.readline() if process.stdout else "")
            ballast.unlink()
            read_until(process, outcome, written, 20)
        if outcome.named == 0:
            outcome.wrong.append("a full disk was not reported")
        drafts = [path for path in home.rglob("*") if path.suffix in {".tmp", ".draft"}]
        outcome.wrong += [f"left behind: {path}" for path in drafts]
        return compare(outcome, home, written)
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def _fill(descriptor: int) -> None:
    try:
        while os.write(descriptor, bytes(4096)):
            pass
    except OSError:
        return


def clock_jump(home: Path) -> Outcome:
    """Let the clock be 400 days ahead of the machine's uptime, and clean up."""
    outcome = Outcome()

    async def jump() -> None:
        async with AsyncExitStack() as stack:
            _, _, knowledge = await opened(stack, home)
            before = (await knowledge.stats()).episodes.total
            outcome.acknowledged["knowledge"] = before
            now = machine_now()
            at = format_timestamp(datetime.now(UTC) - timedelta(days=400))
            (home / FILE).write_text(json.dumps({"at": at, "uptime_s": now.uptime_s, "boot": now.boot}))
            for upkeep in (knowledge.upkeep.cleanup, knowledge.upkeep.sweep):
                try:
                    await upkeep()
                    outcome.wrong.append(f"{upkeep.__name__} ran with a wrong clock")
                except ClockError:
                    outcome.named += 1
            outcome.lost["knowledge"] = before - (await knowledge.stats()).episodes.total

    asyncio.run(jump())
    return outcome


def show(part: str, outcome: Outcome | None, took_s: float) -> bool:
    """Print the numbers of a part; return whether nothing was lost."""
    if outcome is None:
        print(f"{part:16} skipped: only root can mount a disk")
        return True
    acknowledged, lost = sum(outcome.acknowledged.values()), sum(outcome.lost.values())
    print(
        f"{part:16} acknowledged {acknowledged:6,}   kept {acknowledged - lost:6,}   lost {lost:3,}   "
        f"outages named {outcome.named:5,}   {took_s:5.1f} s"
    )
    for fault in outcome.wrong:
        print(f"  {fault}")
    return lost == 0 and not outcome.wrong


def main() -> int:
    """Run all parts; return 1 if an acknowledged memory was lost."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=10, help="kills of the writer, and of the server")
    parser.add_argument("--write", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.write:
        asyncio.run(write(Path(options.write[0]), options.write[1:]))
        return 0
    good = True
    with tempfile.TemporaryDirectory(prefix="commonplace-chaos-") as name:
        home = Path(name) / "home"
        parts = {
            "kills": lambda: kills(home, options.rounds),
            "server restarts": lambda: restarts(home, options.rounds),
            "full disk": lambda: full_disk(Path(name)),
            "clock jump": lambda: clock_jump(home),
        }
        try:
            for part, run in parts.items():
                began = time.monotonic()
                good &= show(part, run(), time.monotonic() - began)
        except CommonplaceError as error:
            print(f"a part could not be run: {error}")
            good = False
        finally:
            remove_cluster(home / "postgres")
    return int(not good)


if __name__ == "__main__":
    raise SystemExit(main())
