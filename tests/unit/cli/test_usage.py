"""Help of commands, and completion in shells."""

from collections.abc import Iterator
from typing import Any

import pytest
import typer.main
from typer.testing import CliRunner

from commonplace.cli.main import Commands, app


def helps(command: Any, name: str, parent: object = None) -> Iterator[tuple[str, str]]:  # noqa: ANN401 - typer's
    """Yield the help of a command and of every command below it."""
    context = command.context_class(
        command, info_name=name, parent=parent, help_option_names=["--help", "-h"]
    )
    with context:
        usage = " ".join(command.collect_usage_pieces(context))
        values = [each.display_type_rich(ctx=context) for each in command.get_params(context)]
        yield context.command_path, " ".join([usage, *values])
    for word, each in getattr(command, "commands", {}).items():
        yield from helps(each, word, context)


def completed(*words: str) -> list[str]:
    """Return what bash offers for the last word."""
    found = CliRunner().invoke(
        app,
        prog_name="commonplace",
        env={
            "_COMMONPLACE_COMPLETE": "complete_bash",
            "COMP_WORDS": " ".join(("commonplace", *words)),
            "COMP_CWORD": str(len(words)),
        },
    )
    return found.output.split()


def test_help_names_values() -> None:
    """No type of Python and no braces are shown."""
    for name, entry in Commands.entries.items():
        for command, shown in helps(typer.main.get_command(entry.load()), name):
            assert not set(shown) & set("<>{}"), command
            assert not set(shown.split()) & {"bool", "str", "int", "float", "path"}, command


def test_help_of_a_group_says_what_it_does_without_a_command() -> None:
    """Its own text is shown, not its line in the list of commands."""
    shown = CliRunner().invoke(app, ["install", "--help"], env={"COLUMNS": "200"}).output
    assert "Without a host, find the hosts on this machine and ask" in shown


def test_paragraphs_of_the_help_fill_the_terminal() -> None:
    """Their lines end where the terminal ends, not where the lines of the code do."""
    shown = CliRunner().invoke(app, ["import", "--help"], env={"COLUMNS": "300"}).output
    (line,) = [each for each in shown.splitlines() if "An import can be repeated" in each]
    assert "another text replaces that fact, which stays as superseded." in line


def test_help_shows_no_value_for_flags() -> None:
    """Options have the name of their value; arguments have it as their name."""
    shown = CliRunner().invoke(app, ["knowledge", "search", "--help"], env={"COLUMNS": "200"}).output
    assert "Usage: commonplace knowledge search [OPTIONS] QUERY" in shown.replace(
        "Usage: root", "Usage: commonplace"
    )
    lines = {line.split()[1]: line.split()[2:] for line in shown.splitlines() if line.startswith("│ --")}
    assert lines["--limit"][0] == "NUMBER"
    assert lines["--scope"][0] == "TEXT"
    assert lines["--explain"][0] == "Explain"


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["kn"], {"know"}),
        (["knowledge", "store-"], {"store-episode", "store-fact", "store-rule"}),
        (["knowledge", "store-fact", "a", "b", "c", "--perm"], {"--permanence"}),
        (["ops", "list", "--sort", "re"], {"recency"}),
        (["review", "7", "sa"], {"same"}),
    ],
)
def test_shells_complete(words: list[str], offered: set[str]) -> None:
    """Commands of every depth, options and choices."""
    assert set(completed(*words)) == offered


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command prints the script of a shell."""
    monkeypatch.setenv("_COMMONPLACE_COMPLETE", f"source_{shell}")
    shown = CliRunner().invoke(app, prog_name="commonplace")
    assert shown.exit_code == 0
    assert f"_COMMONPLACE_COMPLETE=complete_{shell}" in shown.output


def test_a_wrong_choice_is_the_beginning_of_its_message() -> None:
    """Of an argument and of an option."""
    for words in (("get", "xyz", "abc"), ("search", "abc", "--type", "xyz")):
        shown = CliRunner().invoke(app, ["knowledge", *words], env={"COLUMNS": "200"}).output
        assert ': expected one of "episode", "fact", "rule", got "xyz"' in shown
        assert "Value error" not in shown


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--limit", "0", 'expected a number of at least 1, got "0"'),
        ("--limit", "99999999", 'expected a number of at most 1000000, got "99999999"'),
        ("--limit", "x", 'expected a whole number, got "x"'),
        ("--category", "x", 'expected one of "timing", "dependency"'),
    ],
)
def test_an_invalid_value_is_refused_in_the_form_of_all_errors(option: str, value: str, said: str) -> None:
    """The message says what was expected and what was found."""
    refused = CliRunner().invoke(app, ["ops", "list", option, value], env={"COLUMNS": "200"})
    assert refused.exit_code == 2
    assert f"Invalid value for '{option}': {said}" in refused.output
    assert "Input should be" not in refused.output
