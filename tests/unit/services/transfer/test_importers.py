"""Importers on files that the real programs wrote, and the forms of an export."""

import csv
import json
import pickle
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from datetime import UTC, date, datetime
from io import StringIO
from pathlib import Path
from tempfile import NamedTemporaryFile
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from commonplace.cli.frame.export_target import write
from commonplace.core.errors import InvalidInputError, StorageUnavailableError
from commonplace.knowledge import EpisodeDraft, FactDraft, RuleDraft
from commonplace.services.transfer import jsonl, markdown, table
from commonplace.services.transfer.importers import IMPORTERS, ImportSource, mem0, read_source, source_of
from commonplace.services.transfer.items import (
    DigestItem,
    EntityItem,
    ExportedItem,
    Item,
    OperationalItem,
    PastItem,
    Read,
    Unreadable,
    WorkspaceItem,
    exported_json,
    from_json,
    identity,
    to_json,
)
from commonplace.services.transfer.said import said_at
from support.disks import small_disk

DATA = Path(__file__).parents[3] / "data" / "importers"
AT = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
ITEMS: tuple[Item, ...] = (
    EntityItem(
        id="ada", name="Ada Lovelace", entity_type="person", aliases=("Ada",), metadata={"born": 1815}
    ),
    FactDraft(
        subject="Ada",
        predicate="lives in",
        content="Ada lives in London.\n\nSince 1835: --- yes.",
        entity_id="ada",
    ),
    FactDraft(
        subject="Ada", predicate="tea", content="true", tags=("a: b", "no"), importance=7.5, scope="home"
    ),
    RuleDraft(content="Never push to `main`", tags=("git",)),
    EpisodeDraft(content="The disk was full", butler="ops", created_at=AT),
    DigestItem(
        app_id="cal",
        content="Meets on Monday",
        created_at=AT,
        updated_at=AT,
        user_id="u",
        metadata={"tags": ["a"]},
    ),
    OperationalItem(category="timing", observation="Takes 60 s", service="caddy", confidence=0.4),
    WorkspaceItem(text="Tests need Redis", scope="user", tags=("test",)),
)
EXPORTED = [ExportedItem(item=item, record={"id": "7", "confidence": 0.5}) for item in ITEMS]


def test_an_export_is_read_back_in_each_form(tmp_path: Path) -> None:
    """All fields come back, also texts that YAML would take for something else."""
    lines = tmp_path / "export.jsonl"
    lines.write_text("".join(f"{line}\n" for line in jsonl.lines(EXPORTED)), encoding="utf-8")
    folder = tmp_path / "export"
    assert markdown.write([*EXPORTED, *EXPORTED], folder) == 2 * len(ITEMS)
    wanted = [to_json(item) for item in ITEMS]
    assert [to_json(item) for item in items_of(jsonl.read(lines))] == wanted
    found = sorted((to_json(item) for item in items_of(markdown.read(folder))), key=json.dumps)
    assert found == sorted([*wanted, *wanted], key=json.dumps)
    rows = tmp_path / "export.csv"
    write(EXPORTED, rows)
    assert [to_json(item) for item in items_of(table.read(rows))] == wanted
    assert (source_of(lines), source_of(folder), source_of(rows)) == ("jsonl", "markdown", "csv")


@pytest.mark.parametrize("name", ["export.jsonl", "export", "export.csv"])
def test_a_past_memory_is_read_as_past(tmp_path: Path, name: str) -> None:
    """In each form; otherwise an import would make it current."""
    write([ExportedItem(item=each, is_past=True) for each in ITEMS], tmp_path / name)
    found = list(IMPORTERS[source_of(tmp_path / name)](tmp_path / name))
    assert all(isinstance(each, PastItem) for each in found)
    assert len(found) == len(ITEMS)


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")), min_size=1))
@example(["=1+1", "'=1+1", "''=1+1", "-a", "@b", "'", "'a", "\r\n", "\t=", '"', "TRUE", "null"])
def test_any_text_survives_a_table(texts: list[str]) -> None:
    """Also a text that a spreadsheet would run as a formula, and which no cell may begin with."""
    items = [RuleDraft(content=text, scope=f"s{text}") for text in texts if text]
    with NamedTemporaryFile(suffix=".csv") as file:
        path = Path(file.name)
        path.unlink()
        write([ExportedItem(item=item) for item in items], path)
        assert list(table.read(path)) == items
        cells = [
            cell for row in csv.reader(StringIO(path.read_text("utf-8-sig"), newline="")) for cell in row
        ]
        path.touch()
    assert not [cell for cell in cells if cell[:1] in {"=", "+", "-", "@", "\t", "\r"}]


