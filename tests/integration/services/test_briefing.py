"""The briefing from four real memories."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from mcp_types import TextResourceContents

from commonplace.apps.memory import AppMemory
from commonplace.core.clock import ManualClock, utc_now
from commonplace.core.errors import InvalidInputError
from commonplace.core.request_context import DEFAULT_TENANT, request_context
from commonplace.core.settings import Settings
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge import BlockStyle, MemoryModuleConfig
from commonplace.knowledge.memories.episodes import EpisodeDraft
from commonplace.knowledge.memory import KnowledgeMemory
from commonplace.knowledge.model.config import RetrievalConfig
from commonplace.knowledge.store.unit_of_work import unit_of_work
from commonplace.llm import Script
from commonplace.operational.memory import OperationalMemory
from commonplace.projects import Projects
from commonplace.prompts.injected import TAG
from commonplace.services.briefing import Briefing, BriefingPart, build_briefing
from commonplace.services.opening import Memories
from commonplace.workspace import WorkspaceMemory
from support.apps import digests, fill
from support.commands import CommandLine, clean_environment


@pytest.fixture
async def memories(
    settings: Settings, knowledge_url: str, engine: EmbeddingEngine, clock: ManualClock
) -> AsyncIterator[Memories]:
    """The four memories, empty."""
    settings = settings.model_copy(update={"postgres_url": knowledge_url})
    async with AsyncExitStack() as stack:
        yield Memories(
            operational=await stack.enter_async_context(OperationalMemory.open(settings, clock=clock)),
            apps=await stack.enter_async_context(
                AppMemory.open(settings, model=Script(*digests(10)).model(), engine=engine, clock=clock)
            ),
            workspace=await stack.enter_async_context(WorkspaceMemory.open(settings, clock=clock)),
            knowledge=await stack.enter_async_context(
                KnowledgeMemory.open(settings, engine=engine, clock=clock)
            ),
        )


async def remember(memories: Memories, count: int = 1) -> None:
    """Give each memory something to tell."""
    await memories.apps.registry.register("cal", name="Calendar")
    await fill(memories.apps, "cal", min(count, 10))
    for number in range(count):
        await memories.operational.add(
            category="timing", service="radarr", observation=f"Radarr starts in {number} seconds"
        )
        await memories.workspace.store(f"The staging port is 54{number:02}", tags=["infra"])
        await memories.knowledge.store_fact(
            subject=f"staging {number}", predicate="port", content=f"listens on 54{number:02}", scope="shop"
        )
        await memories.knowledge.store_episode(
            content=f"Moved the staging port to host {number}", butler="shop"
        )


async def brief(memories: Memories, **options: Any) -> Briefing:  # noqa: ANN401 - those of build_briefing
    """Ask for the usual."""
    usual: dict[str, Any] = {"prompt": "staging port", "app": "cal", "butler": "shop"}
    return await build_briefing(memories, **(usual | options))


async def test_every_memory_has_its_section_in_a_fixed_order(memories: Memories) -> None:
    """One tag around all of them, and the same question gives the same text."""
    await remember(memories)

    briefing = await brief(memories)

    assert [section.name for section in briefing.sections] == list(BriefingPart)
    assert all(section.text and section.problem is None for section in briefing.sections)
    told = [
        "starts in 0 seconds",
        "matter1",
        "w:1, infra",
        "listens on 5400",
        "Moved the staging port to host 0",
    ]
    places = [briefing.text.index(text) for text in told]
    assert places == sorted(places)
    assert briefing.text.startswith(f"<{TAG}>\n")
    assert briefing.text.endswith(f"\n</{TAG}>")
    assert (await brief(memories)) == briefing


async def test_each_section_names_its_memories(memories: Memories) -> None:
    """By id, also where another memory has the same text and had no room."""
    lessons = [
        await memories.operational.add(category="timing", service=name, observation="Starts in a minute")
        for name in ("radarr", "sonarr")
    ]
    note = await memories.workspace.store("The staging port is 5432", tags=["infra"])
    fact = await memories.knowledge.store_fact(
        subject="staging", predicate="port", content="listens on 5432", scope="shop"
    )

    told = {each.name: each.memory_ids for each in (await brief(memories, app=None)).sections}
    short = [
        (await brief(memories, app=None, budget_tokens=budget)).sections[0] for budget in range(100, 300, 10)
    ]

    assert told[BriefingPart.OPERATIONAL] == {str(one.id) for one in lessons}
    assert told[BriefingPart.WORKSPACE] == {note.id}
    assert told[BriefingPart.KNOWLEDGE] == {str(fact.id)}
    counts = [each.text.count("Starts in a minute") for each in short]
    assert set(counts) == {0, 1, 2}
    assert [len(each.memory_ids) for each in short] == counts


async def test_without_an_app_or_a_butler_neither_is_asked(memories: Memories) -> None:
    """What another butler knows stays out."""
    await remember(memories)

    briefing = await brief(memories, app=None, butler=None)

    assert [section.name for section in briefing.sections] == [
        BriefingPart.OPERATIONAL,
        BriefingPart.WORKSPACE,
        BriefingPart.KNOWLEDGE,
    ]
    assert "listens on" not in briefing.text
    assert "Moved the staging" not in briefing.text


async def test_no_memories_make_no_block(memories: Memories) -> None:
    """Not even an empty tag."""
    briefing = await build_briefing(memories, prompt="", butler="shop")

    assert (briefing.text, briefing.tokens) == ("", 0)


async def test_without_a_prompt_the_latest_sessions_are_told(memories: Memories, clock: ManualClock) -> None:
    """Also where many older ones fit the butler's name better; none that was forgotten, none of another butler."""
    older = [EpisodeDraft(content=f"shop: the shop opened, day {n}", butler="shop") for n in range(120)]
    await memories.knowledge.import_episodes(older)
    for number in range(6):
        clock.advance(minutes=1)
        last = await memories.knowledge.store_episode(content=f"Counted the till {number}", butler="shop")
    await memories.knowledge.forget("episode", str(last.id))
    await memories.knowledge.store_episode(content="Mowed the lawn", butler="garden")
    (section,) = [
        each for each in (await brief(memories, prompt=" ")).sections if each.name == BriefingPart.SESSIONS
    ]
    told = [line.split(" ", 2)[2] for line in section.text.splitlines()[1:]]
    assert [each.rpartition(" [e:")[0] for each in told] == [f"Counted the till {n}" for n in (4, 3, 2, 1, 0)]


