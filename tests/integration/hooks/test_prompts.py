"""What a prompt is given: what the memories know about it, once in a conversation."""

import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path
from uuid import uuid4

import pytest

from commonplace.core.clock import ManualClock
from commonplace.core.settings import Settings
from commonplace.core.sources import Source
from commonplace.embedding import EmbeddingEngine
from commonplace.hosts.hooks.hook_input import HookCall
from commonplace.hosts.hooks.prompt_hook import RECALL_TOKENS, user_prompt
from commonplace.hosts.hooks.seen_lines import SeenLines
from commonplace.hosts.hooks.session_hooks import session_end, session_start
from commonplace.hosts.hooks.sessions import SessionRecords
from commonplace.hosts.install.offers import project_slug
from commonplace.judge import Verdict
from commonplace.operational import OperationalMemory
from commonplace.prompts.injected import FRAME_CHARS
from commonplace.services.briefing import sessions_block
from commonplace.services.mirrors.forms import MirrorForm
from commonplace.services.mirrors.mirroring import MirrorKeeper
from commonplace.services.mirrors.registry import Choice, Mirror, MirrorRegistry
from commonplace.services.sources.registry import SourceRegistry
from commonplace.services.transfer.importers import ImportSource
from commonplace.workspace import WorkspaceMemory
from support.facade import open_knowledge
from support.judging import both_ways, decide

OWNER = "The payments service is owned by Bea's team."


@pytest.fixture
def call(settings: Settings, knowledge_url: str) -> HookCall:
    """A prompt of a new session."""
    return HookCall(
        session_id=str(uuid4()),
        transcript=Path("/none"),
        prompt="Who owns the payments service?",
        named_butler="shop",
        settings=settings.model_copy(update={"postgres_url": knowledge_url}),
    )


async def test_a_prompt_gets_the_knowledge_that_fits_it_once(
    call: HookCall, knowledge_url: str, engine: EmbeddingEngine, tmp_path: Path
) -> None:
    """Of the project and of all, not of others; nothing below the floor, nothing twice, and what changed anew."""
    async with open_knowledge(knowledge_url, tmp_path, engine=engine) as memory:
        store = partial(memory.store_fact, subject="payments", predicate="owner")
        stored = await store(content=OWNER, scope="shop")
        await store(content="The payments service is owned by Eve.", scope="other")
        await memory.store_episode(
            content="User: Who owns the payments service?\n\nAssistant: It moved.", butler="shop"
        )

        first = await user_prompt(call, memory)
        again = await user_prompt(call, memory)
        beside = await user_prompt(replace(call, prompt="Translate 'good morning' into French."), memory)
        await memory.confirm("fact", stored.id)
        confirmed = await user_prompt(call, memory)
        await store(content="The payments service is owned by Cem's team.", scope="shop")
        changed = await user_prompt(call, memory)

    assert OWNER in first
    assert "It moved." in first
    assert "Eve" not in first
    assert [again, beside, confirmed] == ["", "", ""]
    assert "Cem" in changed
    assert "Bea" not in changed


async def test_a_prompt_repeats_no_line_of_the_briefing_until_it_is_compacted(
    call: HookCall, knowledge_url: str, engine: EmbeddingEngine, tmp_path: Path
) -> None:
    """After a compaction the briefing comes again, and so may everything that it has no room for."""
    async with WorkspaceMemory.open(call.settings) as workspace:
        await workspace.store("The staging port is 5433")
    async with open_knowledge(knowledge_url, tmp_path, engine=engine) as memory:
        await memory.store_fact(subject="payments", predicate="owner", content=OWNER, scope="shop")
        briefing = await session_start(replace(call, source="startup"), memory)
        silent = await user_prompt(call, memory)
        SeenLines(call.settings.home, call.session_id).add("- told before the compaction")
        once_more = await session_start(replace(call, source="compact"), memory)

    assert OWNER in briefing
    assert "The staging port is 5433" in briefing
    assert silent == ""
    assert OWNER in once_more
    assert SeenLines(call.settings.home, call.session_id).fresh("- told before the compaction")


