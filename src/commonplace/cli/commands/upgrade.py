"""``commonplace admin upgrade``: upgrade of the tables, or a list of what it would change."""

from typing import Annotated

import typer

from commonplace.cli.frame.command import Answer, commands
from commonplace.cli.frame.run import settings
from commonplace.storage.backup.home_upgrade import pending_upgrades, upgrade_all

NOTHING = "All tables have the revisions of this release."
WARNING = (
    "Earlier releases cannot open upgraded tables; the only way back is a backup from before the upgrade."
)

app = typer.Typer(add_completion=False)


@commands(app)()
async def upgrade(
    *, check: Annotated[bool, typer.Option("--check", help="Only list the upgrades; change nothing.")] = False
) -> Answer:
    """Upgrade the tables of this home to this release, after a backup.

    The first command of a new release does the same. A database with a URL gets no backup: make one yourself first.
    """
    configured = settings()
    upgrades = await pending_upgrades(configured)
    backup = None if check else await upgrade_all(configured, upgrades)
    document = {"upgrades": upgrades, "backup": backup}
    if not upgrades:
        return Answer(document, NOTHING)
    text = "\n".join(each.line for each in upgrades)
    if check:
        return Answer(document, f"{text}\n{WARNING}")
    return Answer(document, text if backup is None else f"{text}\nbackup: {backup}")
