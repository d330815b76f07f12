"""``commonplace history``: the changes of a memory, and the facts about a name over time."""

import typer

from commonplace.cli.catalog.opening import IdOrNameArgument, opened_catalog
from commonplace.cli.frame.command import Answer, commands, listing
from commonplace.services.catalog.catalog import Catalog
from commonplace.services.sync.actors import actor_in_words

app = typer.Typer(add_completion=False)


@commands(app, opened_catalog)()
async def history(catalog: Catalog, memory_id: IdOrNameArgument) -> Answer:
    """Show when a memory was stored, changed, confirmed or replaced, and by whom, oldest first.

    With a name, show the facts about the person or thing in the order in which they became true.
    """
    steps = await catalog.history(memory_id)
    return listing(
        "steps",
        steps,
        ("time (UTC)", "change", "by", "text"),
        lambda step: (step.at, step.event.replace("_", " "), actor_in_words(step.actor), step.text),
        if_empty="No changes.",
    )
