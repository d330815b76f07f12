"""Notes with front matter that is not valid YAML, vaults, and the memory folders of agent hosts."""

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from commonplace.knowledge import FactDraft, RuleDraft
from commonplace.services.transfer.importers import ImportSource, read_source, source_of
from commonplace.services.transfer.items import EntityItem, Item, PastItem, Unreadable
from commonplace.services.transfer.markdown_notes import split_front_matter

WRITTEN_AT = datetime(2026, 9, 1, 8, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("block", "fields", "problems"),
    [
        (
            "due: 2026-02-30\ntitle: A",
            {"due": "2026-02-30", "title": "A"},
            ["due: day is out of range for month; kept as text"],
        ),
        (
            "title: Runbook: cache (part: two)",
            {"title": "Runbook: cache (part: two)"},
            ["title: expected YAML: mapping values"],
        ),
        ('title: "He said "no" twice"', {"title": 'He said "no" twice'}, ["title: "]),
        ("title: 'it's'", {"title": "it's"}, ["title: "]),
        ('title: "A" and "B"', {"title": '"A" and "B"'}, ["title: "]),
        (
            "root: `D:\\bin`\ntype: note",
            {"root": "`D:\\bin`", "type": "note"},
            ["root: expected YAML: found character"],
        ),
        ("title: *Draft* pitch", {"title": "*Draft* pitch"}, ["title: "]),
        ("title: [Draft] pitch", {"title": "[Draft] pitch"}, ["title: "]),
        (
            "x: !!python/object/apply:os.system ['x']\na: b",
            {"a": "b"},
            ["x: expected YAML: could not determine"],
        ),
        (f"x: {'[' * 3000}\na: b", {"a": "b"}, ["x: nested too deeply; left out"]),
        ("[" * 3000, {}, ["front matter: expected fields"]),
        ("x: &a [*a]\na: b", {"x": "&a [*a]", "a": "b"}, ["x: expected YAML: an alias"]),
        ("type: {{type}}\ntitle: <% tp.file.title %>\na: b", {"a": "b"}, []),
        ("tags:\n- a\n- {{b}}\n- c: d: e", {"tags": ["a", "c: d: e"]}, []),
        ("metadata:\n  type: user\n  x: a: b", {"metadata": {"type": "user", "x": "a: b"}}, ["metadata.x: "]),
        ("a: !!int ''\nb: !!bool x\nc: d", {"c": "d"}, ["a: ", "b: "]),
        ("text: long\n  and wrapped: here\na: b", {"text": "long and wrapped: here", "a": "b"}, ["text: "]),
        ("tags: 2026\nn: 007\nyes: no\nempty:", {"tags": "2026", "n": "007", "yes": "no"}, []),
        ("at: 2026-9-4 1:00:00", {"at": "2026-09-04T01:00:00"}, []),
    ],
)
def test_a_bad_field_costs_that_field_alone(
    block: str, fields: dict[str, object], problems: list[str]
) -> None:
    """One line in the report names it. What can be kept as text is; templates count as absent."""
    found, text, reasons = split_front_matter(f"---\n{block}\n---\nThe body")
    assert (found, text) == (fields, "The body")
    assert len(reasons) == len(problems)
    for reason, start in zip(reasons, problems, strict=True):
        assert reason.startswith(start)


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("---\n\nprose\n\n---\nmore", "---\n\nprose\n\n---\nmore"),
        ("---\na: b\n---\n\n---\nprose\n---\n", "---\nprose\n---"),
        ("---\na: b\n", "---\na: b"),
        ("---\n---\nbody", "body"),
    ],
)
def test_prose_between_rules_is_no_front_matter(text: str, body: str) -> None:
    """It stays in the text."""
    assert split_front_matter(text)[1] == body


