"""``commonplace pin``: show a fact or rule in every prompt of its scope."""

import typer

from commonplace.cli.catalog.opening import IdArgument, change_answer, opened_catalog
from commonplace.cli.frame.command import Answer, commands
from commonplace.services.catalog.catalog import Catalog

app = typer.Typer(add_completion=False)


@commands(app, opened_catalog)()
async def pin(catalog: Catalog, memory_id: IdArgument) -> Answer:
    """Show a fact or rule in every prompt of its scope."""
    return change_answer(await catalog.pin(memory_id))
