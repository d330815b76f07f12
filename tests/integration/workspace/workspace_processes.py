"""Processes that work on one workspace and end badly; the tests of crashes and of concurrency run this.

    python workspace_processes.py store WORKSPACE COUNT      store, print each id once it is acknowledged
    python workspace_processes.py full WORKSPACE             store with hardly any room left, print the error
    python workspace_processes.py kill WORKSPACE ROUNDS SEED kill a writer at random moments, print what was wrong
    python workspace_processes.py fork WORKSPACE             store, fork, and see that both keep each other out
    python workspace_processes.py step DIRECTORY             kill a writer before every single system call of its own

It imports the store alone, so that a process starts fast, and forks, which a test process with threads must not.
"""

import fcntl
import json
import os
import random
import resource
import signal
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from commonplace.core.errors import CommonplaceError
from commonplace.workspace.model.memories import NoteDraft, NoteScope
from commonplace.workspace.store.file import MemoryStore

CALLS = (
    "open",
    "close",
    "read",
    "pread",
    "write",
    "pwrite",
    "fsync",
    "ftruncate",
    "fchmod",
    "replace",
    "unlink",
)
CALLS_ON_PATHS = ("mkdir", "stat", "lstat", "fstat")
MAX_TOTAL = 6


def draft(text: str) -> NoteDraft:
    """Return a memory to store."""
    return NoteDraft(
        text=text, scope=NoteScope.WORKSPACE, tags=("t",), created_at=datetime(2026, 3, 1, tzinfo=UTC)
    )


def work(store: MemoryStore, say: Callable[[str], None], *, stores: int) -> None:
    """Store, and delete now and then; say before a delete what is about to go, and after each step what is done."""
    last: list[int] = []
    for turn in range(stores):
        receipt = store.store(draft(f"fact {turn} " + "x" * 200))
        last.append(receipt.memory.number)
        for pruned in receipt.pruned:
            say(f"-{pruned.number}")
        say(f"+{receipt.memory.number}")
        if turn % 3 == 2:
            doomed = last[-1] if turn % 2 else last[-2]
            say(f"?{doomed}")
            store.delete(doomed)
            say(f"-{doomed}")
            last.remove(doomed)


class Ledger:
    """What a workspace must hold after its writers said what they did."""

    def __init__(self) -> None:
        self.alive: set[int] = set()
        self.ever: set[int] = set()
        self.wrong: list[str] = []
        self.kills = 0

    def hear(self, said: str) -> set[int]:
        """Take in what a writer said; return the memories that its last, unfinished step may have removed."""
        pending: set[int] = set()
        for word in said.split():
            number = int(word[1:])
            if word[0] == "+":
                if number in self.ever:
                    self.wrong.append(f"m-{number} was given twice")
                self.ever.add(number)
                self.alive.add(number)
            elif word[0] == "-":
                self.alive.discard(number)
            pending = {number} if word[0] == "?" else set()
        return pending

    def check(self, workspace: Path, pending: set[int]) -> None:
        """Compare with the file; what the unfinished step did or did not do is both right."""
        contents = MemoryStore(workspace, max_total=MAX_TOTAL).load()
        shown = [memory.number for memory in contents.memories]
        if len(shown) != len(set(shown)):
            self.wrong.append(f"ids stand twice: {shown}")
        unfinished = set(shown) - self.alive
        if len(unfinished) > 1 or (unfinished & self.ever) - pending:
            self.wrong.append(f"unexpected: {unfinished}, ever {max(self.ever, default=0)}")
        allowed = pending
        if unfinished and len(shown) == MAX_TOTAL:
            allowed = pending | {min(self.alive, default=0)}
        if lost := self.alive - set(shown) - allowed:
            self.wrong.append(f"lost: {lost}")
        self.kills += 1
        if len(contents.problems) > self.kills:
            self.wrong.append(f"more damage than a torn line each: {contents.problems}")
        self.ever |= set(shown)
        self.alive = set(shown)


