"""Exports in JSON, and databases whose rows hold what no program should write."""

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from commonplace.knowledge import EpisodeDraft, FactDraft
from commonplace.services.transfer.importers import ImportSource, conversations, read_source, source_of
from commonplace.services.transfer.items import EntityItem, Item, PastItem, Unreadable


def found(path: Path, source: ImportSource) -> list[Item | PastItem | Unreadable]:
    """Return what a reader found in the source that the path was detected as."""
    assert source_of(path) == source
    return list(read_source(source, path, UTC))


def summary(items: list[Item | PastItem | Unreadable]) -> list[str]:
    """Return one line for each item: the text, the name of an entity, or the place with the field of a problem."""
    lines: list[str] = []
    for item in items:
        match item:
            case EntityItem():
                lines.append(f"entity {item.name}")
            case Unreadable():
                lines.append(f"{item.place}: {item.reason.split(':')[0]}")
            case FactDraft() | EpisodeDraft():
                lines.append(item.content)
            case _:
                lines.append(repr(item))
    return lines


GRAPH = {
    "entities": [
        {"name": "Ines", "entityType": "person", "observations": ["Prefers metric units", None, " "]},
        {"name": "NoObs", "entityType": "Concept"},
        {"name": " ", "entityType": "Concept"},
        {"name": "N", "entityType": 5},
        {"name": "N", "entityType": "x", "observations": "text"},
        None,
        {"name": "Half \ud83d", "observations": []},
    ],
    "relations": [
        {"from": "Ines", "to": "NoObs", "relationType": "works_on"},
        {"from": "Ines", "to": None, "relationType": "works_on"},
    ],
}
READ = [
    *(
        "entity Ines",
        "Prefers metric units",
        "entity 1: observations",
        "entity 1: observations",
        "entity NoObs",
    ),
    *("entity 3: name", "entity 4: entityType", "entity 5: observations", "entity 6: entity"),
    *("entity Half \N{REPLACEMENT CHARACTER}", "Ines works_on NoObs", "relation 2: to"),
]


def test_a_graph_in_one_document(tmp_path: Path) -> None:
    """An entity without observations is an entity; a bad entry is lost alone, with its reason."""
    path = tmp_path / "memory.json"
    path.write_text(json.dumps(GRAPH))
    assert summary(found(path, ImportSource.MCP_MEMORY)) == READ
    path.write_text(json.dumps(GRAPH, indent=2)[:-5])
    assert summary(found(path, ImportSource.MCP_MEMORY)) == [
        "memory.json: expected a graph in JSON, or in lines of JSON"
    ]
    path.write_text('{"type": "entity", "name": "A", "entityType": "person"}\n{"type": "wish"}\n')
    assert summary(found(path, ImportSource.MCP_MEMORY)) == ["entity A", "line 2: entry"]


def chat(*turns: tuple[str, str], **fields: object) -> dict[str, Any]:
    """Return a conversation with ChatGPT of a single branch."""
    mapping: dict[str, Any] = {"root": {"id": "root", "parent": None, "message": None}}
    for number, (role, text) in enumerate(turns):
        content = {"content_type": "text", "parts": [text]}
        message = {"author": {"role": role}, "content": content, "create_time": 1700000000.0}
        parent = f"n{number - 1}" if number else "root"
        mapping[f"n{number}"] = {"id": f"n{number}", "parent": parent, "message": message}
    return {"title": "T", "mapping": mapping, "current_node": f"n{len(turns) - 1}", **fields}


def test_conversations_with_chatgpt(tmp_path: Path) -> None:
    """The branch that was seen last, without the system and tools; broken and empty ones are named."""
    branched = chat(("user", "First"), ("assistant", "Old"), ("assistant", "New"), title=None, id="c1")
    branched["mapping"]["n2"]["parent"] = "n0"
    circle = chat(("user", "Round"), create_time=1710000000.0)
    circle["mapping"]["root"]["parent"] = "n0"
    hidden = chat(
        ("system", "s"),
        ("user", "See\ue200cite\ue201 it"),
        ("tool", "t"),
        ("assistant", "Call"),
        current_node=5,
    )
    hidden["mapping"]["n1"]["message"]["content"]["parts"].append({"asset_pointer": "x"})
    hidden["mapping"]["n3"]["message"]["recipient"] = "python"
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([branched, None, chat(("system", "s")), circle, {"mapping": []}, hidden]))
    items = found(path, ImportSource.CONVERSATIONS)
    assert summary(items) == [
        *("User: First\n\nAssistant: New", "conversation 2: conversation", "conversation 3: conversation"),
        *("User: Round", "conversation 5: mapping", "User: See it"),
    ]
    first, second = (item for item in items[::3] if isinstance(item, EpisodeDraft))
    assert (first.butler, first.metadata) == ("conversations", {"source": "conversations"})
    assert first.created_at == datetime.fromtimestamp(1700000000, UTC)
    assert second.created_at == datetime.fromtimestamp(1710000000, UTC)
    assert first.session_id != second.session_id
    assert found(tmp_path, ImportSource.CONVERSATIONS) == items


