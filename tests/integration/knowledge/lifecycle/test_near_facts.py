"""Facts whose keys are near and whose texts meet, as the judge sees them."""

from typing import Any
from uuid import UUID

import pytest

from commonplace.core.clock import ManualClock
from commonplace.core.errors import ConflictError
from commonplace.core.sources import Source
from commonplace.judge import Verdict
from commonplace.knowledge import BlockStyle, FactDraft, MemoryType, short_id
from commonplace.knowledge.memory import KnowledgeMemory
from commonplace.knowledge.model.kinds import PINNED, Fact, Validity
from commonplace.knowledge.storage_functions import store_fact
from support.judging import Chances, Decided, deciding

pytestmark = [pytest.mark.usefixtures("tenant"), pytest.mark.requirement("JDG-06", "JDG-06.4")]

OLD, NEW = "The backups are kept for thirty days", "After thirty days the backups are deleted"
KEPT: dict[str, Any] = {"subject": "backup", "predicate": "retention", "content": OLD}
AGAIN: dict[str, Any] = {"subject": "backup", "predicate": "retention", "content": NEW}
SPELT: dict[str, Any] = {"subject": "The Backup", "predicate": "Retention", "content": NEW}
OTHER: dict[str, Any] = {"subject": "backup", "predicate": "deleted_after", "content": NEW}
NEARLY: Chances = (0.05, 0.03, 0.92, 0.0)
"""Probably a correction, but less than nearly certain."""


def changed(base: dict[str, Any], **fields: object) -> dict[str, Any]:
    """Return a fact with other values of some fields."""
    return base | fields


def judged(
    verdict: Verdict | Chances, new: dict[str, Any] = AGAIN, old: dict[str, Any] = KEPT
) -> dict[tuple[str, str], Verdict | Chances]:
    """Return one decision about the contents of two facts and about their whole statements."""
    whole = [
        f"{each['subject']} {each['predicate'].replace('_', ' ')}: {each['content']}" for each in (old, new)
    ]
    return {(old["content"], new["content"]): verdict, (whole[0], whole[1]): verdict}


def person(memory: KnowledgeMemory) -> KnowledgeMemory:
    """Return the same memory as a person writes it."""
    return memory.acting_for(tenant_id=memory.tenant_id, actor="ada", source=Source.PERSON)


async def fact(memory: KnowledgeMemory, key: UUID | None) -> Fact:
    """Return a fact in any state."""
    assert key is not None
    found = await memory.read("fact", key)
    assert isinstance(found, Fact)
    return found


@pytest.mark.parametrize("new", [AGAIN, SPELT, OTHER], ids=["key", "spelling", "predicate"])
async def test_a_fact_in_other_words_takes_the_place_of_the_old_one(
    knowledge: KnowledgeMemory, clock: ManualClock, new: dict[str, Any]
) -> None:
    """It inherits from it as a repeated fact does; both wordings are in the history, and nobody is asked."""
    old = await knowledge.store_fact(**KEPT, importance=9.0, tags=["ops"], permanence="stable")
    began = clock()
    clock.advance(days=3)
    with deciding(judged(Verdict.SAME, new)):
        receipt = await knowledge.store_fact(**new)
    assert (receipt.superseded_id, receipt.superseded_text, receipt.reworded) == (old.id, OLD, True)
    assert (receipt.review_id, receipt.near, receipt.opposed_ids) == (None, None, ())
    kept = await fact(knowledge, receipt.id)
    assert (kept.importance, kept.tags, kept.permanence, kept.valid_from) == (9.0, ("ops",), "stable", began)
    assert [each.content for each in await knowledge.history.chain(old.id)] == [NEW, OLD]
    (restored,) = await knowledge.undo_replacing("fact", receipt.id)
    assert (restored.id, (await fact(knowledge, old.id)).is_current) == (old.id, True)