def write(folder: Path, files: dict[str, str | bytes]) -> Path:
    """Write files that were changed last at 2026-09-01, and return their folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        os.utime(path, (WRITTEN_AT.timestamp(), WRITTEN_AT.timestamp()))
    return folder


def found(path: Path, source: ImportSource) -> list[Item | PastItem | Unreadable]:
    """Return what a reader found in the source that the path was detected as."""
    assert source_of(path) == source
    return list(read_source(source, path, UTC))


def facts(items: list[Item | PastItem | Unreadable]) -> list[FactDraft]:
    """Return the facts among items."""
    return [item for item in items if isinstance(item, FactDraft)]


VAULT: dict[str, str | bytes] = {
    "colon.md": "---\ntitle: Cache: flush\n---\n- [step] Flush it\n",
    "double.md": "---\npermalink: p/d\n---\n\n---\ntitle: Double\ntags: [ops]\n---\n- [limit] 512 MB\n",
    "bom.md": "\ufeff---\r\ntitle: Mark\r\ntags: 2026\r\n---\r\n- [enc] Begins with a mark\r\n",
    "utf16.md": "---\ntitle: Wide\n---\n- [enc] Is wide #deep #1\n".encode("utf-16"),
    "date.md": "---\ndue: 2026-02-30\ncreated: 2026-03-01\n---\n- [step] Has a date\n",
    "latin.md": "---\ntitle: Größe\n---\n".encode("latin-1"),
    "links.md": "- requires [[Cache|it]] (always)\n- See [[Cache#part]] and [[Disk]], not ![[x.png]] or `[[code]]`\n",
    ".obsidian/hidden.md": "- [a] hidden\n",
    ".trash/gone.md": "- [a] gone\n",
}


def test_a_vault_is_read_whatever_its_notes_hold(tmp_path: Path) -> None:
    """One bad note never stops the others; hidden folders are left out; a note without tags gets none."""
    (tmp_path / "folder.md").mkdir()
    (tmp_path / "gone.md").symlink_to(tmp_path / "nowhere")
    items = found(write(tmp_path, VAULT), ImportSource.BASIC_MEMORY)
    assert [item.name for item in items if isinstance(item, EntityItem)] == [
        *("Mark", "Cache: flush", "date", "Double", "links", "Wide")
    ]
    assert [(fact.content, fact.tags) for fact in facts(items)] == [
        ("Begins with a mark", ("2026",)),
        ("Flush it", ()),
        ("Has a date", ()),
        ("512 MB", ("ops",)),
        ("links requires Cache (always)", ()),
        ("links links_to Cache", ()),
        ("links links_to Disk", ()),
        ("- See [[Cache#part]] and [[Disk]], not ![[x.png]] or `[[code]]`", ()),
        ("Is wide #1", ("deep",)),
    ]
    refused = [(item.place, item.reason.split(":")[0]) for item in items if isinstance(item, Unreadable)]
    assert refused == [
        *(
            ("colon.md", "title"),
            ("date.md", "due"),
            ("folder.md", "file"),
            ("gone.md", "file"),
            ("latin.md", "text"),
        )
    ]
    days = {fact.subject: fact.last_confirmed_at for fact in facts(items)}
    assert (days["date"], days["Mark"]) == (datetime(2026, 3, 1, tzinfo=UTC), WRITTEN_AT)


def test_a_date_to_come_is_not_when_a_note_was_written(tmp_path: Path) -> None:
    """The fact would not hold yet."""
    write(tmp_path, {"trip.md": "---\ndate: 2199-01-01\n---\n- [plan] Go by train\n"})
    (fact,) = facts(found(tmp_path, ImportSource.BASIC_MEMORY))
    assert (fact.valid_from, fact.last_confirmed_at) == (None, None)


CLAUDE: dict[str, str | bytes] = {
    "MEMORY.md": "- [Small commits](feedback_small.md) — one concern\n",
    "feedback_small.md": (
        "---\nname: small-commits\ndescription: One concern\nmetadata: \n  node_type: memory\n  type: feedback\n"
        "  originSessionId: 6f0e9a0c-0e11-4a3c-9c58-3f0de4b0a001\n  modified: 2026-09-02T11:20:41.120Z\n---\n\n"
        "Keep one concern a commit. See [[freeze]].\n"
    ),
    "freeze.md": '---\nname: freeze\ndescription: "Main is "frozen" now"\nmetadata:\n  type: project\n---\n\nFrozen.\n',
    "empty.md": "---\nname: board\ndescription: The board is on port 3000\nmetadata:\n  type: reference\n---\n",
    "user_role.md": "No front matter at all\n",
    "nothing.md": "---\nname: nothing\n---\n",
}


def test_the_memory_of_claude_code(tmp_path: Path) -> None:
    """Feedback becomes a rule, the rest facts by type; the index is no memory; every file is read."""
    items = found(write(tmp_path, CLAUDE), ImportSource.CLAUDE_MEMORY)
    (rule,) = (item for item in items if isinstance(item, RuleDraft))
    assert rule.content == "Keep one concern a commit. See [[freeze]]."
    assert rule.last_confirmed_at == datetime(2026, 9, 2, 11, 20, 41, 120000, tzinfo=UTC)
    assert rule.metadata == {
        "name": "small-commits",
        "description": "One concern",
        "type": "feedback",
        "originSessionId": "6f0e9a0c-0e11-4a3c-9c58-3f0de4b0a001",
    }
    assert [(fact.subject, fact.predicate, fact.content) for fact in facts(items)] == [
        ("board", "reference", "The board is on port 3000"),
        ("freeze", "project", "Frozen."),
        ("user_role", "user", "No front matter at all"),
    ]
    assert {fact.last_confirmed_at for fact in facts(items)} == {WRITTEN_AT}
    refused = [(item.place, item.reason.split(":")[0]) for item in items if isinstance(item, Unreadable)]
    assert refused == [("freeze.md", "description"), ("nothing.md", "text")]
    assert source_of(tmp_path / "freeze.md") == ImportSource.CLAUDE_MEMORY


CODEX: dict[str, str | bytes] = {
    "MEMORY.md": (
        "# Task Group: shop checkout\n\nscope: The checkout.\napplies_to: cwd=/repos/shop; reuse_rule=safe\n\n"
        "## Task 1: Move the field, success\n\n### rollout_summary_files\n\n"
        "- rollout_summaries/2026-01-02T09-00-00-abcd-field.md (cwd=/repos/shop, thread_id=t1)\n\n"
        "### keywords\n\n- coupon, checkout\n\n## User preferences\n\n"
        "- Show the sum by hand [Task 1]\n\n## Reusable knowledge\n\n- Rules live in helper.py (cwd=/repos/shop)\n\n"
        "---\nrollout_summary_files:\n  - a.md (success, cwd=/x)\ndescription: infra work\nkeywords: k1, k2\n---\n\n"
        "- Timers need Persistent=true\n"
    ),
    "memory_summary.md": (
        "v1\n\n## User Profile\n\nWorks on shops.\n\n## What's in Memory\n\n### /repos/shop\n\n- coupon: k1, k2\n"
        "  - desc: search here\n"
    ),
    "rollout_summaries/2026-07-08T05-43-27-sv7Q-prefill.md": (
        "thread_id: 019f4040-a9de-7fd3-8a80-5811f694f023\nupdated_at: 2026-07-10T11:07:42+00:00\n"
        "rollout_path: /home/x/rollout.jsonl\ncwd: /home/x\ngit_branch: main\n\n"
        "# Replayed the trace\n\nContext: the agent.\n\n"
        "## Task 1: Diagnose\nOutcome: success\n\n- The server has /metrics\n"
    ),
    "raw_memories.md": "- never this\n",
}


def test_the_memory_of_codex(tmp_path: Path) -> None:
    """Facts from a document; what Codex notes for its own searches is not in them."""
    items = found(write(tmp_path, CODEX), ImportSource.CODEX_MEMORY)
    assert len(facts(items)) == len(items)
    assert {fact.source for fact in facts(items)} == {"document"}
    assert [
        (fact.subject, fact.predicate.rpartition(" ")[0] or fact.predicate, fact.content)
        for fact in facts(items)
    ] == [
        ("shop checkout", "note", "scope: The checkout."),
        ("shop checkout", "user preferences", "Show the sum by hand"),
        ("shop checkout", "reusable knowledge", "Rules live in helper.py"),
        ("infra work", "note", "Timers need Persistent=true"),
        ("memory summary", "user profile", "Works on shops."),
        ("Replayed the trace", "summary", "Context: the agent."),
        ("Replayed the trace", "Task 1:", "Outcome: success\n\n- The server has /metrics"),
    ]
    assert facts(items)[-1].last_confirmed_at == datetime(2026, 7, 10, 11, 7, 42, tzinfo=UTC)
