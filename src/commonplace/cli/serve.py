"""``commonplace serve``: the service, on this machine only unless there are tokens."""

from typing import Annotated

import typer

from commonplace.cli.run import run, settings
from commonplace.web.loopback import is_loopback, listen
from commonplace.web.security import SecurityOptions
from commonplace.web.serving import serve as serve_until_stopped

HOST = "127.0.0.1"
PORT = 8420

app = typer.Typer(add_completion=False, help="The service: dashboard, REST, MCP and metrics over HTTP.")


@app.command()
def serve(
    *,
    host: Annotated[
        str,
        typer.Option(
            help="Where to listen. At an address that others can reach, every request needs a token."
        ),
    ] = HOST,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Which port; 0 takes any that is free.")] = PORT,
    allowed_host: Annotated[
        list[str] | None,
        typer.Option(help="A name under which the service is reached; once for each. Needs a token."),
    ] = None,
    trusted_proxy: Annotated[
        list[str] | None,
        typer.Option(help="Address or network of a proxy in front; once for each. Needs a token."),
    ] = None,
    require_token: Annotated[
        bool, typer.Option("--require-token", help="Ask for a token on this machine too.")
    ] = False,
    worker: Annotated[
        bool, typer.Option("--worker/--no-worker", help="Whether background work runs in this process too.")
    ] = True,
) -> None:
    """Serve the memories over HTTP until Ctrl-C or SIGTERM; what is under way is finished first."""
    security = SecurityOptions(
        login_required=require_token or bool(allowed_host or trusted_proxy) or not is_loopback(host),
        allowed_hosts=tuple(allowed_host or ()),
        trusted_proxies=tuple(trusted_proxy or ()),
    )
    listener = listen(host, port)
    run(serve_until_stopped(settings(), listener, security=security, worker=worker, on_ready=_announce))


def _announce(url: str) -> None:
    typer.echo(f"commonplace serves {url} (Ctrl-C stops it)", err=True)
