"""Sources of any content: readers name what they cannot read, and never fail in another way."""

import json
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from datetime import UTC
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commonplace.core.errors import InvalidInputError, StorageUnavailableError
from commonplace.knowledge import EpisodeDraft, FactDraft, RuleDraft
from commonplace.services.transfer.importers import ImportSource, read_source, source_of
from commonplace.services.transfer.items import identity, kind_of, to_json

GOOD: Final = "The good one is read"
NOTE: Final = (
    "---\ntitle: A\ntags: [a, b]\ndue: 2026-02-01\nmetadata:\n  type: user\n---\n"
    f"# H\n- [x] b\n- [c] {GOOD}\n[[L]]\n"
)
CHAT: Final = [{"uuid": "u", "name": None, "chat_messages": [{"sender": "human", "text": GOOD}]}]
GRAPH: Final = {
    "entities": [{"name": "A", "entityType": "person", "observations": [GOOD]}],
    "relations": [{"from": "A", "to": "B", "relationType": "knows"}],
}
RULE: Final = {"kind": "rule", "content": GOOD, "tags": ["a"]}
FILES: Final[Mapping[ImportSource, tuple[str, bytes]]] = {
    ImportSource.JSONL: ("a.jsonl", json.dumps(RULE).encode()),
    ImportSource.CSV: ("a.csv", f'kind,content,tags\nrule,{GOOD},"[""a""]"\n'.encode()),
    ImportSource.MARKDOWN: ("folder/rules/a.md", f"---\ntags: [a]\n---\n{GOOD}\n".encode()),
    ImportSource.INSTRUCTIONS: (
        "CLAUDE.md",
        f"---\npaths: ['*.ts']\n---\n# H\n@a.md\n\n- {GOOD}\n\n> q\n".encode(),
    ),
    ImportSource.BASIC_MEMORY: ("folder/a.md", NOTE.encode()),
    ImportSource.CLAUDE_MEMORY: ("folder/user_a.md", NOTE.encode()),
    ImportSource.CODEX_MEMORY: ("folder/MEMORY.md", f"# T\nscope: x\n## P\n- {GOOD} (cwd=/x)\n".encode()),
    ImportSource.MCP_MEMORY: ("memory.json", json.dumps(GRAPH).encode()),
    ImportSource.MEM0: ("mem0.json", json.dumps({"results": [{"memory": GOOD, "user_id": "a"}]}).encode()),
    ImportSource.CONVERSATIONS: ("conversations.json", json.dumps(CHAT).encode()),
}
"""A file of each source, below a folder if the source is one."""

Edit = tuple[int, int, bytes]
EDITS = st.lists(
    st.tuples(
        st.integers(0, 300),
        st.integers(0, 12),
        st.sampled_from(
            [
                b"",
                b"\x00",
                b"\xff",
                b"null",
                b"{",
                b"[[",
                b"---\n",
                b"\n",
                b'"',
                b": ",
                b"```\n",
                b"~~",
                b"- ",
                b"5",
            ]
        )
        | st.binary(max_size=4),
    ),
    max_size=6,
)
"""Places in a file, the number of bytes that are replaced there, and the replacements."""


def mutated(content: bytes, edits: list[Edit]) -> bytes:
    """Return content with edits."""
    for place, length, replacement in edits:
        start = place % (len(content) + 1)
        content = content[:start] + replacement + content[start + length :]
    return content


def read(
    source: ImportSource, name: str, content: bytes, more: Mapping[str, bytes] | None = None
) -> list[str]:
    """Write a file and others, read the source, and return the texts of its items."""
    with TemporaryDirectory() as temporary:
        root = Path(temporary)
        for each, written in {name: content, **(more or {})}.items():
            (root / each).parent.mkdir(parents=True, exist_ok=True)
            (root / each).write_bytes(written)
        path = root / "folder" if name.startswith("folder/") else root / name
        with suppress(InvalidInputError, StorageUnavailableError):
            source_of(path)
        items = list(read_source(source, path, UTC))
    texts: list[str] = []
    for item in items:
        if isinstance(item, FactDraft | RuleDraft | EpisodeDraft):
            assert identity(item)
            assert json.dumps(to_json(item))
            assert kind_of(item)
            texts.append(item.content)
    return texts


@pytest.mark.parametrize("source", FILES)
def test_each_good_file_is_read(source: ImportSource) -> None:
    """Otherwise the tests below would show nothing."""
    assert any(GOOD in text for text in read(source, *FILES[source]))


