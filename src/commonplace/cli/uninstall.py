"""``commonplace uninstall``: takes out again what ``commonplace install`` put in."""

import os
from contextlib import suppress
from pathlib import Path

import typer

from commonplace.cli.claude_code.files import apply
from commonplace.cli.claude_code.installation import Places, Scope, plan_uninstall
from commonplace.cli.install import DryRunOption, ScopeOption, report
from commonplace.cli.output import JsonOption
from commonplace.core.settings import load_settings

app = typer.Typer(add_completion=False, help="Take out again what install put in.", no_args_is_help=True)


@app.callback()
def group() -> None:
    """Take out again what install put in."""


@app.command("claude-code")
def claude_code(
    *, scope: ScopeOption = Scope.PROJECT, dry_run: DryRunOption = False, as_json: JsonOption = False
) -> None:
    """Take servers, hooks and permissions out of Claude Code's settings; memories and everything else stay.

    What was there before installing is there again, to the byte where nobody else changed it.
    """
    places = Places.of(scope, project=Path.cwd(), environ=os.environ)
    plan = plan_uninstall(places, home=load_settings(read_current_directory=False).settings.home)
    if not dry_run:
        apply([*plan.files, *plan.notes])
        for directory in plan.directories:
            with suppress(OSError):
                directory.rmdir()
    report(plan.files, scope, dry_run=dry_run, as_json=as_json)
