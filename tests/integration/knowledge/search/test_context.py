"""The block for a prompt, from a real server."""

import logging
from pathlib import Path

import asyncpg
import pytest

from commonplace.core.clock import ManualClock
from commonplace.core.errors import InvalidInputError, StorageUnavailableError
from commonplace.core.settings import Settings
from commonplace.embedding import EmbeddingEngine, EmbeddingOptions
from commonplace.embedding.backend import BackendName
from commonplace.knowledge import Narrowing
from commonplace.knowledge.model.fact_drafts import FactDraft
from commonplace.knowledge.model.kinds import Fact, Rule
from commonplace.knowledge.model.quotas import ContextQuotas, SectionQuota
from commonplace.knowledge.storage_functions import memory_context, recall, store_facts, store_rule
from commonplace.knowledge.store.unit_of_work import unit_of_work
from support.cross_encoders import write_cross_encoder
from support.on_pool import memory_on

pytestmark = pytest.mark.usefixtures("tenant")


async def remember(pool: asyncpg.Pool, engine: EmbeddingEngine, clock: ManualClock) -> None:
    """Facts and rules of two scopes."""
    drafts = [
        FactDraft(
            subject=f"{scope} tent {number}", predicate="colour", content="The tent is green", scope=scope
        )
        for scope in ("global", "travel", "health")
        for number in range(12)
    ]
    await store_facts(pool, engine, drafts, clock=clock)
    for scope in ("global", "travel", "health"):
        await store_rule(pool, engine, content=f"pack the tent first ({scope})", scope=scope, clock=clock)


@pytest.mark.requirement("KNW-20.1", "KNW-20.3")
async def test_the_block_holds_what_a_recall_in_the_butler_s_scope_finds(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, clock: ManualClock
) -> None:
    """Twenty memories of this scope and the global one, and none of another."""
    await remember(knowledge_pool, engine, clock)

    block = await memory_context(knowledge_pool, engine, "is the tent green", "travel", clock=clock)
    expected = await recall(
        knowledge_pool, engine, "is the tent green", scope="travel", limit=20, clock=clock
    )

    assert block.startswith("# Memory Context\n")
    assert block.count("\n- ") == len(expected) == 20
    assert all(each.memory.content in block for each in expected)
    assert {each.memory.scope for each in expected if isinstance(each.memory, Fact | Rule)} <= {
        "global",
        "travel",
    }


@pytest.mark.requirement("R-KNW-8", "KNW-34.1")
async def test_the_same_question_gives_the_same_text_and_counts_nothing(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, clock: ManualClock
) -> None:
    """Twice, and the references stay at zero."""
    await remember(knowledge_pool, engine, clock)

    blocks = {await memory_context(knowledge_pool, engine, "tent", "travel", clock=clock) for _ in range(3)}

    async with unit_of_work(knowledge_pool) as sql:
        counted = await sql.connection.fetchval("SELECT sum(reference_count) FROM facts")
    assert len(blocks) == 1
    assert counted == 0


@pytest.mark.requirement("KNW-20.2")
@pytest.mark.parametrize("budget", [0, 4, 5, 12, 30, 99, 100, 101, 300])
async def test_the_block_fits_its_budget(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, clock: ManualClock, budget: int
) -> None:
    """From nothing up; a title that does not fit is not shown."""
    await remember(knowledge_pool, engine, clock)

    block = await memory_context(knowledge_pool, engine, "tent", "travel", token_budget=budget, clock=clock)

    assert len(block) <= max(0, budget) * 4
    assert block.startswith("# Memory Context\n") == (budget >= 5)


@pytest.mark.requirement("KNW-34.2")
async def test_quotas_decide_what_a_section_takes(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, clock: ManualClock
) -> None:
    """Three facts, no rule."""
    await remember(knowledge_pool, engine, clock)
    quotas = ContextQuotas(facts=SectionQuota(items=3), rules=SectionQuota(items=0))

    block = await memory_context(knowledge_pool, engine, "tent", "travel", quotas=quotas, clock=clock)

    assert block.count("\n- ") == 3
    assert "## Active Rules" not in block