@pytest.mark.parametrize("name", ["export.jsonl", "export.csv", "export", "empty"])
def test_an_export_that_fails_leaves_nothing(tmp_path: Path, name: str) -> None:
    """A full disk ends it in the middle; then it can be repeated. An empty directory stays."""
    target = tmp_path / name
    if name == "empty":
        target.mkdir()
    before = list(tmp_path.iterdir())
    with small_disk(150), pytest.raises(OSError, match="File too large"):
        write(EXPORTED, target)
    assert list(tmp_path.iterdir()) == before
    assert not target.is_dir() or not list(target.iterdir())
    write(EXPORTED, target)
    assert len(list(IMPORTERS[source_of(target)](target))) == len(ITEMS)
    with pytest.raises(InvalidInputError):
        write(EXPORTED, target)


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1), st.text(min_size=1))
def test_any_text_survives_json(content: str, scope: str) -> None:
    """The identity of an item stays, so an import can be repeated."""
    item = RuleDraft(content=content, scope=scope)
    assert from_json(json.loads(json.dumps(to_json(item)))) == item


@pytest.mark.parametrize(
    ("document", "field"),
    [
        ([], "item"),
        ({"kind": "wish"}, "kind"),
        ({"kind": "fact", "subject": "a"}, "fact"),
        ({"kind": "rule", "content": 5}, "content"),
        ({"kind": "rule", "content": "a", "tags": "b"}, "tags"),
        ({"kind": "episode", "content": "a", "butler": "b", "created_at": "yesterday"}, "created_at"),
    ],
)
def test_what_is_no_item_is_refused(document: object, field: str) -> None:
    """The error names the field."""
    with pytest.raises(InvalidInputError) as raised:
        from_json(document)
    assert raised.value.field == field


def test_what_cannot_be_read_is_named_and_the_rest_is_read(tmp_path: Path) -> None:
    """By its line or file, with the field that is wrong."""
    path, folder = tmp_path / "export.jsonl", tmp_path / "export"
    lines = (
        b'{"kind": "fact", "subject": "S", "predicate": "p"}',
        b"nonsense",
        b'{"kind": "wish"}',
        b'{"kind": "fact", "subject": "S", "predicate": "p", "content": "c", "importance": "high"}',
        b"\xff",
        b'{"kind": "rule", "content": "Be kind"}',
    )
    path.write_bytes(b"\n".join(lines))
    markdown.write([ExportedItem(item=RuleDraft(content="Be kind"))], folder)
    (folder / "facts").mkdir()
    (folder / "facts" / "a.md").write_text("---\nsubject: S\n---\n\ntext\n")
    (folder / "facts" / "b.md").write_text("---\n[\n---\n\ntext\n")
    (folder / "facts" / "c.md").write_bytes(b"\xff")
    for found, reasons in (
        (
            list(jsonl.read(path)),
            {
                "line 1": "fact: expected a field `content`",
                "line 2": "expected JSON",
                "line 3": "kind: expected one of",
                "line 4": 'importance: expected a number, got "high"',
                "line 5": "expected JSON in UTF-8",
            },
        ),
        (
            list(markdown.read(folder)),
            {
                "facts/a.md": "fact: expected a field `predicate`",
                "facts/b.md": "front matter: expected YAML",
                "facts/c.md": "text: expected UTF-8",
            },
        ),
    ):
        assert [each.content for each in found if isinstance(each, RuleDraft)] == ["Be kind"]
        refused = {each.place: each.reason for each in found if isinstance(each, Unreadable)}
        assert refused.keys() == reasons.keys()
        for place, reason in reasons.items():
            assert refused[place].startswith(reason)
            assert "__init__" not in refused[place]


def items_of(read: Read) -> list[Item]:
    """Return what a reader found; all of it is readable and current."""
    found = list(read)
    assert not [each for each in found if isinstance(each, PastItem | Unreadable)]
    return [each for each in found if not isinstance(each, PastItem | Unreadable)]


