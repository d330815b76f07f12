"""Imports of texts that say in other words what memories say."""

from collections.abc import AsyncIterator

import pytest

from commonplace.core.request_context import request_context
from commonplace.core.settings import Settings
from commonplace.core.sources import Source
from commonplace.judge import Verdict
from commonplace.knowledge import FactDraft, RuleDraft
from commonplace.services.opening import Memories
from commonplace.services.transfer.importing import Importer, ItemOutcome
from commonplace.services.transfer.items import Item, OperationalItem, WorkspaceItem
from support.judging import Decided, deciding
from support.service import open_memories

pytestmark = pytest.mark.requirement("JDG-06", "JDG-06.3")

OLD, NEW = "The backups are kept for thirty days", "After thirty days the backups are deleted"
SAME: Decided = {(OLD, NEW): Verdict.SAME}
FACT = FactDraft(subject="backup", predicate="retention", content=OLD)


@pytest.fixture
async def memories(settings: Settings, knowledge_url: str) -> AsyncIterator[Memories]:
    """Four memories without items."""
    with request_context(actor="operator", source=Source.PERSON):
        async with open_memories(settings.model_copy(update={"postgres_url": knowledge_url})) as memories:
            yield memories


def importer(memories: Memories, source: Source = Source.IMPORT) -> Importer:
    """Return an importer."""
    knowledge = memories.knowledge.acting_for(
        tenant_id=memories.knowledge.tenant_id, actor="cli", source=source
    )
    return Importer(knowledge, memories.operational, memories.workspace, memories.apps)


async def outcomes(memories: Memories, *items: Item, source: Source = Source.IMPORT) -> list[ItemOutcome]:
    """Import items after a dry run, which foretells the outcomes, and return these."""
    planned = await importer(memories, source).plan(items)
    done = importer(memories, source)
    stored = await done.store(await done.plan(items))
    assert [(each.outcome, each.reason) for each in stored] == [
        (each.outcome, each.reason) for each in planned
    ]
    return [each.outcome for each in stored]


@pytest.mark.parametrize(
    ("first", "second", "decided"),
    [
        (FACT, FactDraft(subject="backup", predicate="retention", content=NEW), SAME),
        (
            FACT,
            FactDraft(subject="Backup", predicate="kept_for", content=NEW),
            {**SAME, (f"backup retention: {OLD}", f"Backup kept for: {NEW}"): Verdict.SAME},
        ),
        (RuleDraft(content=OLD), RuleDraft(content=NEW), SAME),
        (WorkspaceItem(text=OLD), WorkspaceItem(text=NEW), SAME),
        (
            OperationalItem(category="behavior", service="backup", observation=OLD),
            OperationalItem(category="behavior", service="backup", observation=NEW),
            SAME,
        ),
    ],
    ids=["fact", "fact of another predicate", "rule", "note", "lesson"],
)
async def test_what_a_memory_says_in_other_words_is_not_stored(
    memories: Memories, first: Item, second: Item, decided: Decided
) -> None:
    """The receipt names the memory; a memory that says something else is stored."""
    assert await outcomes(memories, first) == [ItemOutcome.NEW]
    with deciding(decided):
        assert await outcomes(memories, second) == [ItemOutcome.REWORDED]
        (done,) = await importer(memories).plan([second])
        assert OLD in done.reason
    with deciding(dict.fromkeys(decided, Verdict.DISTINCT)):
        (stored,) = await outcomes(memories, second)
    assert stored in {ItemOutcome.NEW, ItemOutcome.REPLACES}


@pytest.mark.parametrize(
    "second",
    [
        FactDraft(subject="backup", predicate="likes", content=NEW),
        FactDraft(subject="snapshot", predicate="retention", content=NEW),
        FactDraft(subject="backup", predicate="retention", content=NEW, scope="shop"),
        RuleDraft(content=NEW),
    ],
    ids=["predicate", "subject", "scope", "kind"],
)
async def test_other_memories_are_not_repeated(memories: Memories, second: Item) -> None:
    """Under another predicate, the whole statements must say the same as well."""
    await outcomes(memories, FACT)
    whole = (f"backup retention: {OLD}", f"backup likes: {NEW}")
    with deciding({**SAME, whole: Verdict.DISTINCT}):
        assert await outcomes(memories, second) == [ItemOutcome.NEW]


async def test_a_less_trusted_memory_takes_in_no_trusted_text(memories: Memories) -> None:
    """An import of the operator's own export stores the text."""
    await outcomes(memories, RuleDraft(content=OLD, source="web"))
    with deciding(SAME):
        assert await outcomes(memories, RuleDraft(content=NEW, source="web")) == [ItemOutcome.REWORDED]
        own = await outcomes(memories, RuleDraft(content=NEW, source="person"), source=Source.PERSON)
    assert own == [ItemOutcome.NEW]


async def test_an_empty_home_gets_every_wording(memories: Memories) -> None:
    """The items of one import are not compared with each other."""
    with deciding(SAME):
        done = await outcomes(memories, RuleDraft(content=OLD), RuleDraft(content=NEW))
        assert done == [ItemOutcome.NEW, ItemOutcome.NEW]
        assert await outcomes(memories, RuleDraft(content=NEW)) == [ItemOutcome.KNOWN]
