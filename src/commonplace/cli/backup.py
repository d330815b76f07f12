"""``commonplace backup``: one file with all that a home knows."""

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from commonplace.cli.command import Answer, commands
from commonplace.cli.run import settings
from commonplace.core.clock import utc_now
from commonplace.core.text import plural
from commonplace.projects import Projects
from commonplace.storage.backup.taking import BackupReceipt, back_up

app = typer.Typer(add_completion=False)


def describe(receipt: BackupReceipt) -> str:
    """Return in words what a backup holds."""
    parts = [*receipt.databases, plural(receipt.files - len(receipt.workspaces), "file"), *receipt.workspaces]
    return (
        f"{receipt.file}: {receipt.size_bytes / 1000:,.0f} kB of {receipt.made_at}, with {', '.join(parts)}"
    )


@commands(app)()
async def backup(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="The backup, or a directory for one that is named by the time."),
    ],
    *,
    workspace: Annotated[
        list[Path] | None,
        typer.Option(help="A further directory whose workspace memory is copied; repeat it."),
    ] = None,
) -> Answer:
    """Copy all memories of this home to one compressed file, while they are in use.

    The file holds the state of one moment: operational, app and knowledge memory, tokens, the list of projects,
    transcripts, and the workspace memory of the current workspace and of all known projects. It is read again and
    checked before it gets its name. A backup that fails leaves no file.
    """
    configured = settings()
    projects = [project.path for project in Projects(configured.home).list_projects()]
    target = file / _name(utc_now()) if file.is_dir() else file
    receipt = await back_up(
        configured, target.absolute(), workspaces=[configured.workspace, *(workspace or []), *projects]
    )
    return Answer(receipt, describe(receipt))


def _name(now: datetime) -> str:
    return f"commonplace-{now:%Y%m%dT%H%M%SZ}.tar.gz"
