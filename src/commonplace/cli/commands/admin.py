"""``commonplace admin``: work that is rare, or that programs do."""

import typer

from commonplace.cli.apps import energy
from commonplace.cli.commands import clock, host, plugin, trust, upgrade
from commonplace.cli.knowledge import dead_letters, partitions

app = typer.Typer(add_completion=False, no_args_is_help=True)


@app.callback()
def group() -> None:
    """Rare work on an installation.

    Hosts call `commonplace hook` and `commonplace mcp`; nobody needs to type them.
    """


app.add_typer(clock.app)
app.add_typer(trust.app)
app.add_typer(upgrade.app)
app.add_typer(plugin.app)
app.add_typer(host.app, name="host", help="Sessions of a butler: a minimal agent host with memory.")
app.add_typer(energy.app)
app.add_typer(dead_letters.app)
app.add_typer(partitions.app, name="partitions")
