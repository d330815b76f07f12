"""``commonplace edit``: change the text of a memory."""

from typing import Annotated

import typer

from commonplace.cli.catalog.opening import IdArgument, change_answer, opened_catalog
from commonplace.cli.frame.command import Answer, commands
from commonplace.cli.frame.output import AllowSecrets
from commonplace.services.catalog.catalog import Catalog

app = typer.Typer(add_completion=False)


@commands(app, opened_catalog)()
async def edit(
    catalog: Catalog,
    memory_id: IdArgument,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The new text.")],
    *,
    allow_secrets: AllowSecrets = False,
) -> Answer:
    """Correct the text of a memory.

    The text of a fact is what stands after its subject and predicate; of an entity, its name. A fact or rule gets a new
    ID, and the old ID leads to it.
    """
    return change_answer(await catalog.edit(memory_id, text, allow_secrets=allow_secrets))
