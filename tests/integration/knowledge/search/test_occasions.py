"""The occasions at the end of a rule, in a database."""

import pytest

from commonplace.knowledge import KnowledgeMemory

pytestmark = pytest.mark.requirement("SHW-11.1")

FISH = "No fish on Fridays (When: booking a table, cooking for guests)"


async def test_a_prompt_in_the_words_of_an_occasion_finds_the_rule(knowledge: KnowledgeMemory) -> None:
    """Its block shows the rule alone."""
    await knowledge.store_rule(content=FISH)
    (result,) = await knowledge.search("booking a table", types=["rule"], mode="keyword")
    assert result.memory.content == FISH
    block = await knowledge.context("booking a table", "home")
    assert "No fish on Fridays (maturity" in block


async def test_rules_are_compared_without_their_occasions(knowledge: KnowledgeMemory) -> None:
    """One that says the opposite opposes, whatever occasions stand behind it."""
    first = await knowledge.store_rule(content="Always restart the router at night (When: slow network)")
    second = await knowledge.store_rule(content="Never restart the router at night")
    assert list(second.opposed_ids) == [first.id]
