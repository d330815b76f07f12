"""``commonplace uninstall``: removes the changes of ``commonplace install``."""

import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import typer

from commonplace.cli.command import Answer, commands
from commonplace.cli.hosts.files import apply
from commonplace.cli.hosts.installation import Scope, plan_uninstall
from commonplace.cli.hosts.table import HOSTS, Host, Where
from commonplace.cli.install import ScopeOption, report
from commonplace.cli.output import DryRunOption
from commonplace.core.settings import load_settings

PLACES: Final = {Scope.PROJECT: "here", Scope.USER: "in the settings of the user"}

app = typer.Typer(add_completion=False, no_args_is_help=True)


def _command(host: Host) -> Any:  # noqa: ANN401 - a coroutine function
    async def uninstall(*, scope: ScopeOption = Scope.PROJECT, dry_run: DryRunOption = False) -> Answer:
        files = host.files(Where(scope=scope, project=Path.cwd(), environ=os.environ))
        plan = plan_uninstall(files, home=load_settings(read_current_directory=False).settings.home)
        if not dry_run:
            apply([*plan.files, *plan.notes])
            for directory in plan.directories:
                with suppress(OSError):
                    directory.rmdir()
        answer = report(plan.files, host, scope, dry_run=dry_run)
        if any(change.action != "keep" for change in plan.files):
            return answer
        hint = " For the settings of the user, add --scope user." if scope is Scope.PROJECT else ""
        return replace(answer, text=f"commonplace is not installed {PLACES[scope]} for {host.title}.{hint}")

    uninstall.__doc__ = (
        f"Remove commonplace from the settings of {host.title}; memories and other settings stay.\n\n"
        "A file that was not edited since the installation becomes exactly what it was before."
    )
    return uninstall


for _host in HOSTS.values():
    commands(app)(_host.name)(_command(_host))