async def test_sessions_that_expire_without_becoming_knowledge_are_told_of(
    memories: Memories, clock: ManualClock
) -> None:
    """In the head of the block, two days before, by the model to its user; never in a block that is too small."""
    await memories.knowledge.store_episode(content="Counted the till", butler="shop")
    assert "Tell the user" not in (await brief(memories, prompt="", clock=clock)).text
    clock.advance(days=6, hours=1)
    briefing = await brief(memories, prompt="", clock=clock)
    lines = briefing.text.splitlines()
    assert lines[2].startswith(
        "Tell the user: No language model is set, so 1 episode will be lost without becoming knowledge on "
    )
    assert lines[2].endswith("The command `commonplace consolidation allow MODEL` helps.")
    for budget in range(150, 500, 25):
        small = await brief(memories, prompt="", clock=clock, budget_tokens=budget)
        assert small.tokens <= budget
    assert "Tell the user" not in (await brief(memories, prompt="", clock=clock, budget_tokens=200)).text


async def test_dead_letters_that_expire_are_told_of(memories: Memories, clock: ManualClock) -> None:
    """Two days before, though no episode waits any more; not while they have time left."""
    await memories.knowledge.store_episodes(
        [EpisodeDraft(content=content, butler="shop") for content in ("Counted the till", "Fed the cat")]
    )
    pool = await memories.knowledge.database.pool()
    with request_context(tenant_id=memories.knowledge.tenant_id, actor="test"):
        async with unit_of_work(pool) as sql:
            await sql.connection.execute("UPDATE episodes SET consolidation_status = 'dead_letter'")
    assert "Tell the user" not in (await brief(memories, prompt="", clock=clock)).text
    clock.advance(days=6, hours=1)
    notice = (await brief(memories, prompt="", clock=clock)).text.splitlines()[2]
    assert notice.startswith(
        "Tell the user: 2 episodes failed and will not be tried again; 2 episodes will be lost"
    )


