"""``commonplace uninstall``: removes the changes of ``commonplace install``."""

import os
from contextlib import suppress
from pathlib import Path

import typer

from commonplace.cli.claude_code.files import apply
from commonplace.cli.claude_code.installation import Places, Scope, plan_uninstall
from commonplace.cli.command import Answer, commands
from commonplace.cli.install import DryRunOption, ScopeOption, report
from commonplace.core.settings import load_settings

app = typer.Typer(add_completion=False, no_args_is_help=True)


@app.callback()
def group() -> None:
    """Disconnect a client from the memories."""


@commands(app)("claude-code")
async def claude_code(*, scope: ScopeOption = Scope.PROJECT, dry_run: DryRunOption = False) -> Answer:
    """Remove the servers, hooks and permissions from Claude Code's settings; memories and other settings stay.

    The files become what they were before the installation, to the byte unless they were edited since.
    """
    places = Places.of(scope, project=Path.cwd(), environ=os.environ)
    plan = plan_uninstall(places, home=load_settings(read_current_directory=False).settings.home)
    if not dry_run:
        apply([*plan.files, *plan.notes])
        for directory in plan.directories:
            with suppress(OSError):
                directory.rmdir()
    return report(plan.files, scope, dry_run=dry_run)
