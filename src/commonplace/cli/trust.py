"""``commonplace trust``: trust in the ``commonplace.toml`` of a directory."""

import os
from pathlib import Path
from typing import Annotated

import typer

from commonplace.cli.command import Answer, commands
from commonplace.core import trust as trusted
from commonplace.core.errors import NotFoundError
from commonplace.core.settings import CONFIG_FILE, home_of, read_content

app = typer.Typer(add_completion=False)


@commands(app)()
async def trust(
    directory: Annotated[
        Path, typer.Argument(metavar="DIRECTORY", help="Its file is trusted.", show_default="this one")
    ] = Path(),
    *,
    revoke: Annotated[bool, typer.Option("--revoke", help="End the trust.")] = False,
) -> Answer:
    """Trust the commonplace.toml of a directory until it changes.

    Without trust, the file sets only what belongs to the workspace: a cloned repository cannot redirect your memories.
    Read the file first.
    """
    path = directory.absolute() / CONFIG_FILE
    if not path.is_file():
        raise NotFoundError("file", str(path))
    content, home = read_content(path), home_of(os.environ)
    (trusted.revoke if revoke else trusted.trust)(path, content, home=home)
    said = "is no longer trusted" if revoke else "is trusted until it changes"
    return Answer({"path": str(path), "trusted": not revoke}, f"{path} {said}")
