"""Workspace memory as a host uses it: the facade and the built-in tools."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from commonplace.core.clock import ManualClock
from commonplace.core.errors import (
    InvalidInputError,
    SecretRefusedError,
    SettingsError,
    StorageUnavailableError,
)
from commonplace.workspace import TOOLS, WorkspaceMemory, call_tool, system_prompt_section

SECRET_REFUSED = {"ok": False, "error": "text appears to contain a secret — not stored"}


@pytest.fixture
async def memory(tmp_path: Path, clock: ManualClock) -> AsyncIterator[WorkspaceMemory]:
    """The memory of an empty workspace."""
    async with WorkspaceMemory.open(workspace=tmp_path, clock=clock) as opened:
        yield opened


@pytest.mark.requirement("WSP-02", "WSP-02.1", "WSP-05", "WSP-06")
async def test_the_tools_answer_as_specified(memory: WorkspaceMemory, clock: ManualClock) -> None:
    """Store, search and delete, each with the result of the specification."""
    arguments: dict[str, Any] = {"text": "Deploy target is AWS", "tags": '["infra"]', "scope": "user"}
    assert await call_tool(memory, "memory_store", arguments) == {"ok": True, "id": "m-1"}
    clock.advance(minutes=5)
    assert await call_tool(memory, "memory_store", {"text": "Port 5432"}) == {"ok": True, "id": "m-2"}
    newest = {"id": "m-2", "text": "Port 5432", "tags": [], "ts": "2026-03-01T12:05:00Z"}
    oldest = {"id": "m-1", "text": "Deploy target is AWS", "tags": ["infra"], "ts": "2026-03-01T12:00:00Z"}
    assert await call_tool(memory, "memory_search", {}) == {"count": 2, "memories": [newest, oldest]}
    assert await call_tool(memory, "memory_search", {"query": "", "tag": "infra"}) == {
        "count": 1,
        "memories": [oldest],
    }
    assert await call_tool(memory, "memory_delete", {"id": "m-1"}) == {"ok": True}
    assert (await call_tool(memory, "memory_search", {}))["count"] == 1
    assert '"scope":"workspace"' in memory.path.read_text()


@pytest.mark.requirement("WSP-02.2", "WSP-01.3", "WSP-06.2", "R-WSP-6")
@pytest.mark.parametrize(
    ("tool", "arguments", "error"),
    [
        ("memory_store", {}, "text: expected text of 1 to 500 characters, got nothing"),
        ("memory_store", {"text": " \n"}, "text: expected text of 1 to 500 characters"),
        (
            "memory_store",
            {"text": "x" * 501},
            'text: expected text of 1 to 500 characters, got "501 characters"',
        ),
        (
            "memory_store",
            {"text": "x", "tags": ["a"] * 2 + list("bcdef")},
            "tags: expected a list of at most 5",
        ),
        ("memory_store", {"text": "x", "scope": "team"}, "scope: expected one of user, workspace, session"),
        ("memory_store", {"text": "x", "memory": "y"}, "arguments: expected text and tags and scope"),
        ("memory_search", {"query": 5}, "query: expected text, got 5"),
        ("memory_delete", {}, "id: expected the id of a memory, such as m-4, got nothing"),
        ("memory_delete", {"id": "m-7"}, 'no memory with id "m-7"; use memory_search to find'),
        ("memory_update", {}, "tool: expected one of memory_store, memory_search, memory_delete"),
    ],
)
async def test_bad_input_is_answered_and_nothing_is_written(
    memory: WorkspaceMemory, tool: str, arguments: dict[str, Any], error: str
) -> None:
    """The answer names the field, what was expected and what came."""
    answer = await call_tool(memory, tool, arguments)
    assert answer["ok"] is False
    assert answer["error"].startswith(error)
    assert not memory.path.parent.exists()


@pytest.mark.requirement("WSP-01.3")
@pytest.mark.parametrize("limit", [0, -1, "5"])
async def test_a_limit_that_is_none_is_refused(memory: WorkspaceMemory, limit: object) -> None:
    """All memories would be an answer to another question."""
    with pytest.raises(InvalidInputError, match="limit: expected a whole number from 1"):
        await memory.search(limit=limit)  # type: ignore[arg-type]


async def test_five_hundred_characters_of_any_script_fit(memory: WorkspaceMemory) -> None:
    """Lengths are in characters, not bytes."""
    receipt = await memory.store("記" * 500, tags=list("abcde"))
    assert len(receipt.memory.text) == 500
    assert (await memory.search("記記")).memories == (receipt.memory,)


@pytest.mark.requirement("WSP-03", "WSP-03.4")
async def test_a_secret_is_refused_with_the_exact_error(
    memory: WorkspaceMemory, caplog: pytest.LogCaptureFixture
) -> None:
    """In the text or in a tag; neither the file nor the log nor the error shows it."""
    with caplog.at_level("DEBUG"):
        for arguments in ({"text": "my key is sk-abc123def"}, {"text": "a fact", "tags": ["sk-abc123def"]}):
            assert await call_tool(memory, "memory_store", arguments) == SECRET_REFUSED
        with pytest.raises(SecretRefusedError) as caught:
            await memory.store("my key is sk-abc123def")
    assert "abc123def" not in str(caught.value) + caplog.text
    assert not memory.path.exists()


@pytest.mark.requirement("WSP-07", "WSP-07.1", "WSP-07.5", "WSP-08.1")
async def test_a_fact_of_one_session_is_in_the_prompt_of_the_next(tmp_path: Path, clock: ManualClock) -> None:
    """The specification's story: remembered once, shown where it matters, seen by sessions that run already."""
    question = [
        {"role": "system", "content": "You help."},
        {"role": "user", "content": "What indentation style, tabs or spaces?"},
    ]
    async with WorkspaceMemory.open(workspace=tmp_path, clock=clock) as later:
        assert await later.assemble(question) == question
        async with WorkspaceMemory.open(workspace=tmp_path, clock=clock) as first:
            await first.store("User prefers tabs over spaces", tags=["preference"], scope="user")
            await first.store("The database is PostgreSQL on port 5432", tags=["infra"])
        block = {"role": "system", "content": "[Memories]\n- (m-1, preference) User prefers tabs over spaces"}
        assert await later.assemble(question) == [question[0], block, question[1]]
        (why,) = await later.explain(question[1]["content"])
        assert why.words == {"tabs", "spaces"}
        assert why.score == 3.0


