"""``commonplace serve``: the service; other machines need tokens to use it."""

import gc
from functools import partial
from typing import Annotated

import typer

from commonplace.cli.frame.run import run, settings
from commonplace.core.sources import Source
from commonplace.web.http.loopback import is_loopback, listen
from commonplace.web.http.security import SecurityOptions
from commonplace.web.serving import serve as serve_until_stopped

HOST = "127.0.0.1"
PORT = 8420

app = typer.Typer(add_completion=False)


@app.command()
def serve(
    *,
    host: Annotated[
        str,
        typer.Option(
            help="Address to listen on. If other machines can reach the address, every request needs a token."
        ),
    ] = HOST,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0 chooses a free one.")
    ] = PORT,
    allowed_host: Annotated[
        list[str] | None,
        typer.Option(help="Host name of the service. Requests then need a token. Repeatable."),
    ] = None,
    trusted_proxy: Annotated[
        list[str] | None,
        typer.Option(help="Address or network of a reverse proxy. Requests then need a token. Repeatable."),
    ] = None,
    require_token: Annotated[
        bool, typer.Option("--require-token", help="Require a token for requests from this machine too.")
    ] = False,
    worker: Annotated[
        bool, typer.Option("--worker/--no-worker", help="Run background work in this process.")
    ] = True,
    drain: Annotated[
        float,
        typer.Option(
            min=0,
            help="Seconds after SIGTERM during which /healthz returns 503 but requests are still accepted.",
        ),
    ] = 0.0,
) -> None:
    """Serve the memories over HTTP until Ctrl-C or SIGTERM. Running requests are finished first."""
    security = SecurityOptions(
        login_required=require_token or bool(allowed_host or trusted_proxy) or not is_loopback(host),
        allowed_hosts=tuple(allowed_host or ()),
        trusted_proxies=tuple(trusted_proxy or ()),
    )
    listener = listen(host, port)
    run(
        serve_until_stopped(
            settings(),
            listener,
            security=security,
            worker=worker,
            drain_s=drain,
            on_ready=partial(_announce, security=security),
        ),
        of=Source.AGENT,
    )


def _announce(url: str, *, security: SecurityOptions) -> None:
    # Modules and routes live as long as the process. A full collection that visits all of them takes 0.1 s, during
    # which no request is answered.
    gc.freeze()
    typer.echo(f"commonplace is listening on {url} (press Ctrl-C to stop)", err=True)
    if security.trusted_proxies:
        limit = security.rate_limits.per_token.replace("/", " requests a ")
        typer.echo(
            f"This process allows a token {limit}. Several services behind one proxy count separately.",
            err=True,
        )
