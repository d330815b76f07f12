"""``commonplace restore``: bring back a backup."""

from pathlib import Path
from typing import Annotated

import typer

from commonplace.cli.backup import describe
from commonplace.cli.command import Answer, commands
from commonplace.cli.run import settings
from commonplace.storage.backup.restoring import RestoreReceipt, restore

app = typer.Typer(add_completion=False)


def _describe(receipt: RestoreReceipt) -> str:
    lines = [f"restored {describe(receipt.backup)}"]
    lines += [f"a backup of what it replaced: {receipt.replaced}"] if receipt.replaced else []
    lines += [
        f"not in its workspace, which has other memories or is missing: {path}" for path in receipt.elsewhere
    ]
    return "\n".join(lines)


@commands(app)("restore")
async def bring_back(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The backup.")],
    *,
    replace: Annotated[
        bool,
        typer.Option("--replace", help="Replace the memories of this home; a backup of them is made first."),
    ] = False,
) -> Answer:
    """Restore a backup to this home.

    The backup is unpacked and checked first; a damaged one changes nothing. Workspace memory goes back to its
    directory, unless that has other memories. A PostgreSQL database with a URL must be empty.
    """
    receipt = await restore(settings(), file.absolute(), replace=replace)
    return Answer(receipt, _describe(receipt))