@pytest.mark.requirement("SHW-03.1")
@pytest.mark.parametrize("length", [2_000, 9_000])
async def test_a_document_shows_its_passage_and_hides_nothing(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, clock: ManualClock, length: int
) -> None:
    """A fact that is a whole document has a line like any other, about what the prompt asks."""
    await remember(knowledge_pool, engine, clock)
    needle = "The tent of the scouts is green and lies in the cellar"
    filling = "The protocol goes on about nothing at all. " * (length // 43)
    document = FactDraft(subject="scouts", predicate="protocol", content=f"{filling}{needle}. {filling}")
    await store_facts(knowledge_pool, engine, [document], clock=clock)

    block = await memory_context(
        knowledge_pool, engine, "is the tent of the scouts green or in the cellar", "travel", clock=clock
    )

    (line,) = [line for line in block.splitlines() if line.startswith("- [scouts] [protocol]: … ")]
    assert needle in line
    assert len(line) < 700
    assert block.count("The tent is green") > 10


async def test_a_long_prompt_is_searched_for_by_its_beginning(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, clock: ManualClock
) -> None:
    """A log of megabytes is no reason to begin without memory."""
    await remember(knowledge_pool, engine, clock)

    block = await memory_context(
        knowledge_pool, engine, "Which tent is green? \x00\ud83d " * 1_000_000, "travel", clock=clock
    )

    assert "## Key Facts" in block


@pytest.mark.parametrize("past", [False, True])
async def test_without_a_prompt_the_most_important_memories_come_first(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, *, past: bool
) -> None:
    """However many there are; no vector is computed, so that the start of a session does not wait for the model."""
    drafts = [
        FactDraft(
            subject=f"shelf {number}", predicate="holds", content="Tea", importance=1 + 8 * (number == 20)
        )
        for number in range(70)
    ]
    await store_facts(knowledge_pool, engine, drafts)
    unusable = EmbeddingEngine(EmbeddingOptions(backend=BackendName.ONNX, model="/nowhere"))

    as_of = await knowledge_pool.fetchval("SELECT clock_timestamp()") if past else None
    memory = memory_on(knowledge_pool, engine=unusable)
    block = await memory.context(" ", "travel", narrowing=Narrowing(as_of=as_of), fail_open=False)

    assert block.count("\n- ") == 20
    assert "shelf 20" in block.partition("\n- ")[2].partition("\n")[0]


async def test_nothing_remembered_gives_the_title_alone(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine
) -> None:
    """A host can tell that memory works."""
    assert await memory_context(knowledge_pool, engine, "tent", "travel") == "# Memory Context\n"


@pytest.mark.parametrize("options", [{"token_budget": 1.5}, {"trigger_prompt": 7}, {"butler": ""}])
async def test_a_value_that_makes_no_sense_is_refused(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, options: dict[str, object]
) -> None:
    """Before anything is computed."""
    with pytest.raises(InvalidInputError):
        await memory_context(
            knowledge_pool,
            engine,
            **{"trigger_prompt": "tent", "butler": "b", **options},  # type: ignore[arg-type]
        )


@pytest.mark.requirement("KNW-24.1")
async def test_a_database_that_is_gone_is_an_error_that_says_so(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine
) -> None:
    """The doors above log it and go on without a block."""
    await knowledge_pool.close()

    with pytest.raises(StorageUnavailableError, match="knowledge memory"):
        await memory_context(knowledge_pool, engine, "tent", "travel")


async def block_with(reranker: str, pool: asyncpg.Pool, engine: EmbeddingEngine, clock: ManualClock) -> str:
    """Return the block about a tent with a reranker."""
    memory = memory_on(pool, engine=engine, clock=clock)
    memory.database.settings = Settings(reranker=reranker)
    return await memory.context("is the tent green", "travel", fail_open=False)


@pytest.mark.requirement("SHW-09.1")
async def test_a_cross_encoder_decides_what_a_block_shows(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, clock: ManualClock, tmp_path: Path
) -> None:
    """Everything near the prompt if each memory surely helps, and nothing if none does."""
    await remember(knowledge_pool, engine, clock)
    sure = str(write_cross_encoder(tmp_path / "sure", score=8.0))
    never = str(write_cross_encoder(tmp_path / "never", score=-8.0))
    assert (await block_with(sure, knowledge_pool, engine, clock)).count("\n- ") > 1
    assert await block_with(never, knowledge_pool, engine, clock) == "# Memory Context\n"


@pytest.mark.requirement("SHW-09.2")
async def test_without_its_cross_encoder_a_block_goes_by_likeness(
    knowledge_pool: asyncpg.Pool,
    engine: EmbeddingEngine,
    clock: ManualClock,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """As with the reranker off, with one warning."""
    await remember(knowledge_pool, engine, clock)
    damaged = write_cross_encoder(tmp_path / "damaged")
    (damaged / "model.safetensors").write_bytes(b"no weights")
    alike = await block_with("off", knowledge_pool, engine, clock)
    assert alike.count("\n- ") == 20
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            assert await block_with(str(damaged), knowledge_pool, engine, clock) == alike
    assert caplog.text.count("memories are ranked without the reranker") == 1
