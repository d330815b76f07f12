"""``commonplace install``: connects a host to the memories."""

import os
import shutil
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from commonplace.cli.commands.permission import DAILY_TOKENS, allow_consolidation, allowed
from commonplace.cli.commands.source_offer import not_followed, offer_source
from commonplace.cli.commands.team import (
    ButlerOption,
    ProfileOption,
    ServerOption,
    TokenFileOption,
    ours_of,
    outage,
    service_at,
)
from commonplace.cli.frame.command import Answer, commands, show
from commonplace.cli.frame.output import DryRunOption
from commonplace.cli.frame.question import confirmed
from commonplace.cli.frame.run import run
from commonplace.core.errors import CommonplaceError, InvalidInputError
from commonplace.core.settings import Settings, load_settings
from commonplace.hosts.install.files import FileChange, apply
from commonplace.hosts.install.install_record import make_directory
from commonplace.hosts.install.installation import (
    InstallScope,
    SettingsFile,
    commonplace_command,
    plan_install,
)
from commonplace.hosts.install.registry import HOSTS, AgentHost, Where, hosts_there
from commonplace.hosts.resident import client
from commonplace.llm import can_consolidate
from commonplace.mcp.protocol.profiles import Profile
from commonplace.projects import Projects
from commonplace.services.sync.home import SyncedHome, is_synced
from commonplace.services.team_client import TeamClient

app = typer.Typer(add_completion=False)

STARTED = "The process that answers hooks is running. It prepares the next session in the background."

ScopeOption = Annotated[
    InstallScope, typer.Option(help="project: settings files in this directory. user: all your projects.")
]


@app.callback(invoke_without_command=True)
def group(
    context: typer.Context,
    *,
    scope: ScopeOption = InstallScope.PROJECT,
    profile: ProfileOption = Profile.AGENT,
    dry_run: DryRunOption = False,
) -> None:
    """Connect an agent host to the memories. Without a host, find the hosts on this machine and ask about each.

    Other settings stay unchanged. Installing again changes nothing, or upgrades an earlier installation.
    """
    if context.invoked_subcommand is None:
        show(run(_offer(scope, profile, dry_run=dry_run)), as_json=False)


async def _offer(scope: InstallScope, profile: Profile, *, dry_run: bool) -> Answer:
    """Install into the hosts that exist on this machine and that the user confirms."""
    there = hosts_there()
    if not there:
        return Answer(None, error=f"no host was found; name one of {', '.join(HOSTS)}")
    answers = [
        await _install(host, scope, None, None, profile=profile, dry_run=dry_run, asks=True)
        for host in there
        if dry_run or await confirmed(f"Install into {host.title} ({scope})?")
    ]
    return Answer(
        None, "\n".join(str(answer.text) for answer in answers) or "You chose no host; no file was changed."
    )


async def _install(
    host: AgentHost,
    scope: InstallScope,
    butler: str | None,
    service: TeamClient | None,
    *,
    profile: Profile,
    dry_run: bool,
    asks: bool,
) -> Answer:
    if butler and not host.takes_butler and service is None:
        raise InvalidInputError(
            "--butler", f"no butler, because the plugin of {host.title} uses the project", butler
        )
    # Like the hooks, ignore a commonplace.toml in the current directory: it must not move the memories.
    chosen = load_settings(read_current_directory=False).settings
    home = chosen.home
    files = _files(host, scope)
    ours = ours_of(
        commonplace_command(),
        hook_options=host.hook_options,
        butler=butler,
        service=service,
        profile=profile,
    )
    hints = [host.note(scope), _reach(host, scope), await outage(service) if service and not dry_run else ""]
    plan = plan_install(files, ours, home=home)
    if not dry_run:
        make_directory(home)
        if scope is InstallScope.PROJECT and butler is None:
            hints.append(await _prepare_project(chosen))
        apply([*plan.notes, *plan.files])
        if service is None:
            hints.append(await _offer_model(host, asks=asks))
            hints += [await offer_source(path, asks=asks) for path in not_followed(host, home)]
        hints.append(STARTED if client.prepare({"--server": service.url} if service else {}) else "")
    return report(plan.files, host, scope, dry_run=dry_run, note="\n".join(filter(None, hints)))