def facts(items: Iterable[Item | PastItem | Unreadable]) -> dict[tuple[str, str], str]:
    """Return the contents of facts by subject and predicate."""
    return {(item.subject, item.predicate): item.content for item in items if isinstance(item, FactDraft)}


def test_a_graph_of_the_mcp_memory_server() -> None:
    """Written by @modelcontextprotocol/server-memory 2026.8.31 through its tools."""
    path = DATA / "mcp-memory.jsonl"
    assert source_of(path) == "mcp-memory"
    entities = [item for item in IMPORTERS[ImportSource.MCP_MEMORY](path) if isinstance(item, EntityItem)]
    assert [(each.name, each.entity_type, each.metadata) for each in entities] == [
        ("Ada Lovelace", "person", None),
        ("Analytical Engine", "other", {"type": "machine"}),
    ]
    assert facts(IMPORTERS[ImportSource.MCP_MEMORY](path)) == {
        ("Ada Lovelace", "observation 6e6a72d4"): "Works on the analytical engine",
        ("Ada Lovelace", "observation 9a94107f"): "Prefers tea to coffee",
        ("Ada Lovelace", "observation bbf71bc5"): "Lives in London",
        ("Analytical Engine", "observation 879cdaa5"): "Designed by Charles Babbage",
        (
            "Ada Lovelace",
            "relation 2b349c3d",
        ): "Ada Lovelace wrote a program for Analytical Engine",
    }


def test_notes_of_basic_memory() -> None:
    """Written by basic-memory 0.24.1 with its write-note tool."""
    path = DATA / "basic-memory"
    assert source_of(path) == "basic-memory"
    items = list(IMPORTERS[ImportSource.BASIC_MEMORY](path))
    assert [item.name for item in items if isinstance(item, EntityItem)] == ["Coffee brewing"]
    assert facts(iter(items)) == {
        (
            "Coffee brewing",
            "method 361e9d0f",
        ): "Pour over brings out acidity (from a course)",
        ("Coffee brewing", "tip c75da799"): "Grind medium fine",
        ("Coffee brewing", "relation ff87dd08"): "Coffee brewing requires Burr grinder",
        ("Coffee brewing", "relation 83f1516a"): "Coffee brewing pairs_with Dark chocolate",
        ("Coffee brewing", "note"): "The kitchen has a French press.",
    }
    tags = {item.predicate: item.tags for item in items if isinstance(item, FactDraft)}
    assert tags["method 361e9d0f"] == ("coffee", "kitchen", "brewing")


def test_the_history_of_mem0(tmp_path: Path) -> None:
    """Written by mem0ai 2.2.1: a memory was updated, and another one deleted."""
    path = tmp_path / "history.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript((DATA / "mem0-history.sql").read_text())
    assert source_of(path) == "mem0"
    assert facts(IMPORTERS[ImportSource.MEM0](path)) == {
        ("user", "memory 50c856ae"): "Alice is allergic to peanuts",
        ("user", "memory 4770a803"): "Alice prefers aisle seats",
    }


@pytest.fixture
def mem0_stores(tmp_path: Path) -> dict[str, Path]:
    """Return the folders of the vector stores of mem0ai 2.2.1 with qdrant-client 1.20.0 and chromadb 1.5.9.

    ``Memory.add`` stored six memories with ``infer=False`` and vectors of four numbers; then one was updated, and one
    deleted. The dump of Chroma keeps the tables that hold texts; those of Qdrant are whole.
    """
    stores = {"qdrant": tmp_path / "qdrant", "chroma": tmp_path / "chroma"}
    dumps = {
        DATA / "mem0-qdrant" / f"{name}.sql": stores["qdrant"] / "collection" / name / "storage.sqlite"
        for name in ("mem0", "mem0_entities")
    } | {DATA / "mem0-chroma.sql": stores["chroma"] / "chroma.sqlite3"}
    for dump, database in dumps.items():
        database.parent.mkdir(parents=True)
        with closing(sqlite3.connect(database)) as connection:
            connection.executescript(dump.read_text())
    return stores