@pytest.mark.parametrize("source", FILES)
@settings(max_examples=60)
@given(edits=EDITS)
def test_no_edit_of_a_file_raises_another_error(source: ImportSource, edits: list[Edit]) -> None:
    """The whole source is refused, or parts of it are named."""
    name, content = FILES[source]
    with suppress(InvalidInputError, StorageUnavailableError):
        read(source, name, mutated(content, edits))


@pytest.mark.parametrize("source", FILES)
@settings(max_examples=30)
@given(
    content=st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace"))
)
def test_no_content_raises_another_error(source: ImportSource, content: bytes) -> None:
    """Whatever the bytes are."""
    with suppress(InvalidInputError, StorageUnavailableError):
        read(source, FILES[source][0], content)


BESIDE: Final = (
    ImportSource.BASIC_MEMORY,
    ImportSource.CLAUDE_MEMORY,
    ImportSource.CODEX_MEMORY,
    ImportSource.MARKDOWN,
)


@pytest.mark.parametrize("source", BESIDE)
@settings(max_examples=40)
@given(edits=EDITS)
def test_a_good_file_beside_a_bad_one_is_read(source: ImportSource, edits: list[Edit]) -> None:
    """Of each folder."""
    name, content = FILES[source]
    bad = {f"{name.removesuffix('.md')}-bad.md": mutated(content, edits)}
    if source is ImportSource.CODEX_MEMORY:
        bad = {"folder/rollout_summaries/bad.md": mutated(content, edits)}
    assert any(GOOD in text for text in read(source, name, content, bad))


KEYS: Final = (
    *(
        "name",
        "type",
        "entityType",
        "observations",
        "from",
        "to",
        "relationType",
        "memory",
        "user_id",
        "data",
    ),
    *("mapping", "current_node", "chat_messages", "sender", "text", "content", "message", "author", "parent"),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=8,
)
LISTS: Final[Mapping[ImportSource, Callable[[object], object]]] = {
    ImportSource.MCP_MEMORY: lambda bad: {**GRAPH, "entities": [bad, *GRAPH["entities"]], "relations": [bad]},
    ImportSource.MEM0: lambda bad: {"results": [bad, {"memory": GOOD}]},
    ImportSource.CONVERSATIONS: lambda bad: [bad, *CHAT],
}


@pytest.mark.parametrize("source", LISTS)
@settings(max_examples=100)
@given(bad=JSON)
def test_a_good_entry_beside_a_bad_one_is_read(source: ImportSource, bad: object) -> None:
    """Of each document."""
    content = json.dumps(LISTS[source](bad)).encode()
    assert any(GOOD in text for text in read(source, FILES[source][0], content))


CELLS = (
    st.none() | st.integers(-(2**63), 2**63 - 1) | st.floats() | st.text(max_size=8) | st.binary(max_size=8)
)
COLUMNS: Final = (
    "project",
    "type",
    "title",
    "narrative",
    "facts",
    "concepts",
    "created_at",
    "created_at_epoch",
)


@settings(max_examples=60)
@given(row=st.lists(CELLS, min_size=len(COLUMNS), max_size=len(COLUMNS)))
def test_a_good_row_beside_a_bad_one_is_read(row: list[object]) -> None:
    """Of claude-mem."""
    with TemporaryDirectory() as temporary:
        path = Path(temporary, "claude-mem.db")
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(f"CREATE TABLE observations (id INTEGER PRIMARY KEY, {', '.join(COLUMNS)})")
            values = ", ".join("?" * len(COLUMNS))
            insert = f"INSERT INTO observations ({', '.join(COLUMNS)}) VALUES ({values})"  # noqa: S608 - constants
            connection.executemany(insert, [row, ["p", "t", "T", GOOD, None, None, None, None]])
        items = list(read_source(source_of(path), path, UTC))
    assert GOOD in [item.content for item in items if isinstance(item, FactDraft)]


@settings(max_examples=60)
@given(edits=EDITS)
def test_no_edit_of_a_database_raises_another_error(edits: list[Edit]) -> None:
    """Not of its pages either."""
    with TemporaryDirectory() as temporary:
        path = Path(temporary, "claude-mem.db")
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("CREATE TABLE observations (id INTEGER PRIMARY KEY, title TEXT, facts TEXT)")
            connection.execute("INSERT INTO observations VALUES (1, 'T', ?)", (json.dumps([GOOD]),))
        content = bytearray(path.read_bytes())
        for place, _, replacement in edits:
            start = len(content) - 1 - place
            content[start : start + len(replacement)] = replacement
        path.write_bytes(content)
        with suppress(InvalidInputError, StorageUnavailableError):
            list(read_source(source_of(path), path, UTC))
