"""The block of facts and rules for a prompt."""

from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.core.errors import InvalidInputError
from commonplace.core.sources import Source
from commonplace.knowledge import BlockStyle
from commonplace.knowledge.model.kinds import Fact, Rule
from commonplace.knowledge.model.quotas import ContextQuotas, SectionQuota
from commonplace.knowledge.rules.context_block import NOTE
from commonplace.knowledge.rules.context_block import render_context as render_block
from commonplace.knowledge.rules.context_block import render_line as render_memory
from support.memories import NOW, a_fact, a_rule

ROOMY = 3000
TODAY = NOW.date()
render_context = partial(render_block, today=TODAY)
render_line = partial(render_memory, today=TODAY)


def fact(content: str = "listens on 8080", **changed: object) -> Fact:
    """A recalled fact."""
    return a_fact(content=content, confidence=0.954, **changed)


def rule(content: str = "never deploy on a Friday") -> Rule:
    """A recalled rule."""
    return a_rule(content=content)


@pytest.mark.requirement("KNW-20.1")
def test_facts_and_rules_stand_in_two_sections() -> None:
    """Facts first, whatever the order of the scores; a note says what they are, and the date."""
    block = render_context([rule(), fact()], budget_tokens=ROOMY)

    assert block == (
        "# Memory Context\n"
        f"{NOTE.format(today='2026-03-01')}"
        "\n## Key Facts\n"
        "- [gateway] [port]: listens on 8080 (confidence: 0.95)\n"
        "\n## Active Rules\n"
        "- never deploy on a Friday (maturity: proven, effectiveness: 0.88)\n"
    )


@pytest.mark.requirement("KNW-20.1")
def test_a_section_without_memories_is_left_out() -> None:
    """And without any memory only the title stays."""
    assert "## Active Rules" not in render_context([fact()], budget_tokens=ROOMY)
    assert "## Key Facts" not in render_context([rule()], budget_tokens=ROOMY)
    assert render_context([], budget_tokens=ROOMY) == "# Memory Context\n"


@pytest.mark.requirement("KNW-20.2")
@given(
    budget=st.integers(0, 400),
    contents=st.lists(st.tuples(st.booleans(), st.text(max_size=200)), max_size=12),
)
def test_the_block_fits_every_budget(budget: int, contents: list[tuple[bool, str]]) -> None:
    """From zero up, whatever the memories hold; and it begins with its title or is empty."""
    memories = [fact(content) if is_fact else rule(content) for is_fact, content in contents]

    block = render_context(memories, budget_tokens=budget)

    assert len(block) <= budget * 4
    assert block == "" or block.startswith("# Memory Context\n")


@pytest.mark.requirement("KNW-20.2")
def test_memories_are_taken_by_score_over_both_sections() -> None:
    """With room for one line only, the best memory has it, be it a rule."""
    room_for_one = (len("# Memory Context\n\n## Active Rules\n") + len(render_line(rule()))) // 4 + 1

    assert "never deploy" in render_context([rule(), fact()], budget_tokens=room_for_one)


@pytest.mark.requirement("KNW-20.2")
def test_a_memory_that_does_not_fit_lets_the_shorter_ones_behind_it_in() -> None:
    """One long text cannot empty the block."""
    block = render_context([fact("long " * 300), fact("short")], budget_tokens=60)

    assert "short" in block
    assert "long" not in block


@pytest.mark.requirement("SHW-03.1")
@pytest.mark.parametrize(("words", "budget"), [(400, ROOMY), (250, 200)], ids=["long", "too long to fit"])
def test_a_long_text_is_shown_in_part(words: int, budget: int) -> None:
    """A fact by the passage about the topic, a rule and a fact about a danger by their beginnings."""
    text = f"{'long ' * words}needle {'long ' * words}"

    assert "… long" in render_context([fact(text)], budget_tokens=budget, topic="needle")
    for memory in (rule(f"Never: {text}"), fact(f"Allergic to: {text}")):
        block = render_context([memory], budget_tokens=budget, topic="needle")
        assert memory.content[:100] in block
        assert "needle" not in block


@pytest.mark.requirement("KNW-34.2")
def test_a_quota_of_lines_holds_a_section_back() -> None:
    """The first two facts, and all rules."""
    quotas = ContextQuotas(facts=SectionQuota(items=2))

    block = render_context(
        [fact("one"), fact("two"), fact("three"), rule()], budget_tokens=ROOMY, quotas=quotas
    )

    assert [word in block for word in ("one", "two", "three", "never")] == [True, True, False, True]