@pytest.mark.parametrize("name", ["qdrant", "chroma"])
def test_the_vector_stores_of_mem0(mem0_stores: dict[str, Path], name: str) -> None:
    """The owner is the subject; deleted memories, older texts and the index of entities are left out."""
    path = mem0_stores[name]
    assert source_of(path) == "mem0"
    items = items_of(IMPORTERS[ImportSource.MEM0](path))
    assert facts(items) == {
        ("alice", "memory 50c856ae"): "Alice is allergic to peanuts",
        ("alice", "memory 4770a803"): "Alice prefers aisle seats",
        ("bob", "memory 330f5c64"): "Bob plays chess",
        ("bob", "memory ef220dbd"): "Bob visits Rome",
        ("concierge", "memory 300be489"): "The concierge answers in French",
    }
    (food,) = (item for item in items if isinstance(item, FactDraft) and "peanuts" in item.content)
    assert food.metadata is not None
    kept = {"topic": "food", "status": "sure", "times": 3, "checked": True, "sources": ["a", "b"]}
    assert food.metadata["mem0"].items() >= kept.items()
    (database,) = path.rglob("mem0/storage.sqlite") if name == "qdrant" else path.iterdir()
    assert source_of(database) == "mem0"
    assert items_of(IMPORTERS[ImportSource.MEM0](database)) == items


def test_memories_that_mem0_hides_stay_out(mem0_stores: dict[str, Path]) -> None:
    """A memory is shown on its last day, and no longer."""
    path = mem0_stores["qdrant"]
    for now, number in (
        (datetime(2999, 5, 1, 23, 59, tzinfo=UTC), 5),
        (datetime(2999, 5, 2, tzinfo=UTC), 4),
    ):
        assert len(list(mem0.read(path, lambda now=now: now))) == number


class Trap:
    """An object whose pickle makes a file when it is loaded."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("pickled", [b"", b"nonsense", b"\x80\x04].", pickle.dumps({1: 2})])
def test_a_damaged_point_of_qdrant_is_named_and_the_rest_is_read(
    mem0_stores: dict[str, Path], pickled: bytes
) -> None:
    """By its id in the database."""
    found = with_point(mem0_stores["qdrant"], pickled)
    assert [each.place for each in found if isinstance(each, Unreadable)] == ["point a"]
    assert len(found) == 6


def test_the_code_in_a_point_of_qdrant_is_not_run(mem0_stores: dict[str, Path], tmp_path: Path) -> None:
    """A pickle may name any function; the point is refused."""
    found = with_point(mem0_stores["qdrant"], pickle.dumps(Trap(tmp_path / "made")))
    (refused,) = (each for each in found if isinstance(each, Unreadable))
    assert refused.reason.startswith("expected a point of Qdrant, got ")
    assert not (tmp_path / "made").exists()


def with_point(folder: Path, pickled: bytes) -> list[Item | PastItem | Unreadable]:
    """Store a point in a collection of Qdrant, and return the result of reading the folder."""
    with (
        closing(sqlite3.connect(folder / "collection" / "mem0" / "storage.sqlite")) as connection,
        connection,
    ):
        connection.execute("INSERT INTO points VALUES ('a', ?)", (pickled,))
    return list(IMPORTERS[ImportSource.MEM0](folder))


def test_observations_and_summaries_of_claude_mem(tmp_path: Path) -> None:
    """Written by the store of claude-mem 13.25.3."""
    path = tmp_path / "claude-mem.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript((DATA / "claude-mem.sql").read_text())
    assert source_of(path) == "claude-mem"
    items = list(IMPORTERS[ImportSource.CLAUDE_MEM](path))
    assert facts(iter(items)) == {
        (
            "Checkout rounds prices twice",
            "fact daf2e1d7",
        ): "The cart rounds each price to cents",
        (
            "Checkout rounds prices twice",
            "fact 7b5d51a6",
        ): "The tax is computed after rounding",
        ("Checkout rounds prices twice", "summary"): "Prices were rounded in the cart and again in the tax.",
        ("Tests need Redis", "summary"): "make test starts Redis on port 6380.",
    }
    assert {item.scope for item in items if isinstance(item, FactDraft)} == {"tea-shop"}
    (episode,) = (item for item in items if isinstance(item, EpisodeDraft))
    assert episode.butler == "tea-shop"
    assert episode.created_at is not None
    assert episode.content.splitlines() == [
        "Request: Fix the checkout",
        "Investigated: cart.py",
        "Learned: Tax comes after rounding",
        "Completed: Removed the second rounding",
        "Next steps: Add a test",
    ]


INSTRUCTIONS = """\
# Shop

A shop for tea. <!-- not this -->

## Commands

Run the tests:

