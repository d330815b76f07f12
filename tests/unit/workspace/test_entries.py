"""One memory and its line, and what the lines of a file hold together."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.core.errors import InvalidInputError
from commonplace.core.text import is_blank
from commonplace.workspace.model.memories import (
    Note,
    NoteDraft,
    NoteScope,
    require_id,
    require_scope,
    require_tags,
)
from commonplace.workspace.rules.entries import format_line, parse_line
from commonplace.workspace.rules.lines import read_contents

NOON = datetime(2026, 2, 26, 12, 0, tzinfo=UTC)
LINE = b'{"id":"m-1","scope":"user","text":"User prefers Python","tags":["preference"],"ts":"2026-02-26T12:00:00Z"}'

words = (
    st.text(min_size=1, max_size=50)
    .map(lambda text: " ".join(text.replace("\x00", "").split()))
    .filter(lambda text: not is_blank(text))
)
drafts = st.builds(
    NoteDraft,
    text=st.text(min_size=1, max_size=500)
    .map(lambda text: text.replace("\x00", "").strip())
    .filter(lambda text: not is_blank(text)),
    scope=st.sampled_from(NoteScope),
    tags=st.lists(words, max_size=5, unique=True).map(tuple),
    created_at=st.datetimes(min_value=datetime(2000, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001 - gets its zone
)


@pytest.mark.requirement("WSP-01", "WSP-01.1")
def test_a_line_is_as_the_specification_shows_it() -> None:
    """Five fields, in the specification's order, the time in seconds with Z."""
    memory = Note(
        number=1, scope=NoteScope.USER, text="User prefers Python", tags=("preference",), created_at=NOON
    )
    assert format_line(memory) == LINE + b"\n"
    assert parse_line(LINE) == memory


@pytest.mark.requirement("WSP-01.1")
@given(draft=drafts, number=st.integers(1, 10**15 - 1))
def test_a_memory_comes_back_as_it_was_written(draft: NoteDraft, number: int) -> None:
    """Whatever the text holds, it is one line in every reader's eyes, with exactly the five fields."""
    memory = draft.numbered(number)
    line = format_line(memory)
    assert parse_line(line) == memory
    assert len(line.decode().splitlines()) == 1
    assert list(json.loads(line)) == ["id", "scope", "text", "tags", "ts"]


@pytest.mark.requirement("WSP-01.3")
@pytest.mark.parametrize(
    "tags", [["a"] * 2 + list("bcdef"), ["a", ""], ["\u200b"], ["x" * 51], [1], {"a": 1}, "infra", 7]
)
def test_bad_tags_are_refused(tags: object) -> None:
    """More than five, empty or long ones, and what is no list of strings."""
    with pytest.raises(InvalidInputError, match="tags: expected a list of at most 5 tags"):
        require_tags(tags)


@pytest.mark.requirement("WSP-01.3")
def test_tags_are_tidied() -> None:
    """A JSON list in a string is the list; spaces collapse; a repeated tag counts once."""
    assert require_tags('["infra", " deploy  target ", "infra"]') == ("infra", "deploy target")
    assert require_tags(None) == ()
    assert require_tags([*"abcde", "a"]) == tuple("abcde")


@pytest.mark.requirement("WSP-01.3")
def test_a_scope_is_one_of_three() -> None:
    """Workspace unless said otherwise; anything else is refused."""
    assert require_scope(None) == "workspace"
    assert [require_scope(scope) for scope in ("user", "Workspace", " session ")] == list(NoteScope)
    with pytest.raises(
        InvalidInputError, match='scope: expected one of user, workspace, session, got "team"'
    ):
        require_scope("team")


@pytest.mark.requirement("WSP-06.2")
@pytest.mark.parametrize("value", ["", "m-", "m-0", "m-01", "4", "m-4; m-5", 4, None, "m-" + "9" * 16])
def test_what_is_no_id_is_refused(value: object) -> None:
    """An id is m- and a number from 1 on."""
    with pytest.raises(InvalidInputError, match="id: expected the id of a memory, such as m-4"):
        require_id(value)


