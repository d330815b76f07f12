"""``commonplace restore``: restore a backup."""

from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from commonplace.cli.commands.backup import describe
from commonplace.cli.frame.command import Answer, commands
from commonplace.cli.frame.run import settings
from commonplace.hosts.hooks.sessions import SessionRecords
from commonplace.storage.backup.copies import MEMORIES
from commonplace.storage.backup.restoring import RestoreReceipt, restore

app = typer.Typer(add_completion=False)


def _describe(receipt: RestoreReceipt) -> str:
    lines = [f"restored {describe(receipt.backup)}"]
    lines += [f"backup of the replaced memories: {receipt.replaced}"] if receipt.replaced else []
    for each in receipt.elsewhere:
        target = each.workspace / MEMORIES
        copy = f"mkdir -p {quote(str(target.parent))} && cp {quote(str(each.file))} {quote(str(target))}"
        lines += [
            f"the memories of {each.workspace} were not restored there: {each.reason}",
            f"   the memories are in {each.file}; to use them: {copy}",
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

    The backup is unpacked, checked and loaded first; a restore that fails changes nothing. Workspace memory returns
    to its directory, unless the directory has other memories. A PostgreSQL database with a URL must be empty.
    Sessions that began after the backup are learned again.
    """
    configured = settings()
    receipt = await restore(configured, file.absolute(), replace=replace)
    records = SessionRecords(configured.home)
    async with records.locked():
        for path in receipt.newer:
            records.forget_reading(path.stem)
    return Answer(receipt, _describe(receipt))