```sh
# not a heading
make test
```

- Use `uv`, not pip.
  It is faster.
- Ask before a migration.

@docs/more.md

## Never

Without a review, never:

1. push to main
2. deploy
"""


def test_instructions_become_rules(tmp_path: Path) -> None:
    """Each list item and paragraph is a rule with its headings as tags; what announces a list leads its items."""
    path = tmp_path / "CLAUDE.md"
    path.write_text(INSTRUCTIONS)
    assert source_of(path) == "instructions"
    found = {
        item.content: item.tags
        for item in IMPORTERS[ImportSource.INSTRUCTIONS](path)
        if isinstance(item, RuleDraft)
    }
    assert found == {
        "A shop for tea.": ("CLAUDE.md", "Shop"),
        "Run the tests:\n```sh\n# not a heading\nmake test\n```": ("CLAUDE.md", "Shop", "Commands"),
        "Use `uv`, not pip.\n  It is faster.": ("CLAUDE.md", "Shop", "Commands"),
        "Ask before a migration.": ("CLAUDE.md", "Shop", "Commands"),
        "Without a review, never: push to main": ("CLAUDE.md", "Shop", "Never"),
        "Without a review, never: deploy": ("CLAUDE.md", "Shop", "Never"),
    }


def test_a_path_of_no_known_program_is_refused(tmp_path: Path) -> None:
    """The error lists the sources; a path that does not exist is named as such."""
    (tmp_path / "picture.png").touch()
    with pytest.raises(InvalidInputError, match="mcp-memory"):
        source_of(tmp_path / "picture.png")
    with pytest.raises(StorageUnavailableError, match="missing: no such file or folder"):
        source_of(tmp_path / "missing", ImportSource.JSONL)
    with pytest.raises(InvalidInputError, match="history of mem0"):
        list(IMPORTERS[ImportSource.MEM0](DATA / "mcp-memory.jsonl"))


def test_texts_that_begin_alike_keep_keys_of_their_own(tmp_path: Path) -> None:
    """The second would supersede the first otherwise; a repeated text keeps its key, which is short."""
    start = "one two three four five six seven eight"
    texts = [f"{start} nine", f"{start} ten", f"{start} nine"]
    graph = tmp_path / "memory.jsonl"
    entity = {"type": "entity", "name": "A", "entityType": "person", "observations": texts}
    graph.write_text(json.dumps(entity))
    _, first, second, repeated = items_of(IMPORTERS[ImportSource.MCP_MEMORY](graph))
    assert isinstance(first, FactDraft)
    assert isinstance(second, FactDraft)
    assert first.predicate != second.predicate
    assert max(len(first.predicate), len(second.predicate)) < len("observation") + 10
    assert identity(repeated) == identity(first)


def test_an_observation_that_is_no_text_is_named(tmp_path: Path) -> None:
    """By its line; the entity and its other observations are read."""
    graph = tmp_path / "memory.jsonl"
    entity = {"type": "entity", "name": "A", "entityType": "person", "observations": [5, "Likes tea"]}
    graph.write_text(json.dumps(entity))
    _, refused, fact = IMPORTERS[ImportSource.MCP_MEMORY](graph)
    assert refused == Unreadable(
        place="line 1", reason="observations: expected text of 1 to 1000000 characters, got 5"
    )
    assert isinstance(fact, FactDraft)


@pytest.mark.parametrize(
    "document",
    [
        {"kind": []},
        {"kind": "fact", "subject": "a", "predicate": "b", "content": "c", "importance": float("nan")},
        {"kind": "operational", "category": "a", "observation": "b", "confidence": float("inf")},
    ],
)
def test_values_that_no_item_can_have_are_refused(document: dict[str, object]) -> None:
    """A kind that is not a text, and numbers that are not finite."""
    with pytest.raises(InvalidInputError):
        from_json(document)


@pytest.mark.requirement("TRU-03.3")
@pytest.mark.parametrize(
    ("values", "moment"),
    [
        (("2026-08-01T10:00:00Z",), "2026-08-01T10:00:00+00:00"),
        (("2026-08-01T10:00:00+02:00",), "2026-08-01T08:00:00+00:00"),
        (("2026-08-01 10:00:00",), "2026-08-01T10:00:00+00:00"),
        (("2026-08-01",), "2026-08-01T00:00:00+00:00"),
        ((date(2026, 8, 1),), "2026-08-01T00:00:00+00:00"),
        ((None, "x", "", True, [], -1, 0, 1785578400000), "2026-08-01T10:00:00+00:00"),
        ((1785578400,), "2026-08-01T10:00:00+00:00"),
        ((float("inf"), float("nan"), "0001-01-01", "9999-12-31", 10**40, "2026-02-30"), None),
        ((), None),
    ],
)
def test_the_times_of_programs_are_read(values: tuple[object, ...], moment: str | None) -> None:
    """The first that is one; a time that stands for an unknown one is none."""
    read = said_at(*values)
    assert (read and read.isoformat()) == moment


@given(st.one_of(st.integers(), st.floats(), st.text(), st.datetimes(), st.binary(), st.none()))
def test_no_value_for_a_time_raises(value: object) -> None:
    """Whatever a program wrote."""
    moment = said_at(value)
    assert moment is None or moment.tzinfo is UTC


def dates(items: Iterable[Item | PastItem | Unreadable]) -> set[str]:
    """The days on which facts were said; "unknown" if a fact has no such day."""
    days = (item.last_confirmed_at for item in items if isinstance(item, FactDraft))
    return {f"{day:%Y-%m-%d}" if isinstance(day, datetime) else "unknown" for day in days}


@pytest.mark.requirement("TRU-03.3")
def test_facts_of_other_programs_keep_their_dates(mem0_stores: dict[str, Path], tmp_path: Path) -> None:
    """From each program that writes them; a fact without a readable date is kept, too."""
    for name in ("claude-mem", "mem0-history"):
        with closing(sqlite3.connect(tmp_path / f"{name}.db")) as connection:
            connection.executescript((DATA / f"{name}.sql").read_text())
    with closing(sqlite3.connect(tmp_path / "claude-mem.db")) as connection, connection:
        connection.execute("UPDATE observations SET created_at = '2026-08-01T10:00:00.000Z'")
        connection.execute(
            "UPDATE observations SET created_at = 'x', created_at_epoch = -1"
            " WHERE id = (SELECT max(id) FROM observations)"
        )
        connection.execute("UPDATE session_summaries SET created_at = 'x', created_at_epoch = 1785578400000")
    claude = list(IMPORTERS[ImportSource.CLAUDE_MEM](tmp_path / "claude-mem.db"))
    assert dates(claude) == {"2026-08-01", "unknown"}
    (episode,) = (item for item in claude if isinstance(item, EpisodeDraft))
    assert isinstance(episode.created_at, datetime)
    assert episode.created_at.isoformat() == "2026-08-01T10:00:00+00:00"
    for path in (tmp_path / "mem0-history.db", mem0_stores["qdrant"], mem0_stores["chroma"]):
        assert "unknown" not in dates(IMPORTERS[ImportSource.MEM0](path)), path
    note = tmp_path / "notes" / "a.md"
    note.parent.mkdir()
    note.write_text("---\ncreated: 2026-01-05\nmodified: 2026-09-14\n---\n- [status] Done\n\nSome prose.\n")
    assert dates(IMPORTERS[ImportSource.BASIC_MEMORY](note.parent)) == {"2026-09-14"}


@pytest.mark.requirement("TRU-02.5")
def test_tomorrow_of_another_program_is_the_day_after_its_date(tmp_path: Path) -> None:
    """In the zone of the settings; the text of an export has its dates already, or nobody knows them."""
    note = tmp_path / "notes" / "a.md"
    note.parent.mkdir()
    note.write_text("---\nmodified: 2026-09-14T23:30:00Z\n---\n- [status] Ships tomorrow\n")
    zones = (UTC, ZoneInfo("Europe/Berlin"))
    for zone, day in zip(zones, ("2026-09-15", "2026-09-16"), strict=True):
        read = read_source(ImportSource.BASIC_MEMORY, note.parent, zone)
        assert list(facts(read).values()) == [f"Ships tomorrow ({day})"]
    export = tmp_path / "export.jsonl"
    own = FactDraft(
        subject="A",
        predicate="b",
        content="Ships tomorrow",
        last_confirmed_at=datetime(2026, 9, 14, tzinfo=UTC),
    )
    export.write_text(json.dumps(exported_json(ExportedItem(item=own))))
    assert list(read_source(ImportSource.JSONL, export, UTC)) == [own]
