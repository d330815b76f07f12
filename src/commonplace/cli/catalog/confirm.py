"""``commonplace confirm``: say that a memory still holds, so that it does not fade."""

import typer

from commonplace.cli.catalog.opening import IdArgument, change_answer, opened_catalog
from commonplace.cli.frame.command import Answer, commands
from commonplace.services.catalog.catalog import Catalog

app = typer.Typer(add_completion=False)


@commands(app, opened_catalog)()
async def confirm(catalog: Catalog, memory_id: IdArgument) -> Answer:
    """Say that a memory still holds, so that it does not fade."""
    return change_answer(await catalog.confirm(memory_id))
