"""What people want from memory every day, and the command that they would guess, on a home with memories.

A newcomer should guess the command for most wishes without any help; where a guess is no command, the error names it.
"""

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.commands import CommandLine, CommandServer, Done

Run = Callable[[str], Done]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """A wish with the command lines that fulfil it, one after another.

    ``{fact}`` and ``{rule}`` are ids, ``{folder}`` is an empty directory.

    Attributes:
        shows: Text in what the last command prints.
        hides: Text that the last command does not print.
    """

    words: str
    lines: tuple[str, ...]
    shows: str
    hides: str = "error"


WISHES = (
    Wish(words="What does it know about Anna?", lines=("know Anna",), shows="Anna is on the search team"),
    Wish(words="Who is Ben?", lines=("show Ben",), shows="Ben owns the orders database"),
    Wish(words="Everything from yesterday", lines=("know --since yesterday",), shows="orders table"),
    Wish(
        words="Episodes of this week",
        lines=('list episodes --since "7 days ago"',),
        shows="Ben and Anna moved",
    ),
    Wish(words="List all rules", lines=("list rules",), shows="in small batches"),
    Wish(words="Lessons about a service", lines=("list lessons --service checkout",), shows="o:1 checkout"),
    Wish(words="How did this change?", lines=("history {fact}",), shows="Anna is on the checkout team"),
    Wish(words="What changed about Anna?", lines=("history Anna",), shows="Anna is on the checkout team"),
    Wish(words="What waits for me?", lines=("review",), shows="this rule r:"),
    Wish(
        words="What would an agent get for this prompt?",
        lines=('context --prompt "deploy of checkout" --butler sample',),
        shows="migration locks the orders table",
    ),
    Wish(
        words="Why did it show this?",
        lines=('context --why --prompt "deploy of checkout" --butler sample',),
        shows="Its match with the topic is",
    ),
    Wish(
        words="Remember this",
        lines=('add note "The cellar key is with Anna"', "know cellar"),
        shows="The cellar key is with Anna",
    ),
    Wish(
        words="Correct this",
        lines=('edit {fact} "Anna is on the billing team"', "know Anna"),
        shows="Anna is on the billing team",
        hides="Anna is on the search team",
    ),
    Wish(words="That is still true", lines=("confirm {fact}",), shows="confirmed {fact}"),
    Wish(
        words="Always tell it this",
        lines=("pin {rule}", 'context --prompt "lunch" --butler sample'),
        shows="## Pinned",
    ),
    Wish(
        words="Forget that",
        lines=("forget {fact}", "know Anna"),
        shows="Anna reads reports in English",
        hides="Anna is on the search team",
    ),
    Wish(
        words="Take that back",
        lines=("forget {fact}", "undo", "know Anna"),
        shows="Anna is on the search team",
    ),
    Wish(
        words="Delete everything about Ben",
        lines=("erase --subject Ben --yes", "know Ben"),
        shows="No memory covers this.",
    ),
    Wish(words="Connect Claude Code", lines=("install claude-code",), shows=".mcp.json"),
    Wish(
        words="Turn it off for this repository",
        lines=("install claude-code", "uninstall claude-code", "uninstall claude-code"),
        shows="commonplace is not installed here",
    ),
    Wish(words="Which projects does it know?", lines=("project list",), shows="No projects yet."),
    Wish(
        words="Stop using my account",
        lines=("consolidation allow ollama:x", "consolidation refuse"),
        shows="ollama:x may no longer consolidate sessions",
    ),
    Wish(words="Write it to files", lines=("export {folder}/memories",), shows="items in "),
    Wish(
        words="Read what another program knows",
        lines=("export {folder}/all.jsonl", "import {folder}/all.jsonl"),
        shows="0 new",
    ),
    Wish(words="Give me JSON", lines=("list facts --json",), shows='"short_id": "{fact}"'),
    Wish(words="Is it healthy?", lines=("doctor --no-model",), shows="knowledge memory"),
    Wish(words="Show the settings", lines=("config show",), shows="embedding_model"),
    Wish(words="Which version is it?", lines=("--version",), shows="commonplace 0."),
)


@pytest.fixture
def run(commonplace: CommandLine, knowledge_url: str) -> Run:
    """Runs a command line in a home with the sample memories."""

    def line(text: str) -> Done:
        return commonplace(*shlex.split(text), COMMONPLACE_POSTGRES_URL=knowledge_url, COLUMNS="200")

    assert line("sample load").status == 0
    return line


def id_of(run: Run, kind: str, text: str) -> str:
    """Return the id that commands print for the memory with a text."""
    return next(line.split()[0] for line in run(f"list {kind}").out.splitlines() if text in line)