async def test_every_budget_is_kept(memories: Memories) -> None:
    """From zero up; a greater one never shows less, and every memory gets a fair part of a small one."""
    await remember(memories, count=12)

    shown = []
    for budget in (*range(0, 60, 7), *range(60, 1000, 113), 2400):
        briefing = await brief(memories, budget_tokens=budget)
        assert len(briefing.text) <= budget * 4
        assert briefing.budget_tokens == budget
        shown.append(sum(1 for section in briefing.sections if section.text))
    assert shown == sorted(shown)
    assert shown[0] == 0
    assert shown[-1] == len(BriefingPart)

    tight = await brief(memories, budget_tokens=500)
    sizes = [len(section.text) for section in tight.sections]
    assert len(tight.text) > 1600
    assert min(sizes) > 200


async def test_what_one_memory_does_not_need_goes_to_the_others(memories: Memories) -> None:
    """With nothing else to tell, knowledge gets the whole budget."""
    for number in range(40):
        await memories.knowledge.store_fact(
            subject=f"host {number}", predicate="port", content=f"Host {number} listens on port 5400. " * 5
        )

    briefing = await brief(
        memories, app=None, prompt="Which port does the host listen on?", budget_tokens=600
    )

    (told,) = [section for section in briefing.sections if section.text]
    assert told.name is BriefingPart.KNOWLEDGE
    assert len(told.text) > 1900


def _by_likeness(knowledge: KnowledgeMemory) -> KnowledgeMemory:
    """Return a memory whose blocks are not reranked: the reranker reads 20 memories at most."""
    config = MemoryModuleConfig(retrieval=RetrievalConfig(reranks=False))
    return knowledge.acting_for(tenant_id=DEFAULT_TENANT, actor="test", config=config)


@pytest.mark.requirement("TRU-01.5")
async def test_a_budget_that_is_not_used_up_is_filled(memories: Memories) -> None:
    """Past the specified 20 lines of the block alone, with what fits the prompt, until the budget is used up."""
    memories = replace(memories, knowledge=_by_likeness(memories.knowledge))
    prompt = "On which day does host 7 deploy?"
    for number in range(30):
        await memories.knowledge.store_fact(
            subject=f"host {number}", predicate="deploys", content=f"on day {number}"
        )
    for number in range(12):
        await memories.knowledge.store_rule(content=f"Deploy host {number} only after its backup")
    await memories.knowledge.store_fact(subject="Mia", predicate="likes", content="tea")

    block = await memories.knowledge.context(prompt, "global")
    assert block.count("\n- ") == 20
    relevant = {each.memory.content for each in await memories.knowledge.recall(prompt, limit=100)}
    text = (await brief(memories, app=None, prompt=prompt)).text
    assert text.count("\n- ") == len(relevant) > 30
    assert all(content in text for content in relevant)
    assert "[Mia]" not in text, "what does not fit the prompt is not used to fill"
    assert (await brief(memories, app=None, prompt="")).text.count("\n- ") == 20
    small = (await brief(memories, app=None, prompt=prompt, budget_tokens=600)).text
    assert 600 * 4 - 200 < len(small) <= 600 * 4


async def test_marking_as_data_stays_in_the_budget(memories: Memories) -> None:
    """A text that grows when its tags are disarmed is asked for again, shorter."""
    for number in range(30):
        await memories.operational.add(category="behavior", observation=f"{number} </x></y></z></a></b>")

    for budget in range(200, 600, 40):
        briefing = await brief(memories, app=None, budget_tokens=budget)
        assert len(briefing.text) <= budget * 4
        assert "&lt;/x>" in briefing.text
        assert briefing.text.count("</") == 1


class BrokenWorkspace(WorkspaceMemory):
    """Fails in a way that nobody expected."""

    async def context(self, message: str, *, dates: bool = False) -> str:
        """Raise."""
        assert dates
        raise RuntimeError(f"a bug at {message}")


class SlowOperational(OperationalMemory):
    """Never answers."""

    async def context(self, **options: Any) -> Any:  # noqa: ANN401 - never returns
        """Wait."""
        await asyncio.Event().wait()
        return options


@pytest.fixture
def broken(memories: Memories) -> Memories:
    """The memories, two of which are out of order."""
    operational = SlowOperational.__new__(SlowOperational)
    workspace = BrokenWorkspace.__new__(BrokenWorkspace)
    return replace(memories, operational=operational, workspace=workspace)


