"""Sources: folders of hosts that are followed."""

import errno
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from commonplace.core.errors import ConflictError, NotFoundError, StorageUnavailableError
from commonplace.core.request_context import DEFAULT_TENANT
from commonplace.core.sources import Source
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge import KnowledgeMemory
from commonplace.services.sources.follower import SourceChange, SourceFollower, SourceLine
from commonplace.services.sources.registry import FollowedSource, SourceRegistry
from commonplace.services.transfer.importers import ImportSource, source_of
from commonplace.services.transfer.items import Unreadable
from commonplace.services.transfer.markdown_notes import read_notes
from support.facade import open_knowledge

RULES = """# Before a commit
- Run the linter on every changed file
- Keep one concern a commit

# Deploys
- Ask Ada before you deploy on a Friday
"""


@pytest.fixture
async def knowledge(
    knowledge_url: str, engine: EmbeddingEngine, tmp_path: Path
) -> AsyncIterator[KnowledgeMemory]:
    """Knowledge memory, empty."""
    async with open_knowledge(knowledge_url, tmp_path / "home", engine=engine) as memory:
        yield memory


class Followed:
    """A file of rules that is followed.

    Args:
        folder: Where the file and the home are.
    """

    def __init__(self, knowledge: KnowledgeMemory, folder: Path) -> None:
        self.knowledge = knowledge
        self.file = folder / "CLAUDE.md"
        self.write(RULES)
        self.registry = SourceRegistry(folder / "home")
        self.follower = SourceFollower(self.registry, knowledge)
        self.source = self.registry.add(self.file, ImportSource.INSTRUCTIONS, "shop")

    def write(self, text: str) -> None:
        """Write the file."""
        self.file.write_text(text)

    async def read(self) -> list[SourceLine]:
        """Read the source."""
        return await self.follower.follow(self.source)

    async def rules(self) -> dict[str, str]:
        """Return the current rules: text -> trust."""
        found = await self.knowledge.lists.rules()
        return {each.content: each.trust for each in found if each.is_current}


@pytest.fixture
def followed(knowledge: KnowledgeMemory, tmp_path: Path) -> Followed:
    """A file of rules that is followed."""
    return Followed(knowledge, tmp_path)


@pytest.mark.requirement("FOL-01.1")
async def test_a_source_is_read_once_and_changes_with_its_lines(followed: Followed) -> None:
    """A second reading changes nothing; a changed line changes one memory; a line that went retires one."""
    first = await followed.read()
    assert [line.change for line in first] == [SourceChange.NEW] * 3
    assert await followed.read() == []

    followed.write(RULES.replace("on a Friday", "on a Friday or before a holiday"))
    (changed,) = await followed.read()
    assert changed.change is SourceChange.CHANGED
    assert await followed.rules() == dict.fromkeys(
        (
            "Run the linter on every changed file",
            "Keep one concern a commit",
            "Ask Ada before you deploy on a Friday or before a holiday",
        ),
        Source.IMPORT,
    )

    followed.write(RULES.partition("# Deploys")[0])
    (retired,) = await followed.read()
    assert retired.change is SourceChange.RETIRED
    assert len(await followed.rules()) == 2


@pytest.mark.requirement("FOL-01.2")
async def test_a_memory_that_a_person_confirmed_or_edited_stays(
    followed: Followed, knowledge: KnowledgeMemory
) -> None:
    """What a person forgot does not come back while its line is there; what a person said before is not taken."""
    person = knowledge.acting_for(tenant_id=DEFAULT_TENANT, actor="ada", source=Source.PERSON)
    own = await person.store_rule(
        content="Keep one concern a commit", scope="shop", tags=["CLAUDE.md", "Before a commit"]
    )
    await followed.read()
    by_text = {each.content: each for each in await knowledge.lists.rules()}
    await person.confirm("rule", by_text["Run the linter on every changed file"].id)
    await person.forget("rule", by_text["Ask Ada before you deploy on a Friday"].id)
    followed.write(RULES + "- Never push to main\n")
    assert [line.text for line in await followed.read()] == ["Never push to main"]
    assert "Ask Ada before you deploy on a Friday" not in await followed.rules()

    followed.write("")
    lines = {line.text: line.change for line in await followed.read()}
    assert lines == {
        "Run the linter on every changed file": SourceChange.KEPT,
        "Keep one concern a commit": SourceChange.RETIRED,
        "Never push to main": SourceChange.RETIRED,
    }
    assert own.id in {each.id for each in await knowledge.lists.rules() if each.is_current}