async def test_a_closed_memory_says_so(tmp_path: Path) -> None:
    """Like one whose file cannot be reached; the workspace may be named by a text."""
    async with WorkspaceMemory.open(workspace=str(tmp_path)) as memory:
        await memory.store("The tests need Redis")
    for call in (memory.search(), memory.context("tests"), memory.store("x")):
        with pytest.raises(StorageUnavailableError, match=r"memories\.jsonl: the memory is closed"):
            await call


@pytest.mark.requirement("WSP-10.1", "WSP-08.1", "WSP-04.1", "WSP-07.3")
async def test_agent_json_decides(tmp_path: Path, clock: ManualClock) -> None:
    """Mode, count and total of the file rule the memory."""
    section = {"inject_mode": "recent_only", "max_inject_count": 1, "max_total": 2}
    (tmp_path / "agent.json").write_text(json.dumps({"memory": section}))
    async with WorkspaceMemory.open(workspace=tmp_path, clock=clock) as memory:
        for text in ("first", "second", "third"):
            receipt = await memory.store(text)
        assert [pruned.id for pruned in receipt.pruned] == ["m-1"]
        assert await memory.context("second") == "[Memories]\n- (m-3) third"
    (tmp_path / "agent.json").write_text('{"memory": {"inject_mode": "off"}}')
    async with WorkspaceMemory.open(workspace=tmp_path, clock=clock) as memory:
        assert await memory.context("second") == ""
        assert (await memory.search("second")).count == 1
    (tmp_path / "agent.json").write_text('{"memory": {"max_total": -1}}')
    with pytest.raises(
        SettingsError, match=r"memory\.max_total: expected a whole number of 1 or more, got -1"
    ):
        await WorkspaceMemory.open(workspace=tmp_path, clock=clock).__aenter__()


@pytest.mark.requirement("WSP-11.2", "R-WSP-5")
async def test_damage_is_reported_to_the_host(memory: WorkspaceMemory) -> None:
    """The facade tells which lines cannot be used."""
    await memory.store("a fact")
    with memory.path.open("ab") as file:
        file.write(b'{"id":"m-2","te')
    assert [problem.line for problem in await memory.problems()] == [2]
    assert (await memory.search()).count == 1


@pytest.mark.requirement("WSP-12", "WSP-12.1")
def test_the_guidance_tells_when_to_store() -> None:
    """The section of the specification, and tools that a model API accepts."""
    section = system_prompt_section()
    assert section.startswith(
        "You have persistent memory tools. Use memory_store when:\n- The user explicitly asks"
    )
    assert section.endswith("Memories are automatically surfaced in your context when relevant.")
    assert "Do NOT store: transient task context, secrets/tokens, or information already in files." in section
    assert [tool.name for tool in TOOLS] == ["memory_store", "memory_search", "memory_delete"]
    assert all(tool.parameters["type"] == "object" for tool in TOOLS)


@pytest.mark.requirement("TRU-02.3")
async def test_words_relative_to_today_are_kept_with_their_date(
    memory: WorkspaceMemory, clock: ManualClock
) -> None:
    """Within the bound of a text; an edit takes the words as they are, because nobody knows when they were said."""
    await memory.store("The freeze ends tomorrow")
    long = f"The freeze ends tomorrow {'x' * 475}"
    await memory.store(long)
    clock.advance(days=30)
    first, second = (await memory.get("m-1"), await memory.get("m-2"))
    assert first.text == "The freeze ends tomorrow (2026-03-02)"
    assert second.text == long
    assert (await memory.edit("m-1", "The freeze ends tomorrow (2026-03-03)")).text.endswith("(2026-03-03)")
    await memory.store("Said long ago: back tomorrow", is_new=False)
    assert (await memory.get("m-3")).text == "Said long ago: back tomorrow"
