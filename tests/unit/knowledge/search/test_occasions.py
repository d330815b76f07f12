"""The occasions at the end of a rule: searches read them, readers and comparisons do not."""

from functools import partial

import pytest

from commonplace.knowledge.rules.context_block import render_context as render_block
from commonplace.knowledge.rules.deduplication import same_words
from commonplace.knowledge.rules.occasions import without_occasions
from support.memories import NOW, a_fact, a_rule

pytestmark = pytest.mark.requirement("SHW-11.1")

render_context = partial(render_block, today=NOW.date(), budget_tokens=3000)
FISH = "No fish on Fridays (When: booking a table, cooking for guests)"


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (FISH, "No fish on Fridays"),
        ("No fish on Fridays. (When: booking a table).", "No fish on Fridays."),
        ("No fish on Fridays", "No fish on Fridays"),
        ("No fish (on Fridays)", "No fish (on Fridays)"),
        ("Ask first (When: always) and wait", "Ask first (When: always) and wait"),
        ("Ask first (When: a (b))", "Ask first (When: a (b))"),
        ("(When: booking a table)", "(When: booking a table)"),
    ],
)
def test_only_occasions_at_the_end_are_left_out(text: str, rule: str) -> None:
    """And never the whole text."""
    assert without_occasions(text) == rule


def test_a_block_shows_a_rule_without_its_occasions() -> None:
    """A fact has none, so its parentheses stay."""
    block = render_context([a_rule(content=FISH), a_fact(content="Fish (When: on Fridays)")])
    assert "- No fish on Fridays (maturity" in block
    assert "Fish (When: on Fridays)" in block


def test_a_pinned_rule_has_no_occasions_in_its_line() -> None:
    """Whatever its part of the block."""
    pinned = a_rule(content=FISH)
    assert "When:" not in render_context([], pinned=[pinned])


def test_rules_of_the_same_words_are_one_whatever_their_occasions() -> None:
    """One line stands for both."""
    assert same_words(a_rule(content=FISH)) == same_words(a_rule(content="No fish on Fridays"))
    assert same_words(a_rule(content=FISH)) != same_words(a_rule(content="No meat on Fridays"))