def killed_writer(body: Callable[[Callable[[str], None]], None], *, patience_s: float | None) -> str:
    """Run a body in a child, kill it after a while if it is still there, and return what it had said."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        raw_write = os.write
        try:
            os.close(reader)

            def say(word: str) -> None:
                raw_write(writer, f"{word}\n".encode())

            body(say)
        finally:
            os._exit(0)
    os.close(writer)
    said = b""
    if patience_s is not None:
        said = os.read(reader, 1 << 16)
        time.sleep(patience_s)
        os.kill(child, signal.SIGKILL)
    while piece := os.read(reader, 1 << 16):
        said += piece
    os.close(reader)
    os.waitpid(child, 0)
    return said.decode()


def kill_at_random(workspace: Path, rounds: int, seed: int) -> dict[str, Any]:
    """Kill a writer after a random moment, many times, in one workspace that goes on."""
    chance = random.Random(seed)  # noqa: S311 - moments of death, not secrets
    ledger = Ledger()
    for _ in range(rounds):
        said = killed_writer(
            lambda say: work(MemoryStore(workspace, max_total=MAX_TOTAL), say, stores=10_000),
            patience_s=chance.uniform(0, 0.012),
        )
        ledger.check(workspace, ledger.hear(said))
    return {"wrong": ledger.wrong, "acknowledged": len(ledger.ever), "rounds": rounds}


def die_before_call(doomed: int, *, torn: bool) -> None:
    """Make this process kill itself before its system call number ``doomed``; a write may get half its bytes out."""
    count = 0

    def counted(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(*arguments: Any, **keywords: Any) -> Any:  # noqa: ANN401 - stands for any call
            nonlocal count
            count += 1
            if count == doomed:
                if torn and name == "write":
                    call(arguments[0], bytes(arguments[1])[: len(arguments[1]) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*arguments, **keywords)

        return wrapper

    for name in CALLS + CALLS_ON_PATHS:
        setattr(os, name, counted(name, getattr(os, name)))
    fcntl.flock = counted("flock", fcntl.flock)


def doomed_work(workspace: Path, doomed: int, say: Callable[[str], None], *, torn: bool) -> None:
    """Work until the system call that kills; say ``!0`` where the work ended before."""
    store = MemoryStore(workspace, max_total=MAX_TOTAL)
    die_before_call(doomed, torn=torn)
    work(store, say, stores=9)
    say("!0")


def kill_at_each_call(directory: Path) -> dict[str, Any]:
    """Kill a writer before each system call of its life, the first, the second … until it ends by itself."""
    wrong: list[str] = []
    doomed, survived = 0, False
    while not survived:
        doomed += 1
        for torn in (False, True):
            workspace = directory / f"{doomed}-{torn}"
            workspace.mkdir()

            said = killed_writer(partial(doomed_work, workspace, doomed, torn=torn), patience_s=None)
            survived = said.endswith("!0\n")
            ledger = Ledger()
            pending = ledger.hear(said.replace("!0\n", ""))
            ledger.check(workspace, pending)
            after = MemoryStore(workspace, max_total=MAX_TOTAL).store(draft("after the crash"))
            for pruned in after.pruned:
                ledger.alive.discard(pruned.number)
            ledger.hear(f"+{after.memory.number}")
            ledger.check(workspace, set())
            if list((workspace / ".aegis" / "memory").glob("*.tmp")):
                ledger.wrong.append("a temporary file was left")
            wrong += [f"call {doomed}{' torn' if torn else ''}: {reason}" for reason in ledger.wrong]
    return {"wrong": wrong, "calls": doomed}


def store_many(workspace: Path, count: int) -> None:
    """Store, and print each id once it is acknowledged."""
    store = MemoryStore(workspace, max_total=10_000)
    for turn in range(count):
        print(store.store(draft(f"fact {turn} of {os.getpid()}")).id, flush=True)  # noqa: T201 - its output


def store_without_room(workspace: Path) -> dict[str, Any]:
    """Store and delete with room for a few more bytes only, then with room again."""
    store = MemoryStore(workspace)
    before = [store.store(draft(f"before {turn}")).memory for turn in range(3)]
    content = store.path.read_bytes()
    errors: list[str] = []
    for room, step in (
        (len(content) + 20, lambda: store.store(draft("too much " + "x" * 300))),
        (20, lambda: store.delete(before[0].number)),
    ):
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
        try:
            step()
        except CommonplaceError as error:
            errors.append(f"{type(error).__name__}: {error}")
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    unchanged = store.path.read_bytes() == content
    return {"errors": errors, "unchanged": unchanged, "after": store.store(draft("after")).id}


def store_across_a_fork(workspace: Path) -> dict[str, Any]:
    """Store, fork, and let each process try while the other holds the lock; then let both store."""
    store = MemoryStore(workspace, lock_timeout_s=0.05)
    store.store(draft("before"))
    held, done = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        with store._lock:
            os.write(held[1], b"x")
            os.read(done[0], 1)
        os._exit(0)
    os.read(held[0], 1)
    refused: list[str] = []
    try:
        store.store(draft("while the child holds it"))
    except CommonplaceError as error:
        refused.append(str(error))
    os.write(done[1], b"x")
    os.waitpid(child, 0)
    return {"refused": refused, "after": store.store(draft("after")).memory.id}


def main() -> None:
    """Do what the command line says and print what came of it."""
    mode, directory, *numbers = sys.argv[1:]
    if mode == "store":
        store_many(Path(directory), int(numbers[0]))
        return
    result = {
        "full": lambda: store_without_room(Path(directory)),
        "kill": lambda: kill_at_random(Path(directory), *map(int, numbers)),
        "fork": lambda: store_across_a_fork(Path(directory)),
        "step": lambda: kill_at_each_call(Path(directory)),
    }[mode]()
    sys.stdout.write(json.dumps(result))


if __name__ == "__main__":
    main()