async def test_a_memory_that_fails_or_hangs_leaves_its_section_out(
    memories: Memories, broken: Memories, caplog: pytest.LogCaptureFixture
) -> None:
    """The others are told; the log and the briefing say what is missing and why."""
    await remember(memories)

    briefing = await brief(broken, app="unknown", timeout_s=2)

    problems = {section.name: section.problem for section in briefing.sections if section.problem}
    assert problems == {
        BriefingPart.OPERATIONAL: "no answer within 2 s",
        BriefingPart.APPS: 'no app with id "unknown"',
        BriefingPart.WORKSPACE: "an unexpected error; see the log",
    }
    assert "listens on 5400" in briefing.text
    assert "a bug" in caplog.text
    assert "the briefing has no section of operational memory: no answer within 2 s" in caplog.text


def test_the_command_prints_the_block(commonplace: CommandLine, knowledge_url: str) -> None:
    """With the real embedding model; with ``--json`` also what each memory said."""
    database = knowledge_url
    commonplace("workspace", "store", "The staging port is 5433")
    commonplace(
        "knowledge", "store-fact", "staging", "owner", "The infra team", COMMONPLACE_POSTGRES_URL=database
    )
    arguments = ("context", "--prompt", "staging port", "--budget", "300")

    text = commonplace(*arguments, COMMONPLACE_POSTGRES_URL=database)
    document = commonplace(*arguments, "--json", COMMONPLACE_POSTGRES_URL=database).json

    assert (text.status, text.err) == (0, "")
    assert text.out.startswith(f"<{TAG}>\n")
    assert len(text.out) <= 1201
    assert re.search(r"- \(w:1, [\d-]{10}\) The staging port is 5433", text.out)
    assert "[staging] [owner]: The infra team" in text.out
    assert document["text"] == text.out.rstrip("\n")
    assert document["budget_tokens"] == 300
    assert [section["name"] for section in document["sections"]] == ["operational", "workspace", "knowledge"]


def test_the_command_shows_what_a_session_of_the_project_gets(
    commonplace: CommandLine, knowledge_url: str
) -> None:
    """Without a butler, the memories of the project in this directory count; those of other projects never do."""
    own, other = (
        Projects(commonplace.home).create(each).id
        for each in (commonplace.directory, commonplace.at(commonplace.home / "elsewhere").directory)
    )
    for project, team in ((own, "infra"), (other, "billing")):
        fact = ("staging", "owner", f"The {team} team", "--scope", project)
        commonplace("knowledge", "store-fact", *fact, COMMONPLACE_POSTGRES_URL=knowledge_url)
        episode = (f"Staging went to {team}", "--butler", project)
        commonplace("knowledge", "store-episode", *episode, COMMONPLACE_POSTGRES_URL=knowledge_url)

    arguments = ("context", "--prompt", "Who owns staging?")
    mine = commonplace(*arguments, COMMONPLACE_POSTGRES_URL=knowledge_url).out
    named = commonplace(*arguments, "--butler", other, COMMONPLACE_POSTGRES_URL=knowledge_url).out

    assert (mine.count("infra"), mine.count("billing")) == (2, 0)
    assert (named.count("infra"), named.count("billing")) == (0, 2)


def test_the_command_goes_without_memories_that_cannot_be_opened(commonplace: CommandLine) -> None:
    """A server that is gone, an agent.json of somebody else: what is left is told, the rest is said on the side."""
    (commonplace.directory / "agent.json").write_text('{"memory": "off"}')
    commonplace("ops", "add", "Radarr starts in 9 seconds", "--category", "timing", "--service", "radarr")

    done = commonplace(
        "context", "--prompt", "radarr", COMMONPLACE_POSTGRES_URL="postgresql://nobody@127.0.0.1:1/none"
    )

    assert done.status == 0
    assert "Radarr starts in 9 seconds" in done.out
    assert "no section of workspace memory" in done.err
    assert "no memory for a session" in done.err


def test_the_command_refuses_a_bad_budget(commonplace: CommandLine) -> None:
    """As wrong usage, with the bound."""
    done = commonplace("context", "--prompt", "x", "--budget", "-1")

    assert done.status == 2
    assert 'of at least 0, got "-1"' in done.err


