"""Commands that the pages of the dashboard name."""

import re
import shlex
from html import unescape

import pytest
import typer.main
from typer.core import TyperGroup

from commonplace.cli.main import Commands, app
from commonplace.mcp.apps.tools import TOOLS as APP_TOOLS
from commonplace.mcp.knowledge.server import TOOLS as KNOWLEDGE_TOOLS
from commonplace.web.pages.layout.rendering import ENVIRONMENT
from commonplace.workspace.tools import TOOLS as WORKSPACE_TOOLS

COMMAND = re.compile(r""">(commonplace [^<]+)<|["'](commonplace [^"<]+)["<]""")
TOOL = re.compile(r"<code>((?:memory|entity|app)_[a-z_]+)</code>")
VALUE = re.compile(r"{{.*?}}")
TEMPLATES = [name for name in ENVIRONMENT.list_templates() if name.endswith(".html")]


def sources() -> dict[str, str]:
    """Return the text of each template."""
    assert ENVIRONMENT.loader is not None
    return {name: ENVIRONMENT.loader.get_source(ENVIRONMENT, name)[0] for name in TEMPLATES}


def named_commands() -> list[tuple[str, str]]:
    """Return each template with each command that its text names."""
    return [
        (name, unescape(VALUE.sub("1", in_element or in_attribute)))
        for name, source in sources().items()
        for in_element, in_attribute in COMMAND.findall(source)
    ]


@pytest.mark.parametrize(("template", "text"), named_commands())
def test_every_command_that_a_page_names_exists(template: str, text: str) -> None:
    """The command line has each subcommand and accepts the words that follow."""
    words = shlex.split(text)[1:]
    command = typer.main.get_command(app)
    context = typer.Context(command)
    while words and isinstance(command, TyperGroup):
        name = words.pop(0)
        found = command.get_command(context, name)
        assert found is not None, f"{template} names {text!r}, but there is no {name!r}"
        is_deferred = isinstance(command, Commands)
        command = typer.main.get_command(Commands.entries[name].load()) if is_deferred else found
    if words:
        command.make_context("named", words)


def test_every_tool_that_a_page_names_exists() -> None:
    """Of knowledge, workspace or app memory."""
    named = {(name, tool) for name, source in sources().items() for tool in TOOL.findall(source)}
    specs = (*KNOWLEDGE_TOOLS, *APP_TOOLS)
    tools = {spec.name for spec in specs} | {tool.name for tool in WORKSPACE_TOOLS}
    assert named
    assert not {each for each in named if each[1] not in tools}