@pytest.mark.requirement("FOL-01.3")
async def test_a_source_that_is_gone_retires_nothing(followed: Followed) -> None:
    """An unmounted disk must not empty a memory; the report of all sources says what is wrong."""
    await followed.read()
    followed.file.unlink()
    with pytest.raises(StorageUnavailableError, match="No such file"):
        await followed.read()
    (line,) = await followed.follower.follow_all()
    assert line.change is SourceChange.UNREADABLE
    assert len(await followed.rules()) == 3


@pytest.mark.requirement("FOL-01.3")
async def test_what_cannot_be_read_retires_nothing(followed: Followed, tmp_path: Path) -> None:
    """A file in another encoding keeps its memories, and is read again when it is mended; so does an empty folder."""
    await followed.read()
    followed.file.write_bytes("- Größe\n".encode("latin-1"))
    (line,) = await followed.read()
    assert line.change is SourceChange.UNREADABLE
    assert len(await followed.rules()) == 3
    followed.write(RULES + "- Never push to main\n")
    assert [line.text for line in await followed.read()] == ["Never push to main"]

    folder = tmp_path / "vault"
    folder.mkdir()
    (folder / "a.md").write_text("- [limit] The cache holds 512 MB\n")
    vault = followed.registry.add(folder, ImportSource.BASIC_MEMORY, "global")
    await followed.follower.follow(vault)
    (folder / "a.md").unlink()
    with pytest.raises(StorageUnavailableError, match="is its disk mounted"):
        await followed.follower.follow(vault)
    assert len(await followed.knowledge.lists.facts()) == 1


@pytest.mark.requirement("FOL-01.3")
async def test_a_bad_field_of_front_matter_does_not_keep_deleted_lines(followed: Followed) -> None:
    """It is told once; only a lost text may mean that the others are there still."""
    followed.write(f"---\ndue: 2026-02-30\n---\n{RULES}")
    assert SourceChange.UNREADABLE in {line.change for line in await followed.read()}
    assert await followed.read() == []
    followed.write(f"---\ndue: 2026-02-30\n---\n{RULES.partition('# Deploys')[0]}")
    changes = {line.change for line in await followed.read()}
    assert changes == {SourceChange.UNREADABLE, SourceChange.RETIRED}


@pytest.mark.requirement("FOL-01.1")
async def test_a_record_that_was_cut_off_is_read_up_to_there(followed: Followed) -> None:
    """As after kill -9; what it lost is known by its text."""
    await followed.read()
    (record,) = followed.registry.record_of(followed.source)
    file = next((followed.file.parent / "home/sources").glob("*.jsonl"))
    file.write_text(file.read_text() + '{"file": "CLAUDE.md", "sta')
    assert list(followed.registry.record_of(followed.source)) == [record]
    followed.write(RULES + "- Never push to main\n")
    assert [line.text for line in await followed.read()] == ["Never push to main"]
    file.unlink()
    await followed.read()
    assert len(await followed.rules()) == 4


@pytest.mark.requirement("FOL-01.1")
async def test_two_notes_of_one_title_keep_their_facts(followed: Followed, tmp_path: Path) -> None:
    """Though their keys are equal; a text that two files hold is one memory."""
    folder = tmp_path / "vault"
    for name, text in (("a", "Alpha runs on port 1"), ("b", "Beta runs on port 2")):
        (folder / name).mkdir(parents=True)
        (folder / name / "README.md").write_text(f"{text}\n\n- [owner] Ada\n")
    vault = followed.registry.add(folder, ImportSource.BASIC_MEMORY, "global")
    await followed.follower.follow(vault)
    facts = [each.content for each in await followed.knowledge.lists.facts() if each.is_current]
    assert sorted(facts) == ["Ada", "Alpha runs on port 1", "Beta runs on port 2"]


