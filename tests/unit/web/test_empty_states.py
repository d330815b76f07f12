"""Commands that the pages of the dashboard name."""

import re
import shlex
from html import unescape

import click
import pytest
import typer.main

from commonplace.cli.main import app
from commonplace.web.dashboard.rendering import ENVIRONMENT

COMMAND = re.compile(r"""["'>](commonplace [^"<{]+)["<]""")
TEMPLATES = [name for name in ENVIRONMENT.list_templates() if name.endswith(".html")]


def named_commands() -> list[tuple[str, str]]:
    """Return each template with each command that its text names."""
    assert ENVIRONMENT.loader is not None
    sources = {name: ENVIRONMENT.loader.get_source(ENVIRONMENT, name)[0] for name in TEMPLATES}
    return [(name, unescape(text)) for name, source in sources.items() for text in COMMAND.findall(source)]


@pytest.mark.parametrize(("template", "text"), named_commands())
def test_every_command_that_a_page_names_exists(template: str, text: str) -> None:
    """The command line has each subcommand and accepts the words that follow."""
    words = shlex.split(text)[1:]
    command: click.Command = typer.main.get_command(app)
    context = click.Context(command)
    while words and isinstance(command, click.Group):
        name = words.pop(0)
        found = command.get_command(context, name)
        assert found is not None, f"{template} names {text!r}, but there is no {name!r}"
        command = found
    if words:
        command.make_context("named", words, resilient_parsing=False)