@pytest.mark.parametrize("about", ["pinned", "danger"])
async def test_a_pinned_fact_and_a_danger_give_way_to_equal_words_alone(
    knowledge: KnowledgeMemory, about: str
) -> None:
    """Under another predicate, both facts stand."""
    old: dict[str, Any] = KEPT if about == "pinned" else KEPT | {"content": f"{OLD}, never longer"}
    await knowledge.store_fact(**old, tags=[PINNED] if about == "pinned" else [])
    with deciding(judged(Verdict.SAME, OTHER, old)):
        assert (await knowledge.store_fact(**OTHER)).superseded_id is None


async def test_a_less_trusted_wording_replaces_nothing(knowledge: KnowledgeMemory) -> None:
    """Of its own key it waits as any other change; of another, both facts stand."""
    old = await person(knowledge).store_fact(**KEPT)
    with deciding(judged(Verdict.SAME) | judged(Verdict.SAME, OTHER) | judged(Verdict.SAME, SPELT)):
        held = await knowledge.store_fact(**AGAIN)
        other = await knowledge.store_fact(**OTHER)
    assert (held.contradicts_id, other.contradicts_id, other.superseded_id) == (old.id, None, None)
    assert (await fact(knowledge, old.id)).is_current
    assert (await fact(knowledge, other.id)).is_current
    assert (await fact(knowledge, other.id)).trust is Source.AGENT


@pytest.mark.parametrize("source", [Source.AGENT, Source.PERSON])
async def test_a_correction_under_another_spelling_is_a_change_of_the_key(
    knowledge: KnowledgeMemory, source: Source
) -> None:
    """By trust: a fact of a person is not displaced by an agent, and the new fact waits."""
    writer = person(knowledge) if source is Source.PERSON else knowledge
    old = await writer.store_fact(**KEPT)
    with deciding(judged(Verdict.CORRECT, SPELT)):
        new = await knowledge.store_fact(**SPELT)
    if source is Source.AGENT:
        assert (new.superseded_id, new.reworded, new.near) == (old.id, False, None)
        assert (await fact(knowledge, old.id)).validity is Validity.SUPERSEDED
    else:
        assert (new.superseded_id, new.contradicts_id) == (None, old.id)
        await person(knowledge).confirm("fact", new.id)
        assert not (await fact(knowledge, old.id)).is_current


async def test_a_correction_under_another_predicate_waits(
    knowledge: KnowledgeMemory, clock: ManualClock
) -> None:
    """Both facts are current until a person decides; the decision is undone."""
    old = await knowledge.store_fact(**KEPT)
    clock.advance(minutes=1)
    with deciding(judged(Verdict.CORRECT, OTHER)):
        new = await knowledge.store_fact(**OTHER)
        (pair,) = await knowledge.reviews.opposed.list()
        assert "97%" in pair.reason
    assert (new.superseded_id, new.opposed_ids) == (None, (old.id,))
    assert (pair.older_id, pair.newer_id, pair.memory_type) == (old.id, new.id, "fact")
    assert pair.older_text == f"backup retention: {OLD}"
    assert await knowledge.reviews.duplicates.list() == []
    for verdict, stand in (("corrects", False), ("same", False), ("distinct", True), ("refines", True)):
        await knowledge.reviews.opposed.decide("fact", old.id, new.id, verdict)
        assert (await fact(knowledge, old.id)).is_current is stand
        assert await knowledge.reviews.opposed.list() == []
        await knowledge.reviews.opposed.undo("fact", old.id, new.id)
        assert [each.newer_id for each in await knowledge.reviews.opposed.list()] == [new.id]
        assert (await fact(knowledge, old.id)).is_current
    await person(knowledge).confirm("fact", old.id)
    with pytest.raises(ConflictError, match="more trusted"):
        await knowledge.reviews.opposed.decide("fact", old.id, new.id, "corrects")