def test_conversations_with_claude(tmp_path: Path) -> None:
    """The texts of the blocks, without thoughts and tools; the text of the message where there are none."""
    messages = [
        {"sender": "human", "text": "Hi", "created_at": "2026-05-01T10:00:00Z"},
        {
            "sender": "assistant",
            "text": "?",
            "content": [{"type": "tool_use"}, {"type": "text", "text": "Hello"}],
        },
        {"sender": "assistant", "text": " ", "content": []},
        5,
    ]
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([{"uuid": "u", "name": "", "created_at": None, "chat_messages": messages}]))
    (episode,) = found(path, ImportSource.CONVERSATIONS)
    assert isinstance(episode, EpisodeDraft)
    assert episode.content == "User: Hi\n\nAssistant: Hello"
    assert episode.created_at == datetime(2026, 5, 1, 10, 0, tzinfo=UTC)


def test_a_long_conversation_is_cut_between_turns(tmp_path: Path) -> None:
    """A turn that is longer than an episode is shortened."""
    turns = [
        ("user", "word " * 700),
        ("assistant", "word " * 600),
        ("user", "long " * 2000),
        ("assistant", "Ok"),
    ]
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([chat(*turns)]))
    items = [item for item in found(path, ImportSource.CONVERSATIONS) if isinstance(item, EpisodeDraft)]
    assert [item.content[:9] for item in items] == ["User: wor", "Assistant", "User: lon", "Assistant"]
    assert max(len(item.content) for item in items) <= conversations.MAX_CHARS
    assert len({item.session_id for item in items}) == 1


@pytest.mark.parametrize("wrap", [lambda memories: memories, lambda memories: {"results": memories}])
def test_an_export_of_mem0(tmp_path: Path, wrap: Any) -> None:  # noqa: ANN401 - a function of any value
    """Each memory is a fact about its owner, with its date; expired and bad ones are left out."""
    memories = [
        {"id": "1", "memory": "Likes tea", "user_id": "ada", "created_at": "2026-08-01T00:00:00-07:00"},
        {"text": "Speaks French", "agent_id": "guide", "updated_at": "1785578400"},
        {"data": None},
        "text",
        {"memory": "Is over", "expiration_date": "2020-01-01"},
    ]
    path = tmp_path / "export.json"
    path.write_text(json.dumps(wrap(memories)))
    items = found(path, ImportSource.MEM0)
    assert summary(items) == ["Likes tea", "Speaks French", "memory 3: memory", "memory 4: memory"]
    facts = [item for item in items if isinstance(item, FactDraft)]
    assert [fact.subject for fact in facts] == ["ada", "guide"]
    assert [f"{fact.last_confirmed_at:%Y-%m-%d %H}" for fact in facts] == ["2026-08-01 07", "2026-08-01 10"]


def test_rows_of_claude_mem_that_hold_something_else(tmp_path: Path) -> None:
    """They are lost alone; dates are read from any column; a missing project, type or table does no harm."""
    path = tmp_path / "claude-mem.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "CREATE TABLE observations (id, project, type, title, narrative, facts, created_on_date)"
        )
        connection.executemany(
            "INSERT INTO observations VALUES (?, ?, ?, ?, ?, ?, ?)",
            [
                (1, "shop", "fix", "Pool", None, '["Is 40"]', "2026-08-01"),
                (2, "shop", "fix", b"\xff", None, '["Lost"]', None),
                (3, None, None, None, "Told", "not json", None),
                (4, "", "x" * 300, "T" * 300, None, '[{"fact": "A"}, 5, null, " "]', None),
            ],
        )
        connection.execute(
            "INSERT INTO observations (id, title, facts) VALUES (5, CAST(x'ff41' AS TEXT), '[\"B\"]')"
        )
    items = found(path, ImportSource.CLAUDE_MEM)
    assert summary(items) == [
        *("Is 40", "observation 2: title", "Told", "observation 3: facts", "A"),
        *("observation 4: facts", "observation 4: facts", "B"),
    ]
    facts = [item for item in items if isinstance(item, FactDraft)]
    assert [fact.scope for fact in facts] == ["shop", "global", "global", "global"]
    assert facts[0].valid_from == datetime(2026, 8, 1, tzinfo=UTC)
    assert max(len(facts[2].subject), *(len(tag) for tag in facts[2].tags or ())) == 256


def test_a_history_of_mem0_with_other_values(tmp_path: Path) -> None:
    """A text that is none is lost alone."""
    path = tmp_path / "history.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE history (memory_id, new_memory, event, updated_at, created_at)")
        connection.executemany(
            "INSERT INTO history VALUES (?, ?, 'ADD', ?, NULL)", [(1, b"x", 5), (2, "Likes tea", "y")]
        )
    assert summary(found(path, ImportSource.MEM0)) == ["memory 1: memory", "Likes tea"]
