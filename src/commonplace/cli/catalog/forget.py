"""``commonplace forget``: remove memories from every search and prompt."""

from typing import Annotated

import typer

from commonplace.cli.catalog.opening import change_answer, opened_catalog
from commonplace.cli.frame.command import Answer, commands
from commonplace.services.catalog.catalog import Catalog

app = typer.Typer(add_completion=False)


@commands(app, opened_catalog)()
async def forget(
    catalog: Catalog,
    ids: Annotated[
        list[str], typer.Argument(metavar="ID", help="IDs as commands print them, such as f:3k7q2 or o:12.")
    ],
) -> Answer:
    """Remove memories from every search and prompt; `commonplace undo` brings them back within 30 days.

    To delete everything about a subject permanently: commonplace erase.
    """
    for each in ids:
        await catalog.show(each)  # An unknown ID forgets nothing.
    return change_answer(*[await catalog.forget(each) for each in ids])
