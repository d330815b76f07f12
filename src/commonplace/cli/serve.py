"""``commonplace serve``: the service, on this machine only."""

from typing import Annotated

import typer

from commonplace.cli.run import run, settings
from commonplace.web.loopback import listen
from commonplace.web.serving import serve as serve_until_stopped

HOST = "127.0.0.1"
PORT = 8420

app = typer.Typer(add_completion=False, help="The service: REST and metrics over HTTP.")


@app.command()
def serve(
    *,
    host: Annotated[
        str, typer.Option(help="Where to listen: an address of this machine that no other can reach.")
    ] = HOST,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Which port; 0 takes any that is free.")] = PORT,
) -> None:
    """Serve the memories over HTTP until Ctrl-C or SIGTERM; what is under way is finished first."""
    run(serve_until_stopped(settings(), listen(host, port), on_ready=_announce))


def _announce(url: str) -> None:
    typer.echo(f"commonplace serves {url} (Ctrl-C stops it)", err=True)
