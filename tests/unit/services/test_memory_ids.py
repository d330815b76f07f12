"""Ids of memories of all kinds."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.core.errors import InvalidInputError
from commonplace.services.memory_ids import LETTERS, NUMBERED, MemoryId, MemoryKind, parse_memory_id

KEYS = st.one_of(
    st.tuples(st.sampled_from(sorted(NUMBERED)), st.integers(1, 10**15 - 1)),
    st.tuples(st.sampled_from(sorted(set(MemoryKind) - NUMBERED)), st.uuids()),
)


@pytest.mark.requirement("ONE-01.1")
@given(KEYS)
def test_a_printed_id_is_read_back(kind_and_key: tuple[MemoryKind, int | UUID]) -> None:
    """In any case, with spaces or brackets around it; of a UUID, the beginning is enough to name its kind."""
    kind, key = kind_and_key
    printed = str(MemoryId.of(kind, key))
    assert printed[0] == LETTERS[kind]
    for text in (printed, printed.upper(), f" [{printed}] "):
        parsed = parse_memory_id(text)
        assert isinstance(parsed, MemoryId)
        assert (parsed.kind, str(parsed)) == (kind, printed)


@pytest.mark.requirement("ONE-01.1")
def test_full_ids_are_read_too() -> None:
    """A note has a word for its kind in its full id; a UUID alone does not say the kind."""
    assert str(parse_memory_id("m-3")) == str(parse_memory_id("w:m-3")) == "w:3"
    assert parse_memory_id(str(UUID(int=5))) == UUID(int=5)
    assert MemoryId.of(MemoryKind.NOTE, "m-3").full == "m-3"
    assert MemoryId.of(MemoryKind.LESSON, 12).full == "12"
    assert MemoryId.of(MemoryKind.FACT, UUID(int=5)).full == str(UUID(int=5))


@pytest.mark.requirement("ONE-01.1")
@pytest.mark.parametrize(
    "text", ["", "12", "x:12", "o:0", "o:-1", "f:3k", "f:3k7u2", "o:1x", "m-", "a:1:2", "🙂"]
)
def test_other_texts_are_refused(text: str) -> None:
    """The message shows every form."""
    with pytest.raises(
        InvalidInputError, match="an id such as f:3k7q2, r:9x2vd, e:5c7d9, n:4h1tz, o:12, a:7 or w:3"
    ):
        parse_memory_id(text)
