"""``commonplace admin plugin``: commonplace as a plugin of Claude Code."""

from pathlib import Path
from typing import Annotated

import typer

from commonplace.cli.commands.team import (
    ButlerOption,
    ProfileOption,
    ServerOption,
    TokenFileOption,
    ours_of,
    outage,
    service_at,
)
from commonplace.cli.frame.command import Answer, commands
from commonplace.core.errors import InvalidInputError
from commonplace.hosts.install.installation import commonplace_command
from commonplace.hosts.install.plugin import NAME, write_plugin
from commonplace.mcp.protocol.profiles import Profile

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
    butler: ButlerOption = None,
    server: ServerOption = None,
    token_file: TokenFileOption = None,
    profile: ProfileOption = Profile.AGENT,
) -> Answer:
    """Write a marketplace with a Claude Code plugin: the server, hooks, a skill and slash commands.

    The plugin replaces `commonplace install claude-code`, and adds /commonplace:recall, /commonplace:remember,
    /commonplace:forget and /commonplace:memory-review. Use one of the two. To share the plugin, pass
    `--command commonplace`, which is looked up on the PATH. With --server, the plugin uses the knowledge memory of a
    service.
    """
    service = service_at(server, token_file)
    if butler and service is None:
        raise InvalidInputError(
            "--butler", "no butler without --server, because the plugin uses the project", butler
        )
    hint = await outage(service) if service else ""
    directory = directory.absolute()
    words = [command] if command else commonplace_command()
    files = write_plugin(directory, ours_of(words, butler=butler, service=service, profile=profile))
    steps = [f"/plugin marketplace add {directory}", f"/plugin install {NAME}@{NAME}"]
    text = "\n".join(
        [
            *(f"wrote {path}" for path in files),
            "In Claude Code:",
            *(f"   {step}" for step in steps),
            *filter(None, [hint]),
        ]
    )
    return Answer({"files": files, "steps": steps}, text)