async def _prepare_project(chosen: Settings) -> str:
    """Make this directory a project; in a home that syncs, return a line if the project could not be synced.

    A sync before it finds the project of the clone on another device, and one after it tells the others of a new one.
    """
    projects, problem = Projects(chosen.home), ""
    is_shared = is_synced(chosen.home) and projects.find(Path.cwd()) is None
    if is_shared:
        problem = await _sync_problem(chosen)
    projects.prepare(Path.cwd())
    if is_shared and not problem:
        problem = await _sync_problem(chosen)
    return f"Not synced, so projects of your other devices may be missing here: {problem}" if problem else ""


async def _sync_problem(chosen: Settings) -> str:
    """Sync, and return why that failed; an empty text if it did not."""
    try:
        async with SyncedHome.open(chosen) as home:
            await home.sync()
    except CommonplaceError as error:
        return str(error)
    return ""


def _files(host: AgentHost, scope: InstallScope) -> list[SettingsFile]:
    return host.files(Where(scope=scope, project=Path.cwd(), environ=os.environ))


def _reach(host: AgentHost, scope: InstallScope) -> str:
    """Return a warning if files of the project are also those of the user, as in the user's home directory."""
    users = {each.path.resolve() for each in _files(host, InstallScope.USER)}
    shared = [str(each.path) for each in _files(host, InstallScope.PROJECT) if each.path.resolve() in users]
    if scope is InstallScope.USER or not shared:
        return ""
    return f"{host.title} uses {', '.join(shared)} for all your projects. To install for all of them: --scope user"


async def _offer_model(host: AgentHost, *, asks: bool) -> str:
    """Ask whether the account of a host may consolidate, if no model does yet; return a line for the user."""
    loaded = load_settings(read_current_directory=False).settings
    if not host.model or shutil.which(host.program) is None or can_consolidate(loaded):
        return ""
    question = (
        f"Allow the account of {host.title} to turn sessions into facts and rules, "
        f"with at most {DAILY_TOKENS:,} tokens a day?"
    )
    if asks and await confirmed(question):
        path = await allow_consolidation(host.model)
        return f"{allowed(host.model, DAILY_TOKENS, path)}. To stop: commonplace consolidation refuse"
    return (
        "No model turns sessions into facts and rules yet, so episodes expire after seven days. To allow "
        f"the account of {host.title} to do so: commonplace consolidation allow {host.model}"
    )


def report(
    changes: list[FileChange], host: AgentHost, scope: InstallScope, *, dry_run: bool, note: str = ""
) -> Answer:
    """Return the changes that were made, or that a dry run would make."""
    files = [{"path": change.path, "action": change.action, "diff": change.diff()} for change in changes]
    lines: list[str] = []
    for change in changes:
        lines.append(f"{change.action:<6} {change.path}")
        if dry_run and change.action != "keep":
            lines.append(change.diff())
    document = {"host": host.name, "scope": scope, "dry_run": dry_run, "files": files, "note": note}
    return Answer(document, "\n".join([*lines, note] if note else lines))


def _command(host: AgentHost) -> Any:  # noqa: ANN401 - a coroutine function
    async def install(
        *,
        scope: ScopeOption = InstallScope.PROJECT,
        butler: ButlerOption = None,
        server: ServerOption = None,
        token_file: TokenFileOption = None,
        profile: ProfileOption = Profile.AGENT,
        dry_run: DryRunOption = False,
    ) -> Answer:
        service = service_at(server, token_file)
        asks = sys.stdin.isatty()
        return await _install(host, scope, butler, service, profile=profile, dry_run=dry_run, asks=asks)

    kept = "Other settings stay unchanged. Installing again changes nothing, or upgrades an earlier installation."
    install.__doc__ = f"Give {host.title} {host.adds}.\n\n{kept}"
    return install


for _host in HOSTS.values():
    commands(app)(_host.name)(_command(_host))
