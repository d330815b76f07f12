"""Command groups that are imported when called, so that ``--help`` and each command start fast."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, ClassVar, cast

import typer.main
from typer.core import TyperCommand

from commonplace.cli.frame import usage


@dataclass(frozen=True, slots=True)
class CommandEntry:
    """A command.

    Attributes:
        module: Its module in this package, which has the attribute ``app``.
        help: Its line in the list of commands.
        panel: The panel of the list that shows it; without a panel, the list leaves it out.
    """

    module: str
    help: str
    panel: str | None = None

    def load(self) -> typer.Typer:
        """Import the command; a group without its own help gets the line of the list."""
        app = cast("typer.Typer", import_module(f"commonplace.cli.{self.module}").app)
        if app.registered_callback is None:
            app.info.help = app.info.help or self.help
        usage.use_in(app)
        return app


class _Deferred(TyperCommand):
    """A placeholder in the list that loads the real command when called."""

    def __init__(self, name: str, entry: CommandEntry) -> None:
        super().__init__(name, help=entry.help, rich_help_panel=entry.panel, hidden=entry.panel is None)
        self._entry = entry

    def make_context(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - the signature is typer's
        """Load the module and run its command."""
        return built(self._entry).make_context(*args, **kwargs)


@cache
def built(entry: CommandEntry) -> Any:  # noqa: ANN401 - typer's own class of commands
    """Import a command and build its parser, once in a process and its forks."""
    return typer.main.get_command(entry.load())


class LazyGroup(usage.CommandGroup):
    """A group with a table of commands; set ``entries`` in a subclass, in the order of the list."""

    entries: ClassVar[Mapping[str, CommandEntry]] = {}

    def __init__(self, **attributes: Any) -> None:  # noqa: ANN401 - typer's
        super().__init__(**attributes)
        for name, entry in self.entries.items():
            self.add_command(_Deferred(name, entry))

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401, ARG002 - the signature is typer's
        """Return the names in the order of the table."""
        return list(self.commands)
