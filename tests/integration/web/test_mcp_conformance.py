"""The official conformance suite of the Model Context Protocol against a server over HTTP."""

import asyncio
import re
from pathlib import Path

from commonplace.core.settings import Settings
from support.deadlines import DEADLINE_S
from support.programs import NODE, package_file
from support.service import open_memories, serving

SUITE = "@modelcontextprotocol/conformance/dist/index.js"
NOT_APPLICABLE = Path(__file__).parent / "conformance.yml"


async def test_the_suite_passes_in_all_scenarios_that_apply(
    settings: Settings, knowledge_url: str, tmp_path: Path
) -> None:
    """No scenario fails but those listed; the checks of handshake, lists, calls and rebinding pass."""
    suite_file = package_file(SUITE)
    command = [NODE, suite_file, "server", "--suite", "all", "--expected-failures", NOT_APPLICABLE]
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
