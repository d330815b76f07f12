"""``commonplace install``: connects a client to the memories."""

import os
from pathlib import Path
from typing import Annotated

import typer

from commonplace.cli.claude_code.files import FileChange, apply
from commonplace.cli.claude_code.installation import Places, Scope, commonplace_command, plan_install
from commonplace.cli.claude_code.notes import make_directory
from commonplace.cli.command import Answer, commands
from commonplace.core.settings import load_settings
from commonplace.projects import Projects

app = typer.Typer(add_completion=False, no_args_is_help=True)

ScopeOption = Annotated[
    Scope,
    typer.Option(
        help="project: .mcp.json and .claude/settings.json in this directory. user: all your projects."
    ),
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Show the changes without making them.")]

TRUST_NOTE = (
    "Claude Code asks before it uses the tools of a project. Allow them when it asks, or start it with "
    "--allowedTools 'mcp__commonplace-workspace,mcp__commonplace-knowledge'."
)


@app.callback()
def group() -> None:
    """Connect a client to the memories."""


@commands(app)("claude-code")
async def claude_code(
    *,
    scope: ScopeOption = Scope.PROJECT,
    butler: Annotated[
        str | None, typer.Option(help="The butler of the sessions.", show_default="the id of the project")
    ] = None,
    dry_run: DryRunOption = False,
) -> Answer:
    """Give Claude Code both MCP servers, a briefing at the start of each session, and an episode at its end.

    Other settings stay as they are. A second installation changes nothing.
    """
    places = Places.of(scope, project=Path.cwd(), environ=os.environ)
    # Like the hooks, ignore a commonplace.toml in the current directory: it must not move the memories.
    home = load_settings(read_current_directory=False).settings.home
    plan = plan_install(places, commonplace_command(), home=home, butler=butler)
    if not dry_run:
        make_directory(home)
        if scope is Scope.PROJECT and butler is None:
            Projects(home).prepare(Path.cwd())
        apply([*plan.notes, *plan.files])
    return report(plan.files, scope, dry_run=dry_run, note=TRUST_NOTE if scope is Scope.PROJECT else "")


def report(changes: list[FileChange], scope: Scope, *, dry_run: bool, note: str = "") -> Answer:
    """Return the changes that were made, or would be made."""
    files = [{"path": change.path, "action": change.action, "diff": change.diff()} for change in changes]
    lines: list[str] = []
    for change in changes:
        lines.append(f"{change.action:<6} {change.path}")
        if dry_run and change.action != "keep":
            lines.append(change.diff())
    document = {"scope": scope, "dry_run": dry_run, "files": files, "note": note}
    return Answer(document, "\n".join([*lines, note] if note else lines))
