"""Commands as functions of an open memory, with answers printed as JSON or for people."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from inspect import Parameter, Signature, signature
from typing import Any, Final, TypeVar

import typer
from rich.console import Console
from rich.table import Table

from commonplace.cli.frame.output import JsonOption, console, print_json, table
from commonplace.cli.frame.run import run
from commonplace.core.parameter_groups import flat_parameters, gathered


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a command.

    Attributes:
        document: The value printed as one JSON document with ``--json``.
        text: The output for people: text, a table, or a function that prints.
        error: Why the command failed, with exit status 1. An empty text prints no message.
    """

    document: object
    text: str | Table | Callable[[Console], None] = ""
    error: str | None = None


_T = TypeVar("_T")
_Work = TypeVar("_Work", bound=Callable[..., Awaitable[Answer]])

_JSON: Final = Parameter("as_json", Parameter.KEYWORD_ONLY, default=False, annotation=JsonOption)


def commands(
    app: typer.Typer, opened: Callable[..., AbstractAsyncContextManager[Any]] | None = None
) -> Callable[..., Callable[[_Work], _Work]]:
    """Return a decorator that adds coroutine functions to a group as commands with the option ``--json``.

    Args:
        app: The group.
        opened: Opens the first argument of the functions. Its parameters are options of each command. Like the
            functions, it may take ``as_json``.

    A parameter of a function that is annotated with :class:`~commonplace.core.parameter_groups.BuiltBy` is built from
    options of its own; its builder takes the memory first.
    """
    shared = [] if opened is None else list(signature(opened).parameters.values())

    def command(name: str | None = None, *, hidden: bool = False) -> Callable[[_Work], _Work]:
        def add(work: _Work) -> _Work:
            own = flat_parameters(work)[opened is not None :]

            def called(**given: Any) -> None:  # noqa: ANN401 - what typer has parsed
                options = {each.name: given[each.name] for each in own}

                async def answered() -> Answer:
                    if opened is None:
                        return await work(**await gathered(work, options))
                    async with opened(**{each.name: given[each.name] for each in shared}) as memory:
                        return await work(memory, **await gathered(work, options, memory))

                show(run(answered()), as_json=given[_JSON.name])

            parameters = {each.name: each for each in (*own, *shared, _JSON)}
            called.__signature__ = Signature(  # type: ignore[attr-defined] - typer reads the options from it
                [each.replace(kind=Parameter.KEYWORD_ONLY) for each in parameters.values()]
            )
            called.__name__, called.__doc__ = work.__name__, work.__doc__
            app.command(name, hidden=hidden)(called)
            return work

        return add

    return command


def show(answer: Answer, *, as_json: bool) -> None:
    """Print an answer.

    Raises:
        typer.Exit: The command failed.
    """
    if as_json:
        print_json(answer.document)
    elif isinstance(answer.text, Table):
        console().print(answer.text)
    elif callable(answer.text):
        answer.text(console())
    elif answer.text:
        typer.echo(answer.text)
    if answer.error:
        typer.echo(f"error: {answer.error}", err=True)
    if answer.error is not None:
        raise typer.Exit(1)


def listing(
    name: str,
    found: Sequence[_T],
    columns: Sequence[str],
    row: Callable[[_T], Sequence[object]],
    *,
    if_empty: str,
    document: Callable[[_T], object] | None = None,
) -> Answer:
    """Return a list as an answer: as JSON, its length and its items under a name; for people, a table of the items.

    ``document`` returns an item as JSON, if it is more than the item's own form.
    """
    items = found if document is None else [document(each) for each in found]
    return Answer(
        {"count": len(found), name: items},
        lambda out: out.print(table(*columns, rows=map(row, found)) if found else if_empty),
    )