@pytest.mark.requirement("TRU-06.2")
async def test_a_resumed_session_gets_only_what_it_does_not_have(
    call: HookCall, knowledge_url: str, engine: EmbeddingEngine, tmp_path: Path
) -> None:
    """After a compaction, it gets everything again."""
    async with open_knowledge(knowledge_url, tmp_path, engine=engine) as memory:
        await memory.store_rule(content="Ask Ada before a deployment")
        first = await session_start(replace(call, source="startup"), memory)
        assert "- Ask Ada before a deployment" in first
        assert await session_start(replace(call, source="resume"), memory) == ""
        await memory.store_rule(content="Never push to main")
        resumed = await session_start(replace(call, source="resume"), memory)
        assert "- Never push to main" in resumed
        assert "Ask Ada" not in resumed
        compacted = await session_start(replace(call, source="compact"), memory)
        assert "- Never push to main" in compacted
        assert "- Ask Ada before a deployment" in compacted


@pytest.mark.requirement("TRU-06.3")
async def test_a_session_is_listed_once_and_never_to_itself(
    call: HookCall, knowledge_url: str, engine: EmbeddingEngine, clock: ManualClock, tmp_path: Path
) -> None:
    """The episodes of a session that was resumed often do not crowd out the others."""
    async with open_knowledge(knowledge_url, tmp_path, engine=engine, clock=clock) as memory:
        other, own = str(uuid4()), call.session_id
        await memory.store_episode(content="User: Where is the key?", butler="dev", session_id=str(uuid4()))
        for number in range(6):
            clock.advance(minutes=1)
            await memory.store_episode(content=f"User: Step {number}", butler="dev", session_id=other)
        await memory.store_episode(content="User: my own past", butler="dev", session_id=own)
        latest = await sessions_block(memory, "", "dev", but=own)
        assert "Where is the key?" in latest
        assert "Step 5" in latest
        assert latest.count("Step") == 1
        about = await sessions_block(memory, "step", "dev", but=own)
        assert about.count("Step") == 1
        assert "my own past" not in latest + about


