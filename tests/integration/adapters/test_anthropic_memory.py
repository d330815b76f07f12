"""Claude's memory tool, beside the SDK's own on files and inside the SDK's loop of tools."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest
from anthropic import AsyncAnthropic
from anthropic.lib.tools import ToolError
from anthropic.lib.tools._beta_builtin_memory_tool import BetaAsyncLocalFilesystemMemoryTool

from commonplace.adapters.anthropic_memory import CommonplaceMemoryTool
from commonplace.knowledge import KnowledgeMemory, Narrowing
from support.clock import StillClock

STEPS: list[dict[str, Any]] = [
    {"command": "create", "path": "/memories/notes.md", "file_text": "# Notes\n- tabs\n- tabs again\n"},
    {"command": "create", "path": "/memories/notes.md", "file_text": "twice"},
    {"command": "view", "path": "/memories/notes.md"},
    {"command": "view", "path": "/memories/notes.md", "view_range": [2, 3]},
    {"command": "view", "path": "/memories/notes.md", "view_range": [2, -1]},
    {
        "command": "str_replace",
        "path": "/memories/notes.md",
        "old_str": "# Notes",
        "new_str": "# My\n# notes",
    },
    {"command": "str_replace", "path": "/memories/notes.md", "old_str": "tabs", "new_str": "spaces"},
    {"command": "str_replace", "path": "/memories/notes.md", "old_str": "absent", "new_str": "x"},
    {"command": "str_replace", "path": "/memories/nothing", "old_str": "a", "new_str": "b"},
    {"command": "insert", "path": "/memories/notes.md", "insert_line": 0, "insert_text": "first\n"},
    {"command": "insert", "path": "/memories/notes.md", "insert_line": 5, "insert_text": "  last  "},
    {"command": "insert", "path": "/memories/notes.md", "insert_line": 99, "insert_text": "x"},
    {"command": "insert", "path": "/memories/nothing", "insert_line": 0, "insert_text": "x"},
    {"command": "view", "path": "/memories/notes.md"},
    {"command": "create", "path": "/memories/a/b/deep.txt", "file_text": "\n  deep\n\n"},
    {"command": "create", "path": "/memories/a/empty", "file_text": ""},
    {"command": "create", "path": "/memories/a/blank", "file_text": " \n "},
    {"command": "view", "path": "/memories/a/b/deep.txt"},
    {"command": "view", "path": "/memories/a/empty"},
    {"command": "view", "path": "/memories/a/blank"},
    {"command": "insert", "path": "/memories/a/empty", "insert_line": 0, "insert_text": "now"},
    {"command": "view", "path": "/memories/a/empty"},
    {"command": "str_replace", "path": "/memories/a", "old_str": "a", "new_str": "b"},
    {"command": "insert", "path": "/memories/a", "insert_line": 0, "insert_text": "b"},
    {"command": "rename", "old_path": "/memories/a/b", "new_path": "/memories/c/d"},
    {"command": "view", "path": "/memories/c/d/deep.txt"},
    {"command": "rename", "old_path": "/memories/notes.md", "new_path": "/memories/a/blank"},
    {"command": "rename", "old_path": "/memories/nothing", "new_path": "/memories/something"},
    {"command": "rename", "old_path": "/memories/notes.md", "new_path": "/memories/n.md"},
    {"command": "view", "path": "/memories/notes.md"},
    {"command": "delete", "path": "/memories/nothing"},
    {"command": "delete", "path": "/memories/c"},
    {"command": "view", "path": "/memories/c/d/deep.txt"},
    {"command": "delete", "path": "/memories"},
    {"command": "rename", "old_path": "/memories", "new_path": "/memories/x"},
    {"command": "view", "path": "/memories/../etc/passwd"},
    {"command": "create", "path": "/memories/a/../../outside", "file_text": "x"},
    {"command": "view", "path": "/etc/passwd"},
    {"command": "view", "path": "notes.md"},
]


async def run(tool: Any, step: dict[str, Any]) -> str:  # noqa: ANN401 - either tool
    """Run a command as the SDK does, and return its answer or error."""
    try:
        return str(await tool.call(step))
    except ToolError as error:
        return f"error: {error}"


async def test_it_answers_as_the_tool_of_the_sdk(memory: KnowledgeMemory, tmp_path: Path) -> None:
    """Word for word, for files, directories, errors and paths that lead outside."""
    ours, theirs = CommonplaceMemoryTool(memory), BetaAsyncLocalFilesystemMemoryTool(str(tmp_path))
    assert ours.to_dict() == theirs.to_dict()
    for step in STEPS:
        assert await run(ours, step) == await run(theirs, step), step


async def test_a_directory_is_listed_two_levels_deep(memory: KnowledgeMemory) -> None:
    """With sizes; hidden files are left out; a directory ends with its last file."""
    tool = CommonplaceMemoryTool(memory)
    root = {"command": "view", "path": "/memories"}
    header = "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items:\n"
    assert await run(tool, root) == f"{header}0B\t/memories"
    for path, size in (("b.txt", 1536), ("a/b/c.txt", 10), ("a/x", 2048), (".hidden", 5)):
        await run(tool, {"command": "create", "path": f"/memories/{path}", "file_text": "x" * size})
    assert await run(tool, root) == (
        f"{header}3.5K\t/memories\n2.0K\t/memories/a/\n10B\t/memories/a/b/\n2K\t/memories/a/x\n"
        "1.5K\t/memories/b.txt"
    )
    await run(tool, {"command": "delete", "path": "/memories/a"})
    assert "/memories/a" not in await run(tool, root)
    assert await tool.clear_all_memory() == "All memory cleared"
    assert await run(tool, root) == f"{header}0B\t/memories"


async def test_another_fact_in_the_place_of_a_file_is_no_file(memory: KnowledgeMemory) -> None:
    """Nor is it a version of the file that takes its place."""
    tool = CommonplaceMemoryTool(memory)
    path = "/memories/port.md"
    await memory.store_fact(subject=path, predicate="file", content="5432", scope="claude-memory")
    await run(tool, {"command": "create", "path": path, "file_text": "5433\n"})
    assert await tool.versions(path) == ["5433\n"]


async def test_every_edit_is_a_version(memory: KnowledgeMemory, clock: StillClock) -> None:
    """Which knowledge memory keeps, and finds by its words."""
    tool = CommonplaceMemoryTool(memory)
    path = "/memories/port.md"
    for step in (
        {"command": "create", "path": path, "file_text": "The port is 5433\n"},
        {"command": "str_replace", "path": path, "old_str": "5433", "new_str": "5434"},
        {"command": "insert", "path": path, "insert_line": 0, "insert_text": "# Port"},
    ):
        await run(tool, step)
        clock.now += timedelta(seconds=1)
    assert await tool.versions(path) == [
        "# Port\nThe port is 5434\n", "The port is 5434\n", "The port is 5433\n",
    ]  # fmt: skip
    (found,) = await memory.search("port 5434")
    assert (found.memory.content, getattr(found.memory, "subject", "")) == ("# Port\nThe port is 5434", path)


async def test_a_secret_is_refused(memory: KnowledgeMemory) -> None:
    """As an error that Claude reads; the file stays as it was. Scopes share nothing."""
    tool, other = CommonplaceMemoryTool(memory), CommonplaceMemoryTool(memory, scope="other")
    secret = {
        "command": "create",
        "path": "/memories/k",
        "file_text": "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    }
    assert "appears to contain a secret" in await run(tool, secret)
    assert "does not exist" in await run(tool, {"command": "view", "path": "/memories/k"})
    await run(tool, {"command": "create", "path": "/memories/mine", "file_text": "x"})
    assert "does not exist" in await run(other, {"command": "view", "path": "/memories/mine"})


async def test_the_loop_of_the_sdk_runs_the_tool(memory: KnowledgeMemory) -> None:
    """With the real client against a scripted Messages API: Claude writes a file and reads the answer."""
    create = {"command": "create", "path": "/memories/me.md", "file_text": "Likes tea"}
    blocks = [
        [{"type": "tool_use", "id": "t1", "name": "memory", "input": create}],
        [{"type": "text", "text": "Noted."}],
    ]
    requests: list[dict[str, Any]] = []

    def reply(request: httpx2.Request) -> httpx2.Response:
        requests.append(json.loads(request.content))
        content = blocks[len(requests) - 1]
        reason = "tool_use" if content[0]["type"] == "tool_use" else "end_turn"
        return httpx2.Response(
            200,
            json={"id": "m", "type": "message", "role": "assistant", "model": "claude", "content": content,
                  "stop_reason": reason, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}},
        )  # fmt: skip

    http = httpx2.AsyncClient(transport=httpx2.MockTransport(reply))
    async with AsyncAnthropic(api_key="none", http_client=http) as client:
        runner = client.beta.messages.tool_runner(
            model="claude-test",
            max_tokens=100,
            messages=[{"role": "user", "content": "I like tea"}],
            tools=[CommonplaceMemoryTool(memory)],
        )
        last = await runner.until_done()
    assert getattr(last.content[0], "text", None) == "Noted."
    assert requests[0]["tools"] == [{"type": "memory_20250818", "name": "memory"}]
    (result,) = requests[1]["messages"][-1]["content"]
    assert "File created successfully at: /memories/me.md" in str(result["content"])
    (fact,) = await memory.lists.facts(narrowing=Narrowing(scope="claude-memory"))
    assert fact.content == "Likes tea"


@pytest.mark.requirement("TRU-02.5")
async def test_a_file_is_kept_word_for_word(memory: KnowledgeMemory) -> None:
    """No date beside "tomorrow", and no period after which the file would be gone."""
    tool = CommonplaceMemoryTool(memory)
    text = "Ben is away until tomorrow."
    await run(tool, {"command": "create", "path": "/memories/ben.md", "file_text": text})
    assert await tool.versions("/memories/ben.md") == [text]
    (found,) = await memory.search("Ben")
    assert getattr(found.memory, "valid_to", found) is None