@pytest.mark.requirement("ONE-02.2")
@pytest.mark.parametrize("wish", WISHES, ids=lambda wish: wish.words)
def test_a_wish_has_a_command_that_people_guess(wish: Wish, run: Run, tmp_path: Path) -> None:
    """And the command does it."""
    values = {
        "fact": id_of(run, "facts", "Anna is on the search team"),
        "rule": id_of(run, "rules", "in small batches"),
        "folder": str(tmp_path),
    }
    done = [run(line.format_map(values)) for line in wish.lines][-1]
    assert done.status == 0, done.err
    shows = wish.shows
    for name, value in values.items():
        shows = shows.replace(f"{{{name}}}", value)
    assert shows in done.out
    assert wish.hides not in done.out


@pytest.mark.requirement("ONE-02.2")
def test_a_copy_is_saved_and_moves_to_a_new_laptop(
    commonplace: CommandLine, command_server: CommandServer, tmp_path: Path
) -> None:
    """One file, and two commands."""
    copy = str(tmp_path / "copy.tar.gz")
    assert commonplace("add", "lesson", "Needs a restart at night", "--category", "behavior").status == 0
    assert commonplace("backup", copy).out.startswith(f"{copy}: ")
    laptop = CommandLine(commonplace.directory, tmp_path / "laptop", command_server)
    assert laptop("restore", copy).status == 0
    assert "Needs a restart at night" in laptop("list", "lessons").out


@pytest.mark.requirement("ONE-02.2")
def test_every_memory_of_a_briefing_has_a_reason(run: Run) -> None:
    """Lessons, digests, notes, facts and rules; a pinned rule also where it fits the prompt."""
    rule = id_of(run, "rules", "in small batches")
    run(f"pin {rule}")
    told = run('context --why --json --prompt "deploy of checkout" --app sample --butler sample').json
    reasons = {each["memory"]["id"]: each for each in told["reasons"]}
    named = {
        each
        for section in told["sections"]
        if section["name"] != "sessions"
        for each in section["memory_ids"]
    }
    assert named <= reasons.keys()
    assert {each["memory"]["kind"] for each in reasons.values()} == {
        "lesson",
        "digest",
        "note",
        "fact",
        "rule",
    }
    assert all(each["why"].endswith(".") for each in reasons.values())
    (pinned,) = (each["why"] for each in reasons.values() if each["memory"]["short_id"] == rule)
    assert pinned.startswith("It is pinned, so every prompt shows it.")


@pytest.mark.requirement("ONE-02.2", "SHW-01.1")
def test_reasons_are_those_of_the_ranking_in_the_order_of_the_text(run: Run) -> None:
    """A recent use does not rank in a briefing; a document has its place though the text shows a part of it."""
    document = f"{'Nothing was decided. ' * 90}The deploy of checkout needs two people. {'Nor here. ' * 90}"
    run(f'knowledge store-fact checkout minutes "{document}" --scope sample')
    run('knowledge recall "deploy of checkout" --scope sample')
    told = run('context --why --json --prompt "deploy of checkout" --butler sample').json
    (section,) = (each for each in told["sections"] if each["name"] == "knowledge")
    text = section["text"]
    assert "The deploy of checkout needs two people." in text
    shown = [each for each in told["reasons"] if each["memory"]["kind"] in {"fact", "rule"}]
    places = [text.index(f"[{each['memory']['short_id']}") for each in shown]
    assert places == sorted(places)
    assert any("recency 1.00 times 0," in each["why"] for each in shown)


@pytest.mark.requirement("ONE-02.3")
@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("lst", "list"),
        ("undoo", "undo"),
        ("search Anna", "know"),
        ("remember x", "add"),
        ("delete o:1", "forget"),
        ("status", "doctor"),
        ("settings", "config show"),
        ("version", "--version"),
        ("why", "context --why"),
        ("f:3k7q2", "show f:3k7q2"),
        ("o:12", "show o:12"),
        ("trust", "admin trust"),
        ("ops lst", "list"),
        ("knowledge pin f:3k7q2", "commonplace pin"),
        ("apps search x", "commonplace know"),
    ],
)
def test_a_wrong_word_is_answered_with_the_command(
    new_commonplace: CommandLine, typed: str, meant: str
) -> None:
    """On the top level and in groups; nothing is opened for it."""
    done = new_commonplace(*typed.split(), COLUMNS="200")
    assert (done.status, done.out) == (2, "")
    assert f"Did you mean {meant}?" in done.err
    assert not new_commonplace.home.exists()


@pytest.mark.requirement("ONE-02.3")
def test_a_word_like_no_command_is_refused_without_a_guess(new_commonplace: CommandLine) -> None:
    """A wrong guess would help nobody."""
    done = new_commonplace("xyzzy", COLUMNS="200")
    assert done.status == 2
    assert "No such command 'xyzzy'." in done.err
    assert "Did you mean" not in done.err
