"""``commonplace token``: tokens for the service."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Annotated

import typer
from rich.console import Console

from commonplace.access import Role, Token, Tokens
from commonplace.cli.frame.command import Answer, commands
from commonplace.cli.frame.output import table
from commonplace.cli.frame.run import settings
from commonplace.cli.frame.session_options import parse_span
from commonplace.core.clock import format_timestamp, utc_now
from commonplace.core.request_context import DEFAULT_TENANT

app = typer.Typer(add_completion=False, no_args_is_help=True)


command = commands(app, lambda: Tokens.open(settings()))


@command()
async def create(
    tokens: Tokens,
    *,
    role: Annotated[
        Role, typer.Option(help="reader: read; writer: also store and forget; admin: everything.")
    ],
    tenant: Annotated[
        str, typer.Option(help="The tenant whose memories the token gives access to.")
    ] = DEFAULT_TENANT,
    expires: Annotated[
        timedelta | None,
        typer.Option(
            parser=parse_span,
            metavar="SPAN",
            help="Lifetime, such as 12h, 30d or 8w.",
            show_default="no expiry",
        ),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Name of the owner in the audit trail.", show_default="the role")
    ] = None,
) -> Answer:
    """Create a token and print it. Only its hash is stored, so the token is shown once."""
    issued = await tokens.create(role=role, tenant_id=tenant, name=name, lifetime=expires)

    def text(_: Console) -> None:
        token = issued.token
        typer.echo(f"token {token.id}: {token.role} of tenant {token.tenant_id}", err=True)
        typer.echo("The token is shown only once. Send it as: Authorization: Bearer <token>", err=True)
        typer.echo(issued.secret)

    return Answer({"secret": issued.secret, **_shown(issued.token, utc_now())}, text)


@command("list")
async def list_tokens(tokens: Tokens) -> Answer:
    """Print all tokens, including expired and revoked tokens, without their secrets."""
    found, now = await tokens.list_tokens(), utc_now()
    rows = [
        (
            *(token.id, token.name, token.tenant_id, token.role, token.state(now)),
            *map(_moment, (token.expires_at, token.last_used_at)),
        )
        for token in found
    ]
    columns = ("id", "name", "tenant", "role", "state", "expires", "last used")
    no_tokens = "No tokens. Create one: commonplace token create --role admin"
    return Answer([_shown(token, now) for token in found], table(*columns, rows=rows) if rows else no_tokens)


@command()
async def revoke(
    tokens: Tokens,
    token_id: Annotated[int, typer.Argument(metavar="ID", help="The id that `token list` shows.")],
) -> Answer:
    """Revoke a token at once, and end every browser session that was opened with it."""
    token = await tokens.revoke(token_id)
    return Answer(_shown(token, utc_now()), f"revoked token {token.id} ({token.name})")


def _shown(token: Token, now: datetime) -> Mapping[str, object]:
    return asdict(token) | {"state": token.state(now)}


def _moment(moment: datetime | None) -> str | None:
    return None if moment is None else format_timestamp(moment, precision="seconds")
