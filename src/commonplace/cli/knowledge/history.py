"""``commonplace knowledge diff``: the facts and rules that came and went."""

from typing import Annotated

import typer
from rich.console import Console

from commonplace.cli.frame.command import Answer, commands
from commonplace.cli.frame.output import shown
from commonplace.cli.knowledge.lists import LimitOption, OffsetOption
from commonplace.cli.knowledge.options import ScopeOption, about, opened
from commonplace.core.errors import InvalidInputError
from commonplace.core.json_values import json_safe
from commonplace.knowledge import MAX_LIMIT, KnowledgeMemory

app = typer.Typer()
command = commands(app, opened)


@command()
async def diff(
    memory: KnowledgeMemory,
    *,
    since: Annotated[
        str, typer.Option("--from", metavar="TIME", help="A date or a time, such as yesterday.")
    ],
    until: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="TIME",
            help="The later date or time; a day means its end.",
            show_default="now",
        ),
    ] = None,
    scope: ScopeOption = None,
    limit: LimitOption = MAX_LIMIT,
    offset: OffsetOption = 0,
) -> Answer:
    """Print the facts and rules that were added and removed between two moments."""
    try:
        changed = await memory.history.diff(since, until, scope=scope, limit=limit, offset=offset)
    except InvalidInputError as error:
        given = {"since": ("--from", since), "until": ("--to", until)}
        if error.field not in given:
            raise
        option, value = given[error.field]
        raise InvalidInputError(option, error.expected, value) from None

    def text(out: Console) -> None:
        lines = [("+", each) for each in changed.added] + [("-", each) for each in changed.removed]
        for sign, each in lines:
            out.print(f"{sign} {shown(about(each))}")
        if not lines:
            out.print("No fact or rule was added or removed.")

    return Answer(json_safe(changed), text)