@pytest.mark.requirement("R-WSP-5", "WSP-11.2")
@pytest.mark.parametrize(
    "damage",
    [
        LINE[:40],
        b"[1, 2]",
        b"[" * 100_000,
        b"\xff\xfe",
        b"<<<<<<< HEAD",
        LINE.replace(b"m-1", b"1"),
        LINE.replace(b'"user"', b'"team"'),
        LINE.replace(b"User prefers Python", b"x" * 501),
        LINE.replace(b"User prefers Python", b" "),
        LINE.replace(b"12:00:00Z", b"12:00:00"),
        LINE.replace(b'["preference"]', b'["a","b","c","d","e","f"]'),
        LINE.replace(b'"2026-02-26T12:00:00Z"', b"7"),
    ],
)
def test_a_damaged_line_is_left_out_reported_and_kept(damage: bytes) -> None:
    """Its neighbours load, its number and what is wrong are told, and its bytes are written back."""
    data = damage + b"\n\n" + LINE.replace(b"m-1", b"m-2") + b"\n"
    contents = read_contents(data)
    assert [memory.id for memory in contents.memories] == ["m-2"]
    assert [problem.line for problem in contents.problems] == [1]
    assert contents.problems[0].reason
    assert contents.to_bytes() == data


@pytest.mark.requirement("R-WSP-5")
@given(st.binary(max_size=400))
def test_any_bytes_can_be_read_and_written_back(data: bytes) -> None:
    """Nothing that a file may hold is lost or stops the agent."""
    contents = read_contents(data)
    assert contents.to_bytes() in (data, data + b"\n")
    assert contents.terminated == (data.endswith(b"\n") or not data)


@pytest.mark.requirement("R-WSP-5", "WSP-01.1")
def test_a_line_of_another_tool_loads_and_stays_as_it_is() -> None:
    """Extra fields, another order, another offset and CRLF do no harm; scope and tags have defaults."""
    data = b'{"ts": "2026-02-26T14:00:00+02:00", "stars": 5, "text": "A fact", "id": "m-7"}\r\n'
    contents = read_contents(data)
    assert contents.memories == (
        Note(number=7, scope=NoteScope.WORKSPACE, text="A fact", tags=(), created_at=NOON),
    )
    assert contents.problems == ()
    assert contents.to_bytes() == data


@pytest.mark.requirement("R-WSP-1")
def test_the_highest_id_counts_damaged_lines_too() -> None:
    """A torn line that still shows its id keeps it from being given again."""
    assert read_contents(LINE + b"\n" + LINE.replace(b"m-1", b"m-9")[:30]).highest == 9


@pytest.mark.requirement("R-WSP-1", "R-WSP-5")
def test_an_id_that_stands_twice_is_told_apart() -> None:
    """Two merged branches may both hold m-1: the later line gets the next free id, and is no damage."""
    rust, again = LINE.replace(b"Python", b"Rust"), LINE.replace(b"m-1", b"m-2")
    read = read_contents(b"\n".join([LINE, rust, again]))
    contents = read.told_apart(6)
    assert [(each.id, each.text) for each in contents.memories] == [
        ("m-1", "User prefers Python"),
        ("m-2", "User prefers Python"),
        ("m-7", "User prefers Rust"),
    ]
    assert read.problems == ()
    assert contents.told_apart(9) is contents


@pytest.mark.requirement("R-WSP-1", "R-WSP-5")
def test_a_memory_that_a_merge_repeats_under_a_used_id_is_dropped() -> None:
    """After a second merge of a branch, its line stands under its old id beside the line with the new id."""
    rust = LINE.replace(b"Python", b"Rust")
    data = b"\n".join([LINE, rust.replace(b"m-1", b"m-2"), rust, b"broken"]) + b"\n"
    contents = read_contents(data).told_apart(0)
    assert contents.to_bytes() == data.replace(rust + b"\n", b"")


@pytest.mark.requirement("R-WSP-5")
@pytest.mark.parametrize("marker", [b"<<<<<<< HEAD", b"||||||| 1f2e3d4", b"=======", b">>>>>>> one"])
def test_a_line_of_a_conflict_says_what_to_do(marker: bytes) -> None:
    """The memories of both sides are read."""
    contents = read_contents(b"\n".join([LINE, marker, LINE.replace(b"m-1", b"m-2")]))
    assert [each.id for each in contents.memories] == ["m-1", "m-2"]
    (problem,) = contents.problems
    assert problem.reason.startswith("a merge was not resolved")


@pytest.mark.requirement("WSP-05.5")
def test_memories_come_by_time_and_within_a_second_by_id() -> None:
    """The order of the lines decides nothing."""
    late = LINE.replace(b"m-1", b"m-3").replace(b"12:00", b"13:00")
    contents = read_contents(b"\n".join([late, LINE.replace(b"m-1", b"m-10"), LINE.replace(b"m-1", b"m-9")]))
    assert [memory.id for memory in contents.memories] == ["m-9", "m-10", "m-3"]
