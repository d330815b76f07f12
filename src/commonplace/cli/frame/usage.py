"""Help formatting: flags show no value, options show the name of their value, paragraphs fill the terminal."""

import inspect
import os
import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, cast

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from commonplace.cli.frame.streams import decoded_argument
from commonplace.cli.frame.suggestions import unknown_command
from commonplace.core.faults import expected_by
from commonplace.core.quoting import quoted

if TYPE_CHECKING:
    _Base = TyperCommand
else:
    _Base = object

VALUE_NAMES: Final = {
    "bool": "",
    "float": "NUMBER",
    "int": "NUMBER",
    "path": "PATH",
    "Path": "PATH",
    "str": "TEXT",
}
"""Names of values by typer's type names; other types are lists of choices, which are shown unchanged."""

_FILES: Final = re.compile(r"\b(?:FILE|PATH|DIR|DIRECTORY|TARGET)\b")


def _decoded(parameter: Any, value: Any) -> Any:  # noqa: ANN401 - what typer has parsed
    """Return the value of a parameter with its texts decoded, because bytes that are no text must not be stored.

    The name of a file may have any bytes.

    Raises:
        typer.BadParameter: The value is no text.
    """
    if isinstance(value, list | tuple):
        return [_decoded(parameter, each) for each in cast("list[Any]", value)]
    if not isinstance(value, str) or _FILES.search(parameter.metavar or ""):
        return value
    text = decoded_argument(value)
    if text is None:
        raise typer.BadParameter(f"expected text in UTF-8, got {os.fsencode(value)!r}", param=parameter)
    return text


@contextmanager
def _in_our_form() -> Generator[None]:
    """Word the error of an invalid value as all errors of commonplace: the expected value and the value found."""
    try:
        yield
    except typer.BadParameter as error:
        found = getattr(error.__cause__, "errors", None)
        if found is not None:
            fault = found()[0]
            error.message = _message(fault)
        raise


def _message(fault: Mapping[str, Any]) -> str:
    if "error" in fault.get("ctx", {}):
        said = str(fault["ctx"]["error"]).removesuffix(".")
        _, is_choice, choices = said.partition(" is not one of ")
        if not is_choice:
            return said
        choices = choices.replace("'", '"')
        return f"expected one of {choices}, got {quoted(fault['input'])}"
    return f"expected {expected_by(fault)}, got {quoted(fault['input'])}"


class _Option(TyperOption):
    def process_value(self, ctx: Any, value: Any) -> Any:  # noqa: ANN401 - the signature is typer's
        """Return the converted value."""
        with _in_our_form():
            return _decoded(self, super().process_value(ctx, value))

    def display_type(self, ctx: Any) -> str:  # noqa: ANN401 - the signature is typer's
        """Return the name of the value, or the choices."""
        return _value_name(super().display_type(ctx))


class _Argument(TyperArgument):
    def process_value(self, ctx: Any, value: Any) -> Any:  # noqa: ANN401 - the signature is typer's
        """Return the converted value."""
        with _in_our_form():
            return _decoded(self, super().process_value(ctx, value))

    def display_type(self, ctx: Any) -> str:  # noqa: ANN401 - the signature is typer's
        """Return the choices; the name of an argument already describes its value."""
        shown = _value_name(super().display_type(ctx))
        return "" if shown in VALUE_NAMES.values() else shown

    def get_usage_pieces(self, ctx: Any) -> list[str]:  # noqa: ANN401, ARG002 - the signature is typer's
        """Return the name, in brackets if the argument is optional."""
        name = self.display_name_raw
        return [(name if self.required else f"[{name}]") + ("..." if self.nargs != 1 else "")]


def _value_name(shown: str) -> str:
    name = shown.strip("<>").removeprefix("list[").removesuffix("]").removesuffix(" range")
    return VALUE_NAMES.get(name, name)


class _NamedValues(_Base):
    """A command whose help names values, and whose paragraphs break where the terminal ends."""

    def __init__(self, *arguments: Any, **attributes: Any) -> None:  # noqa: ANN401 - typer's
        super().__init__(*arguments, **attributes)
        paragraphs = inspect.cleandoc(self.help or "").split("\n\n")
        self.help = "\n\n".join(each.replace("\n", " ") for each in paragraphs) or None

    def get_params(self, ctx: Any) -> list[Any]:  # noqa: ANN401 - the signature is typer's
        """Return the options and arguments; typer creates them, so their class is changed here."""
        parameters = super().get_params(ctx)
        for each in parameters:
            cast("Any", each).__class__ = _Argument if isinstance(each, TyperArgument) else _Option
        return parameters


class Command(_NamedValues, TyperCommand):
    """A command."""


class CommandGroup(_NamedValues, TyperGroup):
    """A group of commands."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401 - the signature is typer's
        """Return the command that the first word names; for another word, suggest the nearest commands."""
        word = args[0]
        if self.get_command(ctx, word) is None and not word.startswith("-") and not ctx.resilient_parsing:
            top = ctx.find_root().command
            ctx.fail(
                unknown_command(
                    word,
                    _listed(self),
                    top_level=_listed(top) if isinstance(top, TyperGroup) else (),
                    in_group=ctx.parent is not None,
                )
            )
        return super().resolve_command(ctx, args)


def _listed(group: TyperGroup) -> list[str]:
    return [name for name, command in group.commands.items() if not command.hidden]


def use_in(app: typer.Typer) -> None:
    """Make all commands of a group and its subgroups show their values by name and suggest the nearest command."""
    app.info.cls = CommandGroup
    for command in app.registered_commands:
        if command.cls is TyperCommand:
            command.cls = Command
    for group in app.registered_groups:
        if group.typer_instance is not None:
            use_in(group.typer_instance)