@pytest.mark.requirement("FOL-01.2")
async def test_a_fact_that_an_agent_stored_before_stays_when_its_line_goes(
    followed: Followed, knowledge: KnowledgeMemory, tmp_path: Path
) -> None:
    """A source does not take what somebody else said in the same words."""
    note = tmp_path / "cache.md"
    note.write_text("- [limit] The cache holds 512 MB\n- [owner] Ada\n")
    source = followed.registry.add(note, ImportSource.BASIC_MEMORY, "global")
    await followed.follower.preview(source)
    (planned, _) = await followed.follower.preview(source)
    await followed.follower.follow(source)
    (stored,) = [each for each in await knowledge.lists.facts() if each.content == planned.text]
    await followed.follower.remove(source, keep=True)
    again = followed.registry.add(note, ImportSource.BASIC_MEMORY, "global")
    known = [line for line in await followed.follower.follow(again) if line.text == stored.content]
    assert [line.change for line in known] == [SourceChange.KNOWN]
    note.write_text("- [owner] Ada\n")
    await followed.follower.follow(again)
    assert stored.content in {each.content for each in await knowledge.lists.facts() if each.is_current}


@pytest.mark.requirement("FOL-01.4")
async def test_a_source_that_was_removed_meanwhile_does_not_come_back(followed: Followed) -> None:
    """Another process may have listed it before; one that reads it now is not waited for."""
    await followed.follower.remove(followed.source)
    assert await followed.read() == []
    assert await followed.rules() == {}
    other = followed.registry.add(followed.file, ImportSource.INSTRUCTIONS, "shop")
    async with followed.registry.reading(other):
        assert await followed.follower.follow_all(wait_s=0.0) == []


@pytest.mark.requirement("FOL-01.4")
async def test_a_paused_source_is_left_alone_and_a_removed_one_retires_its_memories(
    followed: Followed,
) -> None:
    """Unless they are kept."""
    assert [line.change for line in await followed.follower.follow_all()] == [SourceChange.NEW] * 3
    paused = followed.registry.set_paused(followed.source, is_paused=True)
    followed.write("- Something else\n")
    assert await followed.follower.follow_all() == []
    assert followed.registry.list() == [paused_with_reading(paused, followed.registry)]
    with pytest.raises(ConflictError, match="followed already"):
        followed.registry.add(followed.file, ImportSource.INSTRUCTIONS, "shop")

    assert [line.change for line in await followed.follower.remove(paused)] == [SourceChange.RETIRED] * 3
    assert await followed.rules() == {}
    with pytest.raises(NotFoundError):
        followed.registry.get(paused.id)


def paused_with_reading(source: FollowedSource, registry: SourceRegistry) -> FollowedSource:
    """Return a source as the registry has it."""
    return registry.get(source.id)


CONVERSATION = {
    "uuid": "c1",
    "name": "Trip",
    "created_at": "2026-11-02T10:00:00Z",
    "chat_messages": [
        {
            "sender": "human",
            "text": "We booked the night train to Graz",
            "created_at": "2026-11-02T10:00:00Z",
        },
        {"sender": "assistant", "text": "Noted.", "created_at": "2026-11-02T10:00:05Z"},
    ],
}
GRAPH = {
    "entities": [{"name": "Ines", "entityType": "person", "observations": ["Prefers metric units"]}],
    "relations": [],
}
SHAPES: dict[ImportSource, tuple[str, dict[str, str], str, str]] = {
    ImportSource.CLAUDE_MEMORY: (
        "",
        {
            "MEMORY.md": "- [Commits](feedback_commits.md) - one concern a commit\n",
            "feedback_commits.md": "---\nname: commits\nmetadata:\n  type: feedback\n---\nOne concern a commit\n",
            "project_freeze.md": "---\nname: freeze\nmetadata:\n  type: project\n---\nMain is frozen in October\n",
        },
        "One concern a commit",
        "Main is frozen in October",
    ),
    ImportSource.CODEX_MEMORY: (
        "",
        {
            "memory_summary.md": "# User\n- Prefers short answers\n",
            "rollout_summaries/2026-11-01T10-00-00-a.md": "thread_id: 1\ncwd: /x\n# Deploy\n## Outcome\nIt failed\n",
        },
        "Prefers short answers",
        "It failed",
    ),
    ImportSource.BASIC_MEMORY: (
        "",
        {
            ".obsidian/app.json": "{}",
            "cache.md": "---\ntitle: Cache: a (draft)\ndue: 2026-02-30\n---\n- [limit] The cache holds 512 MB\n",
            "people/ines.md": "- [role] Ines is on call\n- works with [[Cache]]\n",
        },
        "The cache holds 512 MB",
        "Ines is on call",
    ),
    ImportSource.INSTRUCTIONS: (
        "",
        {
            ".cursor/rules/ts.mdc": "---\nglobs: src/**/*.ts\n---\n- Use tabs\n",
            "AGENTS.md": "# Tests\n- [x] done\n- ~~old~~\n- Run the tests first\n",
        },
        "Run the tests first",
        "For src/**/*.ts: Use tabs",
    ),
    ImportSource.CONVERSATIONS: (
        "conversations.json",
        {"conversations.json": json.dumps([CONVERSATION])},
        "We booked the night train to Graz",
        "Noted",
    ),
    ImportSource.MCP_MEMORY: (
        "memory.json",
        {"memory.json": json.dumps(GRAPH)},
        "Prefers metric units",
        "metric",
    ),
}
"""For each kind: the path below the folder, the files, and two texts that its memories hold."""


