"""The reference names what there is, and the navigation has every page."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import typer.main

from commonplace.cli.main import Commands
from commonplace.core.settings import Settings, variable_of
from commonplace.hosts.install.registry import HOSTS

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"
COMMON = {"--json", "--help", "--tenant", "--allow-secrets"}
"""Options that the page explains once."""


def leaves(command: object, path: tuple[str, ...]) -> Iterator[tuple[str, set[str]]]:
    """Yield every command below a group as it is typed, with its options."""
    subcommands = getattr(command, "commands", {})
    for name, each in subcommands.items():
        yield from leaves(each, (*path, name))
    if not subcommands or getattr(command, "invoke_without_command", False):
        parameters = getattr(command, "params", ())
        options = (parameter for parameter in parameters if parameter.param_type_name == "option")
        spelt = {word for option in options for word in (*option.opts, *option.secondary_opts)}
        yield " ".join(path), {word for word in spelt if word.startswith("--")}


def arguments_of(command: object, path: str) -> Iterator[tuple[str, list[str | None]]]:
    """Yield every command below a group as it is typed, with the words that its help has for its arguments."""
    for name, each in getattr(command, "commands", {}).items():
        yield from arguments_of(each, f"{path} {name}")
    parameters = getattr(command, "params", ())
    yield path, [each.metavar for each in parameters if each.param_type_name == "argument"]


def all_commands() -> dict[str, set[str]]:
    """Return every command of the command line with its options; the commands of the hosts count as one."""
    found: dict[str, set[str]] = {}
    for name, entry in Commands.entries.items():
        for command, options in leaves(typer.main.get_command(entry.load()), ("commonplace", name)):
            path, _, last = command.rpartition(" ")
            found.setdefault(path if last in HOSTS else command, set()).update(options)
    return found


def rows(page: str) -> Iterator[list[str]]:
    """Yield the cells of every row of a page's tables."""
    for line in (REFERENCE / page).read_text(encoding="utf-8").splitlines():
        if line.startswith("| `") or re.match(r"\| (R-)?[A-Z]{3}-", line):
            yield [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def test_every_command_is_there_with_its_options() -> None:
    """And nothing that does not exist; arguments are in capitals."""
    shown: dict[str, set[str]] = {}
    for cells in rows("commands.md"):
        command = " ".join(word for word in re.sub(r"[\[\]`]", "", cells[0]).split() if word.islower())
        shown.setdefault(command, set()).update(re.findall(r"--[a-z-]+", cells[2]))
    commands = all_commands()
    assert shown.keys() == commands.keys()
    for command, options in commands.items():
        assert shown[command] - COMMON == options - COMMON, command


def test_arguments_are_in_capitals_in_the_help_too() -> None:
    """Without brackets of their own, for the help puts its own around them."""
    for name, entry in Commands.entries.items():
        for command, arguments in arguments_of(typer.main.get_command(entry.load()), name):
            for argument in arguments:
                assert re.fullmatch(r"[A-Z|-]+( [A-Z]+)?", argument or ""), command


def test_every_page_is_in_the_navigation() -> None:
    """A page that is not there is built, and nobody finds it."""
    listed = re.findall(r"[\w/.-]+\.md$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    pages = [str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")]
    assert sorted(listed) == sorted(pages)


def test_every_public_name_is_in_the_python_reference() -> None:
    """Each package with public names has its directive; the pages get the names from there."""
    pages = [page.read_text(encoding="utf-8") for page in (REFERENCE / "python").glob("*.md")]
    directives = {line.removeprefix("::: ") for page in pages for line in page.splitlines()}
    packages = [
        ".".join(stub.parent.relative_to(ROOT / "src").parts)
        for stub in (ROOT / "src").rglob("__init__.pyi")
        if stub.parent.name not in {"commonplace", "workers"}  # their names are also in the others
    ]
    assert set(packages) - directives == set()


def test_every_setting_is_there_with_its_variable_and_default() -> None:
    """Defaults that depend on the machine or on other settings are in words."""
    shown = {cells[0].strip("`"): cells[1:3] for cells in rows("settings.md")}
    assert shown.keys() == Settings.model_fields.keys()
    for name, field in Settings.model_fields.items():
        variable, default = shown[name]
        assert variable.strip("`") == variable_of(name)
        if isinstance(field.default, bool | int | float):
            assert json.loads(default.strip("`")) == field.default, name