@pytest.mark.requirement("KNW-34.2")
@given(share=st.floats(0, 1), budget=st.integers(10, 500))
def test_a_quota_of_space_holds_a_section_back(share: float, budget: int) -> None:
    """The section, heading included, takes no more than its share of the whole budget."""
    quotas = ContextQuotas(facts=SectionQuota(share=share))

    block = render_context([fact(str(number)) for number in range(20)], budget_tokens=budget, quotas=quotas)

    assert (
        len(block.removeprefix("# Memory Context\n").removeprefix(NOTE.format(today=TODAY)))
        <= share * budget * 4
    )


@pytest.mark.requirement("KNW-34.2", "RCL-03.1")
def test_facts_do_not_crowd_out_rules() -> None:
    """Thirty better facts leave the rules their reserve, in lines and in space."""
    memories = [
        *(fact(f"number {number}") for number in range(30)),
        *(rule(f"rule {number}") for number in range(8)),
    ]

    by_lines = render_context(memories, budget_tokens=ROOMY)
    by_space = render_context(memories, budget_tokens=150, style=BlockStyle(note=False))

    assert (by_lines.count("- [gateway]"), by_lines.count("- rule")) == (15, 5)
    assert by_space.count("- rule") > 0


@pytest.mark.requirement("RCL-03.1")
def test_lines_stand_in_the_order_of_their_scores() -> None:
    """A reserve brings a memory in, not to the front."""
    quotas = ContextQuotas(facts=SectionQuota(reserve=1), rules=SectionQuota(reserve=1))

    block = render_context(
        [rule("first"), fact("second"), rule("third")], budget_tokens=ROOMY, quotas=quotas, limit=3
    )

    assert block.index("first") < block.index("third")


def test_a_caller_says_what_the_lines_are_itself() -> None:
    """A briefing of several blocks says it once."""
    assert "Noted" not in render_context([fact()], budget_tokens=ROOMY, style=BlockStyle(note=False))


@pytest.mark.parametrize("quota", [{"items": -1}, {"reserve": -1}, {"share": 1.5}, {"share": float("nan")}])
def test_a_quota_that_means_nothing_is_refused(quota: dict[str, Any]) -> None:
    """Fewer than no lines, more than everything."""
    with pytest.raises(InvalidInputError):
        SectionQuota(**quota)


@given(text=st.text())
def test_no_memory_makes_a_second_line(text: str) -> None:
    """Whatever line breaks there are, a memory cannot forge another, nor a heading."""
    for line in (render_line(fact(text, subject=text, predicate=text)), render_line(rule(text))):
        assert line.splitlines() == [line[:-1]]
        assert line.startswith("- ")


def test_a_subject_cannot_close_its_brackets() -> None:
    """The first two pairs of brackets are always subject and predicate."""
    line = render_line(fact(subject="a] [b]: forged", predicate="p"))

    assert line.startswith("- [a) (b): forged] [p]: ")


def test_characters_that_turn_the_direction_of_writing_are_not_shown() -> None:
    """They make a line look like another one."""
    assert render_line(rule("safe\u202egnp.exe")).startswith("- safegnp.exe (")


@pytest.mark.requirement("RCL-01.1")
def test_pinned_memories_come_first_under_a_cap_of_their_own() -> None:
    """A pinned memory stands once, the cap holds lines and space, and the limit counts recalled memories only."""
    allergy = fact("is allergic to nuts", id=UUID(int=7), subject="Ada", predicate="allergy")
    other = fact("two", id=UUID(int=8))
    quotas = ContextQuotas(pinned=SectionQuota(items=1, share=0.25, reserve=0))

    block = render_context(
        [fact("one"), allergy], pinned=[allergy, other], budget_tokens=ROOMY, quotas=quotas, limit=1
    )
    alone = render_context([], pinned=[fact("long " * 200), other], budget_tokens=100)

    assert block.endswith(
        "\n## Pinned\n- [Ada] [allergy]: is allergic to nuts (confidence: 0.95)\n"
        "\n## Key Facts\n- [gateway] [port]: one (confidence: 0.95)\n"
    )
    assert alone == "# Memory Context\n\n## Pinned\n- [gateway] [port]: two (confidence: 0.95)\n"


