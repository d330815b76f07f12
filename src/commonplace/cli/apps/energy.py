"""``commonplace admin energy``: the budget of work that app memory may do in a while."""

from typing import Annotated

import typer
from rich.console import Console

from commonplace.apps import CatchUp
from commonplace.cli.apps.opening import opened_with_model, opened_without_model
from commonplace.cli.apps.output import compaction_line, receipt_lines
from commonplace.cli.frame.command import Answer, commands
from commonplace.cli.frame.output import table

app = typer.Typer(add_completion=False)


@commands(app)()
async def energy(
    *,
    catch_up: Annotated[
        bool, typer.Option("--run", help="Make the waiting digests while energy lasts.")
    ] = False,
) -> Answer:
    """Print the energy for digests and the digests that wait for it."""
    async with opened_with_model() if catch_up else opened_without_model() as memory:
        caught_up = await memory.digests.run_deferred() if catch_up else CatchUp(digests=(), compactions=())
        status, waiting = await memory.energy.status(), await memory.digests.waiting()

    def text(out: Console) -> None:
        digests = map(receipt_lines, caught_up.digests)
        for line in (*digests, *map(compaction_line, caught_up.compactions)):
            out.print(line)
        low = "; digests wait until the level is above 20 %" if status.low else ""
        out.print(f"energy {status.level:g} of {status.capacity:g} units ({status.share:.0%}){low}")
        rows = [(one.app_id, one.conversation_id, one.state, one.reason) for one in waiting]
        columns = ("app", "conversation", "state", "reason")
        out.print(table(*columns, rows=rows) if rows else "No waiting digests.")

    return Answer({"energy": status, "waiting": waiting, "caught_up": caught_up}, text)
