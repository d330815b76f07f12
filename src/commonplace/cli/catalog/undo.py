"""``commonplace undo``: undo the latest change."""

from typing import Annotated

import typer

from commonplace.cli.catalog.opening import change_answer, opened_catalog
from commonplace.cli.frame.command import Answer, commands
from commonplace.services.catalog.catalog import Catalog

app = typer.Typer(add_completion=False)


@commands(app, opened_catalog)()
async def undo(
    catalog: Catalog,
    memory_id: Annotated[
        str | None,
        typer.Argument(
            metavar="ID", help="Undo the latest change of this memory. Default: the latest change."
        ),
    ] = None,
) -> Answer:
    """Undo the latest change that add, edit, confirm, pin, unpin or forget made; again, the one before."""
    return change_answer(await catalog.undo(memory_id))