@pytest.mark.parametrize("server", ["workspace", "knowledge"])
async def test_both_servers_offer_it_as_a_resource(
    memories: Memories, commonplace: CommandLine, knowledge_url: str, server: str
) -> None:
    """For the workspace as it is, and for a prompt, an app and a butler that the reader names."""
    memories.knowledge.session.clock = utc_now
    await remember(memories)
    environment = clean_environment(commonplace.home, COMMONPLACE_POSTGRES_URL=knowledge_url)
    transport = StdioTransport(
        str(commonplace.program),
        ["mcp", server],
        cwd=str(commonplace.directory),
        env=environment,
        keep_alive=False,
    )
    async with Client(transport) as client:
        assert "commonplace://briefing" in {str(listed.uri) for listed in await client.list_resources()}
        (own,) = await client.read_resource("commonplace://briefing")
        (asked,) = await client.read_resource(
            "commonplace://briefing?prompt=staging%20port&app=cal&butler=shop"
        )

    assert isinstance(own, TextResourceContents)
    assert isinstance(asked, TextResourceContents)
    assert own.text.startswith(f"<{TAG}>\n")
    assert "(w:1, infra, 2026-03-01) The staging port is 5400" in own.text
    assert "matter1" not in own.text
    assert "matter1" in asked.text
    assert "Moved the staging port to host 0" in asked.text


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"budget_tokens": -1}, "budget_tokens: expected a whole number from 0, got -1"),
        ({"budget_tokens": True}, "budget_tokens: expected a whole number from 0, got true"),
        ({"prompt": None}, "prompt: expected text, got nothing"),
    ],
)
async def test_bad_input_is_refused(memories: Memories, options: dict[str, Any], said: str) -> None:
    """With the field, what was expected and what came."""
    with pytest.raises(InvalidInputError) as caught:
        await brief(memories, **options)
    assert str(caught.value) == said


@pytest.mark.requirement("TRU-02.4")
async def test_what_was_over_is_not_told_as_if_it_were_to_come(
    memories: Memories, clock: ManualClock
) -> None:
    """In notes, rules, lessons and facts; a session's line has the date of its words."""
    await memories.workspace.store("The staging port moves tomorrow")
    await memories.knowledge.store_rule(content="Touch no staging port tomorrow")
    await memories.knowledge.store_episode(content="The staging port moves tomorrow", butler="shop")
    await memories.operational.add(category="timing", service="nas", observation="Staging moves tomorrow")
    day = f"{clock.now + timedelta(days=1):%Y-%m-%d}"
    text = (await brief(memories, app=None, clock=clock)).text
    assert text.count(f"tomorrow ({day})") == 4
    clock.advance(days=2)
    text = (await brief(memories, app=None, clock=clock)).text
    assert text.count(f"tomorrow ({day}, past)") == 4


@pytest.mark.requirement("TRU-03.2")
async def test_every_line_of_a_briefing_says_how_old_it_is(memories: Memories, clock: ManualClock) -> None:
    """The specified blocks do not."""
    await remember(memories)
    await memories.knowledge.store_rule(content="Touch no staging port")
    day = f"{clock.now:%Y-%m-%d}"
    clock.advance(days=4)
    lines = [line for line in (await brief(memories)).text.splitlines() if line.startswith(("- ", "1. "))]
    assert len(lines) == 6
    assert [line for line in lines if day not in line] == []
    blocks = [(await memories.operational.context()).text, await memories.workspace.context("port")]
    blocks.append(await memories.knowledge.context("staging port", "shop", style=BlockStyle(note=False)))
    assert day not in "".join(blocks)


@pytest.mark.requirement("SHW-01.1")
async def test_a_use_changes_nothing_in_a_briefing(memories: Memories, clock: ManualClock) -> None:
    """The specified block ranks what was used before what was not."""
    await remember(memories, count=12)
    clock.advance(minutes=1)
    specified = await memories.knowledge.context("staging port", "shop")
    briefing = await brief(memories)
    for port in re.findall(r"listens on (\d+)", specified)[-2:]:
        (found,) = await memories.knowledge.recall(port, limit=1)
        assert port in found.memory.content
    assert await memories.knowledge.context("staging port", "shop") != specified
    assert await brief(memories) == briefing
