"""Short ids of memories."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.core.errors import InvalidInputError
from commonplace.knowledge.model.kinds import MemoryType
from commonplace.knowledge.model.short_ids import ShortId, parse_id, short_id

RULE = MemoryType.RULE


@pytest.mark.requirement("RCL-04.1")
@given(memory_id=st.uuids(), chars=st.integers(4, 25), other=st.uuids())
def test_a_short_id_names_the_ids_that_begin_with_it(memory_id: UUID, chars: int, other: UUID) -> None:
    """And no others, in any case and with brackets."""
    text = short_id(RULE, memory_id, chars=chars)

    wanted = parse_id(f" [{text.upper()}] ", RULE, field="rule_id")

    assert isinstance(wanted, ShortId)
    assert wanted.text == text
    assert wanted.first <= memory_id <= wanted.last
    assert (wanted.first <= other <= wanted.last) == (short_id(RULE, other, chars=chars) == text)


def test_a_uuid_is_read_as_before() -> None:
    """As a text or an object."""
    assert parse_id(str(UUID(int=5)), RULE, field="rule_id") == UUID(int=5)
    assert parse_id(UUID(int=5), RULE, field="rule_id") == UUID(int=5)


@given(memory_id=st.uuids(), chars=st.integers(4, 35), other=st.uuids())
def test_the_beginning_of_a_uuid_names_the_ids_that_begin_with_it(
    memory_id: UUID, chars: int, other: UUID
) -> None:
    """With dashes or without, in any case."""
    head = str(memory_id)[:chars]
    for text in (head, head.replace("-", "").upper()):
        wanted = parse_id(text, RULE, field="rule_id")
        assert isinstance(wanted, ShortId)
        assert wanted.text == text
        assert wanted.first <= memory_id <= wanted.last
        assert (wanted.first <= other <= wanted.last) == str(other).startswith(head.rstrip("-"))


@pytest.mark.parametrize("text", ["r:3k7", "r:3k7u", "x:3k7q2", "3k7q2", "r:", "", "abc", "abcdefgh"])
def test_other_texts_are_refused(text: str) -> None:
    """Three characters are too few, and u is no digit."""
    with pytest.raises(InvalidInputError, match="rule_id: expected a UUID or a short id, such as r:3k7q2"):
        parse_id(text, RULE, field="rule_id")


def test_the_short_id_of_another_type_is_refused() -> None:
    """A fact cannot be marked as a rule."""
    with pytest.raises(
        InvalidInputError, match='rule_id: expected the id of a memory of type rule, got "f:3k7q2"'
    ):
        parse_id("f:3k7q2", RULE, field="rule_id")