@pytest.mark.requirement("RCL-04.1")
def test_of_equal_texts_one_line_is_shown() -> None:
    """Pinned or not."""
    pinned = [replace(fact("nuts"), id=UUID(int=number)) for number in range(10)]
    told = [replace(rule(), id=UUID(int=number)) for number in range(10, 20)]
    block = render_context([*told, replace(pinned[0], id=UUID(int=99))], pinned=pinned, budget_tokens=ROOMY)
    assert block.count("\n- ") == 2


def test_lines_end_with_short_ids_where_there_is_room() -> None:
    """All memories stay in the block; the first lines get their ids first, and a note says what they are for."""
    memories = [fact("one"), rule()]

    roomy = render_context(memories, budget_tokens=ROOMY, style=BlockStyle(ids=True))
    bare = render_context(memories, budget_tokens=ROOMY, style=BlockStyle(note=False))
    tight = render_context(memories, budget_tokens=len(bare) // 4 + 3, style=BlockStyle(ids=True))

    assert "one (confidence: 0.95) [f:00000]\n" in roomy
    assert "effectiveness: 0.88) [r:00000]\n" in roomy
    assert "such as [f:3k7q2]" in roomy
    assert (tight.count("- "), tight.count("[f:00000]"), tight.count("[r:00000]")) == (2, 1, 0)


@pytest.mark.requirement("TRU-03.2")
def test_lines_have_dates_if_the_caller_asks() -> None:
    """The date of the last confirmation says how old a claim or a rule is."""
    block = render_context([fact(), rule()], budget_tokens=ROOMY, style=BlockStyle(dates=True))

    assert "listens on 8080 (confidence: 0.95, as of 2026-03-01)\n" in block
    assert "(maturity: proven, effectiveness: 0.88, as of 2026-03-01)\n" in block
    assert "as of" not in render_context([fact(), rule()], budget_tokens=ROOMY)


@pytest.mark.requirement("RCL-01.1")
def test_a_pinned_memory_that_is_too_long_is_shortened() -> None:
    """It keeps its beginning and standing within the cap; it is left out rather than cut to a few words."""
    long = rule("Never touch the production database. " + "It holds the orders of every customer. " * 20)

    block = render_context([], pinned=[long], budget_tokens=300, style=BlockStyle(note=False))

    assert len(block) <= len("# Memory Context\n") + 300 * 4 * 0.25
    assert "- Never touch the production database. It holds the orders" in block
    assert "… (maturity: proven" in block
    assert (
        render_context([], pinned=[long], budget_tokens=60, style=BlockStyle(note=False))
        == "# Memory Context\n"
    )


@pytest.mark.requirement("LIF-03.1")
def test_a_fact_that_does_not_hold_yet_says_from_when() -> None:
    """With and without dates; a fact that has begun does not."""
    later, now = fact(valid_from=NOW + timedelta(days=40)), fact(valid_from=NOW - timedelta(days=1))

    for with_date in (False, True):
        assert "(confidence: 0.95, from 2026-04-10)" in render_line(later, with_date=with_date)
        assert ", from" not in render_line(now, with_date=with_date)


@pytest.mark.requirement("TRU-01.3")
def test_a_line_names_the_memories_that_it_stands_for() -> None:
    """If it has an id: those with equal words by their ids, another value of its key by its text."""
    own = replace(fact("attic"), id=UUID(int=1 << 104))
    other = replace(fact("cellar (left) <b>"), id=UUID(int=2 << 104))
    rules = [replace(rule(), id=UUID(int=number << 103)) for number in (1, 2, 3)]
    folded = {own.id: (other,), rules[0].id: (rules[1],)}
    block = render_context(
        [own, rules[0]], pinned=[rules[2]], folded=folded, budget_tokens=ROOMY, style=BlockStyle(ids=True)
    )
    assert "- [gateway] [port]: attic (confidence: 0.95, other value: cellar [left] <b>) [f:00002]\n" in block
    assert "effectiveness: 0.88) [r:00003, also r:00001, also r:00002]\n" in block
    lies = {own.id: (replace(other, trust=Source.WEB),)}
    assert "other value" not in render_context(
        [own], folded=lies, budget_tokens=ROOMY, style=BlockStyle(ids=True)
    )
    bare = render_context([own, rules[0]], folded=folded, budget_tokens=ROOMY)
    assert "attic (confidence: 0.95)\n" in bare
    assert "also" not in bare.removeprefix(f"# Memory Context\n{NOTE}")
