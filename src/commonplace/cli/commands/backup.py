"""``commonplace backup``: one file with all memories of a home."""

from pathlib import Path
from typing import Annotated, Final

import typer

from commonplace.cli.frame.command import Answer, commands
from commonplace.cli.frame.run import settings
from commonplace.core.clock import utc_now
from commonplace.core.errors import InvalidInputError
from commonplace.projects import Projects
from commonplace.storage.backup.copies import BACKUP_SUFFIXES
from commonplace.storage.backup.taking import BackupReceipt, back_up

OTHER_ARCHIVES: Final = frozenset({".7z", ".bz2", ".gz", ".tar", ".xz", ".zip", ".zst"})
"""Endings of names that nobody gives to a directory."""

app = typer.Typer(add_completion=False)


def describe(receipt: BackupReceipt) -> str:
    """Return a description of a backup."""
    return f"{receipt.file}: {receipt.size_bytes / 1000:,.0f} kB, made at {receipt.made_at}, with {receipt.contents}"


@commands(app)()
async def backup(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A file name that ends in .tar.gz or .tgz, or a directory for a file named by the time.",
        ),
    ],
    *,
    workspace: Annotated[
        list[Path] | None,
        typer.Option(help="Another directory whose workspace memory is copied. Repeatable."),
    ] = None,
    since: Annotated[
        Path | None,
        typer.Option(
            metavar="BASE",
            help="An earlier backup beside FILE. The new backup holds only the changes since BASE and needs BASE.",
        ),
    ] = None,
    parents: Annotated[bool, typer.Option("--parents", help="Create missing directories.")] = False,
) -> Answer:
    """Copy all memories of this home to one compressed file while they are in use.

    The backup holds the state at one moment: operational, app and knowledge memory, tokens, the list of projects,
    transcripts, and the workspace memory of the current workspace and of all known projects. The file is verified
    before it gets its name. A backup that fails leaves no file. A missing directory is refused without --parents,
    because it may be on a disk that is not mounted.
    """
    configured = settings()
    projects = [project.path for project in Projects(configured.home).list_projects()]
    target = _target(file)
    receipt = await back_up(
        configured,
        target.absolute(),
        workspaces=[configured.workspace, *(workspace or []), *projects],
        since=since,
        makes_parents=parents,
    )
    return Answer(receipt, describe(receipt))


def _target(given: Path) -> Path:
    """Return the file to write; a name without the ending of an archive means a directory.

    Raises:
        InvalidInputError: The name is that of another file, or ends like another kind of archive.
    """
    if given.name.endswith(BACKUP_SUFFIXES) and not given.is_dir():
        return given
    if not given.is_dir() and (given.exists() or given.suffix.lower() in OTHER_ARCHIVES):
        raise InvalidInputError("FILE", "a directory, or a name that ends in .tar.gz or .tgz", str(given))
    return given / f"commonplace-{utc_now():%Y%m%dT%H%M%SZ}.tar.gz"
