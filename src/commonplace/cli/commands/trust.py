"""``commonplace admin trust``: trust in the ``commonplace.toml`` of a directory."""

import os
from pathlib import Path
from typing import Annotated

import typer

from commonplace.cli.frame.command import Answer, commands
from commonplace.core import trust as trusted
from commonplace.core.errors import InvalidInputError
from commonplace.core.settings import CONFIG_FILE, check_content, home_of, read_content

app = typer.Typer(add_completion=False)


@commands(app)()
async def trust(
    directory: Annotated[
        Path,
        typer.Argument(
            metavar="DIRECTORY", help="The directory with the file to trust.", show_default="this one"
        ),
    ] = Path(),
    *,
    revoke: Annotated[bool, typer.Option("--revoke", help="Stop trusting the file.")] = False,
) -> Answer:
    """Trust the commonplace.toml in a directory until the file changes.

    Read the file first. Without trust, only its harmless settings take effect, so that a cloned repository cannot
    redirect your memories.
    """
    path = directory.absolute() / CONFIG_FILE
    if not path.is_file():
        raise InvalidInputError("directory", f"a directory with a {CONFIG_FILE}", str(directory.resolve()))
    content, home = read_content(path), home_of(os.environ)
    if revoke:
        said = "is no longer trusted" if trusted.revoke(path, content, home=home) else "was not trusted"
    else:
        check_content(path, content)
        trusted.trust(path, content, home=home)
        said = "is trusted until it changes"
    return Answer({"path": str(path), "trusted": not revoke}, f"{path} {said}")