@pytest.mark.requirement("FOL-01.5")
@pytest.mark.parametrize("kind", SHAPES)
async def test_each_kind_is_found_read_once_and_followed(
    kind: ImportSource, knowledge: KnowledgeMemory, tmp_path: Path
) -> None:
    """By the shape of its folder; a changed text is one change, and each memory names its file."""
    below, files, first, second = SHAPES[kind]
    folder = tmp_path / "there"
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    path = folder / below
    assert source_of(path) is kind
    registry = SourceRegistry(tmp_path / "home")
    follower = SourceFollower(registry, knowledge)
    source = registry.add(path, kind, "global")

    stored = [line for line in await follower.follow(source) if line.change is SourceChange.NEW]
    assert any(first in line.text for line in stored)
    assert any(second in line.text for line in stored)
    again = [line for line in await follower.follow(source) if line.change is not SourceChange.UNREADABLE]
    assert again == []

    changed = next(folder / name for name, text in files.items() if first in text and name != "MEMORY.md")
    changed.write_text(changed.read_text().replace(first, f"{first} now"))
    lines = [line for line in await follower.follow(source) if line.change is not SourceChange.UNREADABLE]
    assert [line.change for line in lines if f"{first} now" in line.text] in (
        [SourceChange.CHANGED],
        [SourceChange.NEW],  # An episode is not replaced.
    )
    assert len(lines) == 1
    for memory in [*await knowledge.lists.facts(), *await knowledge.lists.rules()]:
        assert memory.metadata["followed"]["path"].startswith(str(folder))
        assert memory.trust in {Source.IMPORT, Source.DOCUMENT}


@pytest.mark.requirement("FOL-01.5")
async def test_a_folder_that_cannot_be_listed_retires_nothing(
    knowledge: KnowledgeMemory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its notes count as known, and those of a folder that is a link are read."""
    vault, elsewhere = tmp_path / "vault", tmp_path / "elsewhere"
    (vault / "sub").mkdir(parents=True)
    elsewhere.mkdir()
    (vault / "sub" / "night.md").write_text("Backups run at night.")
    (elsewhere / "gym.md").write_text("The gym is on Monday.")
    (vault / "linked").symlink_to(elsewhere)
    (elsewhere / "round").symlink_to(vault)
    registry = SourceRegistry(tmp_path / "home")
    follower = SourceFollower(registry, knowledge)
    source = registry.add(vault, ImportSource.BASIC_MEMORY, "shop")
    assert {line.text for line in await follower.follow(source)} == {
        "Backups run at night.",
        "The gym is on Monday.",
    }
    listed = os.scandir

    def refused(path: str) -> Any:  # noqa: ANN401 - as the function in its place
        if Path(path).name == "sub":
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return listed(path)

    with monkeypatch.context() as patch:
        patch.setattr("os.scandir", refused)
        with pytest.raises(StorageUnavailableError, match="Permission denied"):
            await follower.follow(source)
        imported = list(read_notes(vault))
    assert await follower.follow(source) == []
    assert [each.reason for each in imported if isinstance(each, Unreadable)] == ["Permission denied"]
    assert len(imported) == 2
