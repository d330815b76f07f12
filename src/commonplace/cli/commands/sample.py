"""``commonplace sample``: load or drop the sample memories of a home."""

from typing import Annotated

import typer

from commonplace.cli.frame.command import Answer, commands
from commonplace.cli.frame.run import settings
from commonplace.core.text import plural
from commonplace.services.opening import Memories
from commonplace.services.sample import SampleReceipt, drop, is_loaded, load

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Sample memories for trying the dashboard and the commands.",
)


@commands(app)("load")
async def load_sample(
    *,
    beside_others: Annotated[
        bool,
        typer.Option("--beside-others", help="Load the sample memories even if the home has other memories."),
    ] = False,
) -> Answer:
    """Store a small set of sample memories in all four memories."""
    async with Memories.open(settings()) as memories:
        receipt = await load(memories, beside_others=beside_others)
    return Answer(receipt, f"Loaded {_counts(receipt)}. Remove them with: commonplace sample drop")


@commands(app)("drop")
async def drop_sample() -> Answer:
    """Remove the sample memories; memories that you or your agents added stay."""
    async with Memories.open(settings()) as memories:
        was_loaded = await is_loaded(memories)
        receipt = await drop(memories)
    if not was_loaded and not receipt.total:
        return Answer(receipt, "The home has no sample memories.")
    return Answer(receipt, f"Removed {_counts(receipt)}.")


def _counts(receipt: SampleReceipt) -> str:
    return (
        f"{plural(receipt.total, 'sample memory', 'sample memories')} ({receipt.operational} operational, "
        f"{receipt.apps} in an app, {receipt.workspace} in the workspace, {receipt.knowledge} in knowledge memory)"
    )