@pytest.mark.requirement("TRU-06.4")
async def test_a_session_whose_directory_is_gone_gets_the_global_memories(
    call: HookCall,
    knowledge_url: str,
    engine: EmbeddingEngine,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """And one line in the log, not three errors; its end is recorded under the project where it began."""
    gone = replace(call, named_butler=None)
    async with open_knowledge(knowledge_url, tmp_path, engine=engine) as memory:
        await memory.store_rule(content="Ask Ada before a deployment")
        await session_start(gone, memory)
        began = SessionRecords(call.settings.home).get(call.session_id)
        shutil.rmtree(gone.settings.workspace)
        caplog.clear()
        text = await session_start(replace(gone, source="clear"), memory)
        assert "- Ask Ada before a deployment" in text
        assert [record.levelname for record in caplog.records] == ["WARNING"]
        assert f"the directory {gone.settings.workspace} is gone" in caplog.text
        await session_end(gone, memory)
        ended = SessionRecords(call.settings.home).get(call.session_id)
        assert began is not None
        assert ended is not None
        assert (ended.butler, ended.ended) == (began.butler, True)


async def test_the_knowledge_of_a_prompt_has_a_budget(
    call: HookCall, knowledge_url: str, engine: EmbeddingEngine, clock: ManualClock, tmp_path: Path
) -> None:
    """The lines that were left out come with the next prompt."""
    async with open_knowledge(knowledge_url, tmp_path, engine=engine, clock=clock) as memory:
        for number in range(40):
            content = f"The payments service {number} is owned by the team {number}. " * 6
            await memory.store_fact(
                subject=f"payments {number}", predicate="owner", content=content, scope="shop"
            )
        first = await user_prompt(call, memory)
        second = await user_prompt(call, memory)

    for text in (first, second):
        assert 1_000 < len(text) <= RECALL_TOKENS * 4 + FRAME_CHARS + 10
    assert not set(lines(first)) & set(lines(second))


def lines(text: str) -> list[str]:
    """The memories of a block."""
    return [line for line in text.split("\n") if line.startswith("- ")]


async def test_a_session_without_time_to_learn_logs_no_error(
    call: HookCall,
    knowledge_url: str,
    engine: EmbeddingEngine,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """While the background still learns from another one, that is normal; the session has its briefing."""
    async with open_knowledge(knowledge_url, tmp_path, engine=engine) as memory:
        await memory.store_fact(subject="payments", predicate="owner", content=OWNER, scope="shop")
        async with SessionRecords(call.settings.home).locked():
            briefing = await session_start(replace(call, source="startup"), memory, learning_s=0)

    assert OWNER in briefing
    (record,) = [each for each in caplog.records if "learning took longer than 0 s" in each.getMessage()]
    assert record.levelname == "WARNING"


@pytest.mark.requirement("SHW-05.1")
async def test_a_project_gets_the_lessons_of_services_that_it_names(
    call: HookCall, knowledge_url: str, engine: EmbeddingEngine, tmp_path: Path
) -> None:
    """A shop's session hears nothing of a NAS; with a compose file that has a NAS, it does, and general lessons too."""
    async with OperationalMemory.open(call.settings) as lessons:
        await lessons.add(category="timing", service="home-nas", observation="Takes an hour to sync")
        await lessons.add(category="behavior", observation="The VPN drops at night")
        await lessons.add(category="timing", service="jellyfin", observation="Takes 60s to start")
    async with open_knowledge(knowledge_url, tmp_path, engine=engine) as memory:
        assert await session_start(replace(call, source="startup"), memory) == ""
        compose = call.settings.workspace / "compose.yaml"
        compose.write_text("services:\n  home_nas:\n    image: nas:1\n")
        named = await session_start(replace(call, source="clear"), memory)
    assert "Takes an hour to sync" in named
    assert "The VPN drops at night" in named
    assert "Takes 60s" not in named


@pytest.mark.requirement("SHW-05.2")
async def test_a_prompt_gets_the_lessons_of_services_that_it_names_once(
    call: HookCall, knowledge_url: str, engine: EmbeddingEngine, tmp_path: Path
) -> None:
    """Whatever the case of the name; a heading has lines below it; half of a name is no name."""
    async with OperationalMemory.open(call.settings) as lessons:
        await lessons.add(category="timing", service="home-nas", observation="Takes an hour to sync")
        await lessons.add(category="timing", service="jellyfin", observation="Takes 60s to start")
    async with open_knowledge(knowledge_url, tmp_path, engine=engine) as memory:
        ask = partial(replace, call)
        assert await user_prompt(ask(prompt="Plan a trip home"), memory) == ""
        first = await user_prompt(ask(prompt="Why is Jellyfin down?"), memory)
        both = await user_prompt(ask(prompt="Restart jellyfin and the Home NAS"), memory)
    assert "### jellyfin\n- [timing] Takes 60s to start" in first
    assert "hour" not in first
    assert "### home-nas\n- [timing] Takes an hour to sync" in both
    assert "jellyfin" not in both


@pytest.mark.requirement("FOL-02.1")
async def test_a_session_does_not_get_again_what_its_host_loads(
    call: HookCall,
    knowledge_url: str,
    engine: EmbeddingEngine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The text of CLAUDE.md, the same in other words, and a line of the host's own index."""
    user, workspace = tmp_path / "user", call.settings.workspace
    monkeypatch.setenv("HOME", str(user))
    index = user / ".claude/projects" / project_slug(workspace) / "memory/MEMORY.md"
    index.parent.mkdir(parents=True)
    index.write_text("- [Freeze](freeze.md) — nothing merges to main between 12 and 16 Oct\n")
    (workspace / "CLAUDE.md").write_text("# Deploys\n- Ask Ada before a deployment\n- Tag each release\n")
    decide(monkeypatch, both_ways(Verdict.SAME, "Tag each release", "Each release gets a tag"))
    async with open_knowledge(knowledge_url, tmp_path, engine=engine) as memory:
        for content in (
            "ask ada before  a deployment",
            "Each release gets a tag",
            "Nothing merges to main between 12 and 16 Oct",
        ):
            await memory.store_rule(content=content, scope="shop")
        await memory.store_rule(content="Never deploy a release on Fridays", scope="shop")
        briefing = await session_start(replace(call, source="startup"), memory)
        prompt = await user_prompt(
            replace(call, session_id=str(uuid4()), prompt="Deploy the release after it is tagged"), memory
        )
        codex = await session_start(replace(call, source="startup", host="codex"), memory)
    for block in (briefing, prompt):
        assert "Never deploy a release on Fridays" in block
        assert "ask ada" not in block
        assert "gets a tag" not in block
        assert "16 Oct" not in block
    assert "ask ada before a deployment" in codex, "codex does not load CLAUDE.md"


@pytest.mark.requirement("MIR-03.1")
async def test_a_session_does_not_get_again_what_an_export_wrote(
    call: HookCall, knowledge_url: str, engine: EmbeddingEngine, tmp_path: Path
) -> None:
    """Codex loads AGENTS.md by itself; Claude Code does not."""
    rule = "Never deploy a release on Fridays"
    async with open_knowledge(knowledge_url, tmp_path, engine=engine, source=Source.PERSON) as memory:
        await memory.store_rule(content=rule, scope="shop")
        mirror = Mirror(
            form=MirrorForm.AGENTS_MD,
            path=call.settings.workspace,
            scope="shop",
            choice=Choice.CONFIRMED,
            tenant_id=memory.tenant_id,
        )
        await MirrorKeeper(MirrorRegistry(call.settings.home), memory).update(mirror)
        codex = await session_start(replace(call, source="startup", host="codex"), memory)
        claude = await session_start(replace(call, source="startup"), memory)
    assert rule in (call.settings.workspace / "AGENTS.md").read_text()
    assert rule not in codex
    assert rule in claude


@pytest.mark.requirement("MIR-02.4")
async def test_a_session_reads_the_edits_of_its_mirrors_first(
    call: HookCall, knowledge_url: str, engine: EmbeddingEngine, tmp_path: Path
) -> None:
    """An edited note is in the next briefing with its new text."""
    async with open_knowledge(knowledge_url, tmp_path, engine=engine, source=Source.PERSON) as memory:
        await memory.store_rule(content="Never deploy a release on Fridays", scope="shop")
        mirror = Mirror(
            form=MirrorForm.OBSIDIAN,
            path=tmp_path / "vault",
            scope="shop",
            choice=Choice.CONFIRMED,
            tenant_id=memory.tenant_id,
        )
        await MirrorKeeper(MirrorRegistry(call.settings.home), memory).update(mirror)
        (note,) = mirror.path.iterdir()
        note.write_text(note.read_text().replace("on Fridays", "on Mondays"))
        (call.settings.postgres_directory / "data").mkdir(parents=True, exist_ok=True)
        briefing = await session_start(replace(call, source="startup"), memory)
    assert "Never deploy a release on Mondays" in briefing


@pytest.mark.requirement("FOL-02.2")
async def test_a_session_reads_the_sources_of_its_project_first(
    call: HookCall, knowledge_url: str, engine: EmbeddingEngine, tmp_path: Path
) -> None:
    """What changed since the last session is in the briefing; another project's source is not read."""
    notes = tmp_path / "AGENTS.md"
    notes.write_text("- Ask Ada before a deployment\n")
    registry = SourceRegistry(call.settings.home)
    own = registry.add(notes, ImportSource.INSTRUCTIONS, "shop")
    other = registry.add(tmp_path, ImportSource.BASIC_MEMORY, "other")
    (call.settings.postgres_directory / "data").mkdir(parents=True, exist_ok=True)
    async with open_knowledge(knowledge_url, tmp_path, engine=engine) as memory:
        first = await session_start(replace(call, source="startup"), memory)
        notes.write_text("- Ask Bea before a deployment\n")
        second = await session_start(replace(call, source="clear"), memory)
    assert "Ask Ada before a deployment" in first
    assert "Ask Bea before a deployment" in second
    assert "Ask Ada" not in second
    assert registry.get(own.id).read_at is not None
    assert registry.get(other.id).read_at is None
