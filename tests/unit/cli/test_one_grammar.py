"""One grammar: five panels, one help line for each command, and the words of the glossary."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from commonplace.cli.frame.suggestions import SYNONYMS, unknown_command
from commonplace.cli.main import CHANGE, CONNECT, KEEP_SAFE, LOOK, OPERATE, Commands
from commonplace.hosts.install.registry import HOSTS

ROOT = Path(__file__).parents[3]
MOST_IN_PANEL = 7
OF_A_KIND = re.compile(r"\b(?:a|the|this|each|every) memory\b|\bmemories\b", re.IGNORECASE)
"""Words for a memory whose kind a command of one memory knows."""

ONE_KIND = frozenset({"ops", "apps", "workspace", "add"})
"""Commands that know the kind of their memories."""

NUMBER_SIGN = re.compile(r"#\d")
NAMED = re.compile(r"(?:`|\$ |: )commonplace (?!is |as )([a-z][a-z-]*(?: [a-z][a-z-]*)*)")
"""A command line in a message or in prose; another test runs the blocks of code."""


def walk(command: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:  # noqa: ANN401 - typer's
    """Yield a command and every command below it with the words that people type."""
    yield path, command
    for name, each in getattr(command, "commands", {}).items():
        yield from walk(each, (*path, name))


def every_command() -> list[tuple[tuple[str, ...], Any]]:
    """Return every command; those of hosts, which differ in the name of the host alone, count as one."""
    return [
        found
        for name, entry in Commands.entries.items()
        for found in walk(typer.main.get_command(entry.load()), (name,))
        if found[0][-1] not in HOSTS
    ]


EVERY = every_command()


def texts(command: Any) -> Iterator[str]:  # noqa: ANN401 - typer's
    """Yield the help of a command and of its options and arguments."""
    yield command.help or ""
    for parameter in command.params:
        yield getattr(parameter, "help", None) or ""


@pytest.mark.requirement("ONE-02.4")
def test_the_help_has_five_panels_of_at_most_seven_commands() -> None:
    """Other commands are hidden; the specified groups stand in one line below."""
    panels = Counter(entry.panel for entry in Commands.entries.values())
    assert list(panels) == [LOOK, CHANGE, CONNECT, KEEP_SAFE, OPERATE, None]
    assert all(number <= MOST_IN_PANEL for panel, number in panels.items() if panel)
    assert {"ops", "apps", "workspace", "knowledge", "mcp", "hook"} == {
        name for name, entry in Commands.entries.items() if entry.panel is None
    }


@pytest.mark.requirement("ONE-02.4")
def test_no_two_commands_have_the_same_help_line() -> None:
    """The same line twice is a second spelling of one thing."""
    lines = Counter((command.help or "").partition("\n")[0] for _, command in EVERY)
    lines.update(entry.help for name, entry in Commands.entries.items() if not _is_own_line(name, entry.help))
    assert {line for line, number in lines.items() if number > 1} == set()


def _is_own_line(name: str, line: str) -> bool:
    """Return whether the line in the list of commands is the help of the command itself."""
    return any(path == (name,) and (command.help or "").partition("\n")[0] == line for path, command in EVERY)


@pytest.mark.requirement("ONE-01.4")
def test_help_calls_each_kind_by_its_word() -> None:
    """A lesson, digest, note, fact or entity is no "memory" where the command knows its kind."""
    found = [
        (" ".join(path), text)
        for path, command in EVERY
        if path[0] in ONE_KIND and len(path) > 1
        for text in texts(command)
        if OF_A_KIND.search(text)
    ]
    assert found == []


@pytest.mark.requirement("ONE-01.4")
def test_help_has_no_ids_of_numbers() -> None:
    """An id says its kind: o:12, not #12."""
    assert [path for path, command in EVERY if any(map(NUMBER_SIGN.search, texts(command)))] == []


@pytest.mark.requirement("ONE-02.4")
def test_words_of_removal_mean_one_thing_each() -> None:
    """Forgetting can be undone; deleting, purging and erasing say that they are permanent."""
    for path, command in EVERY:
        text = " ".join(texts(command))
        match path[-1]:
            case "forget":
                assert "undo" in text or "audit trail keeps" in text, path
            case "delete" | "purge" | "erase":
                assert "permanently" in text, path
            case "restore":
                assert path == ("restore",)
            case _:
                pass


@pytest.mark.requirement("ONE-02.3")
def test_a_suggestion_is_a_command() -> None:
    """Every synonym leads to a command or option that exists, and is none itself."""
    paths = {" ".join(path) for path, _ in EVERY}
    for word, meant in SYNONYMS.items():
        assert word not in Commands.entries, word
        assert meant == "--version" or meant.removesuffix(" --why") in paths, word


@pytest.mark.requirement("ONE-02.4")
def test_every_command_that_a_text_names_exists() -> None:
    """In messages, docstrings and pages of the documentation."""
    paths = {path for path, _ in EVERY} | {
        (word, host) for word in ("install", "uninstall") for host in HOSTS
    }
    heads = {path[:length] for path in paths for length in range(1, len(path) + 1)}
    groups = {path[0] for path in paths if len(path) > 1}
    files = [*(ROOT / "src").rglob("*.py"), *(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
    wrong: list[tuple[str, str]] = []
    for file in files:
        if "adr" in file.parts:
            continue
        for named in NAMED.findall(file.read_text(encoding="utf-8")):
            words = tuple(named.split())
            if words[:1] not in heads or (words[0] in groups and words[:2] not in heads):
                wrong.append((str(file.relative_to(ROOT)), named))
    assert wrong == []


@pytest.mark.requirement("ONE-02.3")
@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("facts", "No such command 'facts'. Did you mean fact?"),
        ("Ada likes tea", "No such command 'Ada likes tea'. Expected one of fact, rule."),
        ("pin", "No such command 'pin'. Did you mean commonplace pin?"),
    ],
)
def test_a_wrong_word_in_a_group_is_answered_with_what_the_group_has(word: str, message: str) -> None:
    """The nearest command, a command of the top level, or all commands of a small group."""
    assert unknown_command(word, ["fact", "rule"], top_level=["pin", "add"], in_group=True) == message
