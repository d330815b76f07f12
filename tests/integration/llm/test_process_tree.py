"""Killing a process takes its descendants along, wherever they have gone."""

import asyncio
import sys
from pathlib import Path

import psutil

from commonplace.llm.process_tree import kill_tree
from support.processes import ids_when_written, survivors

# Each starts what follows it, the second and third in sessions of their own, then writes its id and waits.
FAMILY = """
import os, subprocess, sys, time
depth, path = int(sys.argv[1]), sys.argv[2]
if depth:
    subprocess.Popen([sys.executable, __file__, str(depth - 1), path], start_new_session=depth < 3)
with open(path, "a") as file:
    file.write(f"{os.getpid()}\\n")
time.sleep(60)
"""


# Forks twice and lets the first child end, so that the second has no parent left but init.
ORPHAN = """
import os, sys, time
if os.fork() == 0:
    if os.fork() == 0:
        open(sys.argv[1], "w").write(f"{os.getpid()}\\n")
        time.sleep(60)
    os._exit(0)
os.wait()
time.sleep(60)
"""


async def start(directory: Path, code: str, *arguments: str) -> asyncio.subprocess.Process:
    """Start a script as the leader of a process group."""
    script = directory / "script.py"
    script.write_text(code)
    return await asyncio.create_subprocess_exec(
        sys.executable, str(script), *arguments, start_new_session=True
    )


async def test_descendants_in_sessions_of_their_own_die_too(tmp_path: Path) -> None:
    """All four generations, of which three lead sessions."""
    ids = tmp_path / "ids"
    first = await start(tmp_path, FAMILY, "3", str(ids))
    members = await asyncio.to_thread(ids_when_written, ids, 4)
    kill_tree(first.pid)
    await first.wait()
    assert survivors(members) == []


async def test_a_child_whose_parent_died_is_reached_in_its_group(tmp_path: Path) -> None:
    """It is no descendant any more, but still of the group."""
    ids = tmp_path / "ids"
    first = await start(tmp_path, ORPHAN, str(ids))
    orphans = await asyncio.to_thread(ids_when_written, ids)
    kill_tree(first.pid)
    await first.wait()
    assert survivors(orphans) == []


def test_a_process_that_is_gone_is_no_error() -> None:
    """It may end between the decision and the kill."""
    gone = 2**22 + 1
    assert not psutil.pid_exists(gone)
    kill_tree(gone)
