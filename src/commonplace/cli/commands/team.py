"""The service of a team, as named by command options."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from commonplace.core.errors import InvalidInputError, StorageUnavailableError
from commonplace.hosts.install.json_edits import OF_PROJECT, Ours
from commonplace.mcp.protocol.profiles import Profile
from commonplace.services.team_client import TeamClient

ButlerOption = Annotated[
    str | None, typer.Option(help="The butler of the sessions.", show_default="the id of the project")
]
ServerOption = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="Use the knowledge memory of the service at this address.",
        show_default="that of the home",
    ),
]
ProfileOption = Annotated[
    Profile,
    typer.Option(
        help="agent: eight tools over all memories. full: all tools, which cost 9,500 tokens in each request."
    ),
]
TokenFileOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="The file with the token for the service.")
]


def service_at(server: str | None, token_file: Path | None) -> TeamClient | None:
    """Return the service that options name, after reading its token; ``None`` if they name no service.

    Raises:
        InvalidInputError: Only one of the two is given, or the address is refused.
        SettingsError: The token cannot be read.
    """
    if server is None and token_file is None:
        return None
    if server is None or token_file is None:
        raise InvalidInputError("--server", "an address, together with --token-file", server)
    service = TeamClient.at(server, token_file.expanduser().absolute())
    service.token()
    return service


async def outage(service: TeamClient) -> str:
    """Return a hint for the user if the service does not answer now; otherwise an empty text.

    Raises:
        AccessError: The service refuses the token.
    """
    try:
        await service.sections(["knowledge"])
    except StorageUnavailableError as error:
        return f"{error}. Episodes of sessions wait in the home until the service answers."
    return ""


def ours_of(
    command: Sequence[str],
    *,
    hook_options: Sequence[str] = (),
    butler: str | None,
    service: TeamClient | None,
    profile: Profile = Profile.AGENT,
) -> Ours:
    """Return the commands of an installation that uses the given butler and service, if any."""
    named = ("--butler", butler) if butler else ()
    at = ("--server", service.url, "--token-file", str(service.token_file)) if service else ()
    return Ours(
        command=command,
        hook_options=(*hook_options, *named, *at),
        server_options=(*(named or OF_PROJECT), *at) if service else OF_PROJECT,
        profile=profile,
    )
