"""Programs that stand in for the claude CLI where a test is about what a CLI seldom does."""

import shlex
import sys
from pathlib import Path

from commonplace.core.settings import Settings
from commonplace.operational.run.agent import RunRequest
from commonplace.operational.run.lock import RunLock
from commonplace.operational.run.prompt import load_prompt
from commonplace.operational.run.runner import RunReport, Watcher, run_session
from commonplace.operational.run.schedule import Stop
from support.commands import clean_environment


def program(path: Path, code: str) -> Path:
    """Write an executable Python program."""
    path.write_text(f"#!{sys.executable} -ISu\n{code}\n")
    path.chmod(0o755)
    return path


def script(path: Path, *lines: str) -> Path:
    """Write an executable shell script."""
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    path.chmod(0o755)
    return path


def prints(path: Path, data: bytes) -> str:
    """Write bytes to a file and return the line of a shell script that prints them."""
    path.write_bytes(data)
    return f"cat {shlex.quote(str(path))}"


async def run(
    settings: Settings,
    executable: Path,
    *,
    tier: int = 1,
    stop: Stop | None = None,
    watcher: Watcher | None = None,
    timeout_s: float | None = None,
    grace_s: float = 10.0,
    arguments: tuple[str, ...] = (),
    services: tuple[str, ...] = (),
    environ: dict[str, str] | None = None,
) -> RunReport:
    """Run one session, under the lock, in the workspace of the settings."""
    request = RunRequest(
        executable=executable,
        tier=tier,
        prompt=load_prompt(tier),
        services=services,
        arguments=arguments,
        timeout_s=timeout_s,
        grace_s=grace_s,
        environ=environ or clean_environment(settings.home),
        directory=settings.workspace,
    )
    with RunLock(settings.home) as lock:
        assert lock.acquire()
        return await run_session(settings, request, lock=lock, stop=stop or Stop(), watcher=watcher)
