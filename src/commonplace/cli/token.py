"""``commonplace token``: tokens for the service."""

import re
from datetime import datetime, timedelta
from typing import Annotated, Final

import typer

from commonplace.access import Role, Token, Tokens
from commonplace.cli.output import JsonOption, console, print_json, table
from commonplace.cli.run import settings, use
from commonplace.core.clock import format_timestamp, utc_now
from commonplace.core.context import DEFAULT_TENANT
from commonplace.core.errors import InvalidInputError

UNITS: Final = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_LIFETIME: Final = re.compile(rf"(\d{{1,6}})([{''.join(UNITS)}])")

app = typer.Typer(
    add_completion=False,
    help="Access tokens for the service.",
    no_args_is_help=True,
)


@app.callback()
def group() -> None:
    """Access tokens for the service."""


@app.command()
def create(
    *,
    role: Annotated[
        Role, typer.Option(help="reader reads, writer also stores and forgets, admin does everything.")
    ],
    tenant: Annotated[str, typer.Option(help="The tenant whose memories the token opens.")] = DEFAULT_TENANT,
    expires: Annotated[
        str | None, typer.Option(help="Lifetime, such as 12h, 30d or 8w.", show_default="no expiry")
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Name of the owner in the audit trail.", show_default="the role")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Create a token and print it. Only its hash is stored, so the token is shown once."""
    lifetime = None if expires is None else read_lifetime(expires)
    issued = use(
        Tokens.open(settings()),
        lambda tokens: tokens.create(role=role, tenant_id=tenant, name=name, lifetime=lifetime),
    )
    if as_json:
        print_json({"secret": issued.secret, **_shown(issued.token, utc_now())})
        return
    typer.echo(f"token {issued.token.id}: {issued.token.role} of tenant {issued.token.tenant_id}", err=True)
    typer.echo("The token is shown only once. Send it as: Authorization: Bearer <token>", err=True)
    typer.echo(issued.secret)


@app.command("list")
def list_tokens(*, as_json: JsonOption = False) -> None:
    """Print all tokens, also expired and revoked ones, without their secrets."""
    found, now = use(Tokens.open(settings()), lambda tokens: tokens.list_tokens()), utc_now()
    if as_json:
        print_json([_shown(token, now) for token in found])
        return
    if not found:
        typer.echo("No tokens. Create one: commonplace token create --role admin")
        return
    rows = (
        (
            token.id,
            token.name,
            token.tenant_id,
            token.role,
            token.state(now),
            _moment(token.expires_at),
            _moment(token.last_used_at),
        )
        for token in found
    )
    console().print(table("id", "name", "tenant", "role", "state", "expires", "last used", rows=rows))


@app.command()
def revoke(
    token_id: Annotated[int, typer.Argument(metavar="ID", help="The id that `token list` shows.")],
) -> None:
    """Revoke a token at once, with every browser session that was opened with it."""
    token = use(Tokens.open(settings()), lambda tokens: tokens.revoke(token_id))
    typer.echo(f"revoked token {token.id} ({token.name})")


def read_lifetime(text: str) -> timedelta:
    """Return the lifetime that a text such as ``30d`` names.

    Raises:
        InvalidInputError: The text is not a number followed by m, h, d or w.
    """
    found = _LIFETIME.fullmatch(text.strip().lower())
    if found is None:
        raise InvalidInputError("expires", "a number with a unit, such as 90m, 12h, 30d or 8w", text)
    return timedelta(**{UNITS[found[2]]: int(found[1])})


def _shown(token: Token, now: datetime) -> dict[str, object]:
    return {
        "id": token.id,
        "name": token.name,
        "tenant_id": token.tenant_id,
        "role": token.role,
        "state": token.state(now),
        "created_at": token.created_at,
        "expires_at": token.expires_at,
        "last_used_at": token.last_used_at,
        "revoked_at": token.revoked_at,
    }


def _moment(moment: datetime | None) -> str | None:
    return None if moment is None else format_timestamp(moment, precision="seconds")