@pytest.mark.requirement("TRU-05.2")
async def test_facts_that_wait_are_marked_in_a_block_until_a_person_decides(
    knowledge: KnowledgeMemory,
) -> None:
    """Only blocks with ids mark them."""
    old = await knowledge.store_fact(**KEPT)
    with deciding(judged(Verdict.CORRECT, OTHER)):
        new = await knowledge.store_fact(**OTHER)
    ids = [short_id(MemoryType.FACT, each.id) for each in (old, new)]
    block = await knowledge.context("how long are the backups kept", "ops", style=BlockStyle(ids=True))
    for own, other in (ids, reversed(ids)):
        assert f", may contradict {other}) [{own}]" in block
    assert "may contradict" not in await knowledge.context("how long are the backups kept", "ops")
    await knowledge.reviews.opposed.decide("fact", old.id, new.id, "distinct")
    assert "may contradict" not in await knowledge.context(
        "how long are the backups kept", "ops", style=BlockStyle(ids=True)
    )


@pytest.mark.parametrize(
    ("decided", "new"),
    [
        (judged(Verdict.DISTINCT, OTHER), OTHER),
        (judged(NEARLY, OTHER), OTHER),
        (judged(NEARLY, SPELT), SPELT),
        (judged(Verdict.REFINE, SPELT), SPELT),
        ({(OLD, NEW): Verdict.SAME}, OTHER),
        ({(OLD, NEW): Verdict.CORRECT}, OTHER),
        (judged(Verdict.SAME, OTHER), changed(OTHER, scope="shop")),
        (judged(Verdict.SAME, OTHER), changed(OTHER, subject="snapshot")),
        (judged(Verdict.SAME, OTHER), changed(OTHER, valid_to="2099-01-01")),
        (judged(Verdict.CORRECT, changed(OTHER, predicate="likes")), changed(OTHER, predicate="likes")),
    ],
)
async def test_facts_that_may_both_hold_stand(
    knowledge: KnowledgeMemory, decided: Decided, new: dict[str, Any]
) -> None:
    """So do facts of which only the contents agree, not the whole statements."""
    old = await knowledge.store_fact(**KEPT)
    whole = (f"backup retention: {OLD}", f"backup deleted after: {NEW}")
    with deciding({whole: Verdict.DISTINCT} | dict(decided)):
        receipt = await knowledge.store_fact(**new)
    assert (receipt.superseded_id, receipt.contradicts_id, receipt.opposed_ids) == (None, None, ())
    assert (await fact(knowledge, old.id)).is_current
    assert (await fact(knowledge, receipt.id)).is_current


async def test_a_series_contradicts_nothing(knowledge: KnowledgeMemory) -> None:
    """A fact that contradicts three others is about another thing."""
    decided: dict[tuple[str, str], Verdict | Chances] = {}
    for name in ("alpha", "beta", "gamma"):
        old = changed(KEPT, predicate=name, content=f"{OLD} in {name}")
        await knowledge.store_fact(**old)
        decided |= judged(Verdict.CORRECT, OTHER, old)
    with deciding(decided):
        assert (await knowledge.store_fact(**OTHER)).opposed_ids == ()


async def test_an_alias_of_the_entity_is_the_same_subject(knowledge: KnowledgeMemory) -> None:
    """The entity that the name stands for is compared, not the name."""
    await knowledge.entities.create(canonical_name="backup", entity_type="other", aliases=["nightly dump"])
    old = await knowledge.store_fact(**KEPT)
    new = changed(OTHER, subject="nightly dump")
    with deciding(judged(Verdict.SAME, new)):
        assert (await knowledge.store_fact(**new)).superseded_id == old.id


async def test_the_specified_function_and_batches_replace_facts_of_their_key_alone(
    knowledge: KnowledgeMemory,
) -> None:
    """Facts of other keys stand."""
    old = await knowledge.store_fact(**KEPT)
    with deciding(judged(Verdict.SAME, OTHER) | judged(Verdict.SAME, SPELT)):
        await store_fact(await knowledge.database.pool(), knowledge.engine, **OTHER)
        await knowledge.store_facts([FactDraft(**SPELT)])
    assert (await fact(knowledge, old.id)).is_current
