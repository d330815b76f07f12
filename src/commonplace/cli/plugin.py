"""``commonplace plugin``: commonplace as a plugin of Claude Code."""

from pathlib import Path
from typing import Annotated

import typer

from commonplace.cli.command import Answer, commands
from commonplace.cli.hosts.installation import commonplace_command
from commonplace.cli.hosts.plugin import NAME, write_plugin

app = typer.Typer(add_completion=False)

CommandOption = Annotated[
    str | None,
    typer.Option(help="The program that runs commonplace.", show_default="the path of this installation"),
]


@commands(app)()
async def plugin(
    directory: Annotated[Path, typer.Argument(metavar="DIRECTORY", help="A new or empty directory.")],
    *,
    command: CommandOption = None,
) -> Answer:
    """Write a marketplace with a plugin of Claude Code: servers, hooks, a skill and slash commands.

    The plugin does what `commonplace install claude-code` does, and adds /commonplace:recall, /commonplace:remember,
    /commonplace:forget and /commonplace:memory-review. Use one of the two. To share it, pass
    `--command commonplace`, which is looked up on the PATH.
    """
    directory = directory.absolute()
    files = write_plugin(directory, [command] if command else commonplace_command())
    steps = [f"/plugin marketplace add {directory}", f"/plugin install {NAME}@{NAME}"]
    text = "\n".join(
        [*(f"wrote {path}" for path in files), "In Claude Code:", *(f"   {step}" for step in steps)]
    )
    return Answer({"files": files, "steps": steps}, text)
