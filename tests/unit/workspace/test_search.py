"""Search in memories."""

from datetime import UTC, datetime, timedelta

import pytest

from commonplace.workspace.model.memories import Note, NoteScope
from commonplace.workspace.rules.search import search

START = datetime(2026, 2, 26, 12, 0, tzinfo=UTC)


def remembered(*entries: tuple[str, tuple[str, ...]]) -> tuple[Note, ...]:
    """Return memories from oldest to newest, an hour apart."""
    return tuple(
        Note(number=n, scope=NoteScope.WORKSPACE, text=text, tags=tags, created_at=START + timedelta(hours=n))
        for n, (text, tags) in enumerate(entries, start=1)
    )


MEMORIES = remembered(
    ("User prefers Python over JavaScript", ("preference",)),
    ("Project uses PostgreSQL 16 on port 5432", ("infra",)),
    ("Deploy target is AWS us-east-1", ("infra", "deploy")),
    ("用户喜欢使用制表符缩进", ("偏好",)),
    ("Das Café an der Straße", ()),
)


def found(*, query: str = "", tag: str = "") -> list[str]:
    """Return the ids that a search gives."""
    return [memory.id for memory in search(MEMORIES, query=query, tag=tag).memories]


@pytest.mark.requirement("WSP-05.1")
@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("POSTGRES", ["m-2"]),
        ("us-east", ["m-3"]),
        ("python over", ["m-1"]),
        ("over python", []),
        ("制表符", ["m-4"]),
        ("STRASSE", ["m-5"]),
        ("cafe\u0301", ["m-5"]),
        ("%", []),
        (" port ", ["m-2"]),
    ],
)
def test_the_query_is_a_substring_in_any_case(query: str, ids: list[str]) -> None:
    """Letters of any script, taken literally, within words and across them."""
    assert found(query=query) == ids


@pytest.mark.requirement("WSP-05.2")
def test_a_tag_is_matched_whole() -> None:
    """In any case; part of a tag is not the tag."""
    assert found(tag="INFRA") == ["m-3", "m-2"]
    assert found(tag="inf") == []


@pytest.mark.requirement("WSP-05.3")
def test_query_and_tag_must_both_match() -> None:
    """Each narrows the other."""
    assert found(query="port", tag="infra") == ["m-2"]
    assert found(query="python", tag="infra") == []


@pytest.mark.requirement("WSP-05.4", "WSP-05.5", "WSP-05.6")
def test_at_most_the_twenty_newest_come() -> None:
    """Newest first, and the count says how many."""
    many = remembered(*[(f"fact {n}", ("t",)) for n in range(1, 31)])
    newest = [f"m-{n}" for n in range(30, 10, -1)]
    for result in (search(many), search(many, query="fact"), search(many, tag="t")):
        assert [memory.id for memory in result.memories] == newest
        assert result.count == 20
    assert search(many, query="fact 7").count == 1
