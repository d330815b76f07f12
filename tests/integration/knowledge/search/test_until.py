"""A fact that begins in the future, and the fact that holds until then."""

from datetime import timedelta
from typing import Any

import pytest

from commonplace.core.clock import ManualClock
from commonplace.core.json_values import json_safe
from commonplace.core.sources import Source
from commonplace.knowledge import Narrowing
from commonplace.knowledge.memory import KnowledgeMemory
from commonplace.knowledge.model.config import SearchMode

pytestmark = [pytest.mark.usefixtures("tenant"), pytest.mark.requirement("KNW-02.2")]

KEY: dict[str, Any] = {"subject": "The office", "predicate": "city"}


async def told(knowledge: KnowledgeMemory) -> list[tuple[str, str | None]]:
    """Return the texts that a recall and every mode of search find, which agree, and what holds until then."""
    found = [
        await knowledge.recall("Which city is the office in?", count=False),
        *[await knowledge.search("Which city is the office in?", mode=mode) for mode in SearchMode],
    ]
    texts = [
        [(each.memory.content, each.until_then and each.until_then.content) for each in results]
        for results in found
    ]
    assert all(each == texts[0] for each in texts)
    return texts[0]


async def test_the_fact_that_holds_is_told_until_the_later_one_begins(
    knowledge: KnowledgeMemory, clock: ManualClock
) -> None:
    """In results and in the block; superseded it is, as specified."""
    graz = await knowledge.store_fact(**KEY, content="The office is in Graz")
    begins = clock.now + timedelta(days=30)
    await knowledge.store_fact(**KEY, content="The office is in Linz", valid_from=begins)
    assert (await knowledge.read("fact", graz.id)).validity == "superseded"

    assert await told(knowledge) == [("The office is in Linz", "The office is in Graz")]
    (found,) = await knowledge.recall("Which city is the office in?", count=False)
    assert found.to_json()["until_then"] == {
        "id": str(graz.id),
        "content": "The office is in Graz",
        "valid_to": json_safe(begins),
    }
    block = await knowledge.context("Which city is the office in?", "ops")
    assert f"in Linz (confidence: 1.00, from {begins:%Y-%m-%d}, until then: The office is in Graz)" in block

    clock.advance(days=31)
    assert await told(knowledge) == [("The office is in Linz", None)]
    assert "until then" not in await knowledge.context("Which city is the office in?", "ops")


async def test_the_receipt_and_lists_say_what_holds_until_the_fact_begins(
    knowledge: KnowledgeMemory, clock: ManualClock
) -> None:
    """Only while the replaced fact holds; a fact without a predecessor begins later too."""
    graz = await knowledge.store_fact(**KEY, content="The office is in Graz")
    begins = clock.now + timedelta(days=30)
    linz = await knowledge.store_fact(**KEY, content="The office is in Linz", valid_from=begins)
    assert (graz.superseded_until, linz.superseded_until) == (None, begins)
    alone = await knowledge.store_fact(
        subject="The fair", predicate="city", content="Ried", valid_from=begins
    )
    later = await knowledge.history.later_facts(await knowledge.lists.facts(validity="active"))
    assert {key: fact and fact.id for key, fact in later.items()} == {linz.id: graz.id, alone.id: None}

    clock.advance(days=31)
    assert await knowledge.history.later_facts(await knowledge.lists.facts()) == {}
    wels = await knowledge.store_fact(**KEY, content="The office is in Wels")
    assert (wels.superseded_id, wels.superseded_until) == (linz.id, None)


async def test_plans_in_a_row_tell_what_holds_now(knowledge: KnowledgeMemory, clock: ManualClock) -> None:
    """Over every plan in between, and not once the fact of today is forgotten."""
    graz = await knowledge.store_fact(**KEY, content="The office is in Graz")
    for days, city in ((30, "Linz"), (30, "Wels"), (60, "Steyr")):
        await knowledge.store_fact(
            **KEY, content=f"The office is in {city}", valid_from=clock.now + timedelta(days=days)
        )
    assert await told(knowledge) == [("The office is in Steyr", "The office is in Graz")]
    clock.advance(days=31)
    assert await told(knowledge) == [("The office is in Steyr", "The office is in Wels")]
    clock.advance(days=-31)
    await knowledge.forget("fact", graz.id)
    assert await told(knowledge) == [("The office is in Steyr", None)]


async def test_a_block_never_tells_a_fact_that_it_would_leave_out(
    knowledge: KnowledgeMemory, clock: ManualClock
) -> None:
    """The fact that holds may be less trusted than the later one."""
    web = knowledge.acting_for(tenant_id=knowledge.tenant_id, actor=knowledge.actor, source=Source.WEB)
    await web.store_fact(**KEY, content="The office is in Graz")
    await knowledge.store_fact(
        **KEY, content="The office is in Linz", valid_from=clock.now + timedelta(days=30)
    )
    prompt = "Which city is the office in?"
    assert "until then: The office is in Graz" in await knowledge.context(prompt, "ops")
    assert "until then" not in await knowledge.context(
        prompt, "ops", narrowing=Narrowing(min_trust=Source.AGENT)
    )
