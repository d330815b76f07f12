"""``commonplace uninstall``: removes the changes of ``commonplace install``."""

import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import typer

from commonplace.cli.commands.install import ScopeOption, report
from commonplace.cli.frame.command import Answer, commands, show
from commonplace.cli.frame.output import DryRunOption
from commonplace.cli.frame.question import confirmed
from commonplace.cli.frame.run import run
from commonplace.core.errors import SettingsError
from commonplace.core.settings import load_settings
from commonplace.hosts.install.files import apply
from commonplace.hosts.install.install_record import noted_files
from commonplace.hosts.install.installation import InstallationPlan, InstallScope, plan_uninstall
from commonplace.hosts.install.registry import HOSTS, AgentHost, Where

PLACES: Final = {InstallScope.PROJECT: "here", InstallScope.USER: "in the settings of the user"}

app = typer.Typer(add_completion=False)


@app.callback(invoke_without_command=True)
def group(context: typer.Context, *, dry_run: DryRunOption = False) -> None:
    """Disconnect agent hosts from the memories. Without a host, find the installations and ask about each.

    The command finds installations in this directory and in the settings of the user, and names those of other
    projects. Memories and other settings stay.
    """
    if context.invoked_subcommand is None:
        show(run(_offer(dry_run=dry_run)), as_json=False)


async def _offer(*, dry_run: bool) -> Answer:
    """Remove the installations that the user confirms, and name the files of all others."""
    texts: list[str] = []
    removed: set[Path] = set()
    for host in HOSTS.values():
        for scope in InstallScope:
            try:
                plan = _plan(host, scope)
            except SettingsError as error:
                texts.append(f"skipped {host.title} ({scope}): {error}")
                continue
            question = f"Remove commonplace from {host.title} ({scope})?"
            if plan.changes and (dry_run or await confirmed(question)):
                texts.append(str(_carry_out(plan, host, scope, dry_run=dry_run).text))
                removed |= {change.path for change in plan.changes}
    if others := [str(path) for path in noted_files(_home()) if path not in removed]:
        texts.append("\n   ".join(["commonplace is still installed in", *others]))
    return Answer(None, "\n".join(texts) or "commonplace is installed neither here nor anywhere else.")


def _command(host: AgentHost) -> Any:  # noqa: ANN401 - a coroutine function
    async def uninstall(
        *, scope: ScopeOption = InstallScope.PROJECT, dry_run: DryRunOption = False
    ) -> Answer:
        plan = _plan(host, scope)
        answer = _carry_out(plan, host, scope, dry_run=dry_run)
        if plan.changes:
            return answer
        hint = " For the settings of the user, add --scope user." if scope is InstallScope.PROJECT else ""
        return replace(answer, text=f"commonplace is not installed {PLACES[scope]} for {host.title}.{hint}")

    uninstall.__doc__ = (
        f"Remove commonplace from the settings of {host.title}; memories and other settings stay.\n\n"
        "A file that was not edited since the installation becomes exactly what it was before."
    )
    return uninstall


def _home() -> Path:
    return load_settings(read_current_directory=False).settings.home


def _plan(host: AgentHost, scope: InstallScope) -> InstallationPlan:
    files = host.files(Where(scope=scope, project=Path.cwd(), environ=os.environ))
    return plan_uninstall(files, home=_home())


def _carry_out(plan: InstallationPlan, host: AgentHost, scope: InstallScope, *, dry_run: bool) -> Answer:
    if not dry_run:
        apply([*plan.files, *plan.notes])
        for directory in plan.directories:
            with suppress(OSError):
                directory.rmdir()
    return report(plan.files, host, scope, dry_run=dry_run, note=_permission(host))


def _permission(host: AgentHost) -> str:
    """Return a reminder if the account of a host may still consolidate sessions."""
    model = load_settings(read_current_directory=False).settings.consolidation_model or ""
    if not host.model or model.partition(":")[0] != host.model:
        return ""
    return (
        f"The account of {host.title} may still turn sessions into facts and rules. "
        "To withdraw the permission: commonplace consolidation refuse"
    )


for _host in HOSTS.values():
    commands(app)(_host.name)(_command(_host))
