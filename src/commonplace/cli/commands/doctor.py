"""``commonplace doctor``: checks of every part."""

from pathlib import Path
from typing import Annotated

import typer

from commonplace.cli.commands.checks import (
    Check,
    check_backup,
    current_warnings,
    relink,
    run_checks,
    unlinked,
)
from commonplace.cli.frame.command import Answer, commands
from commonplace.cli.frame.output import JsonOption, console, shown
from commonplace.cli.frame.run import settings
from commonplace.core.text import plural
from commonplace.services.health import HealthWarning, Severity

app = typer.Typer(add_completion=False)


def check_line(check: Check) -> str:
    """Return a check as a line of console markup."""
    mark = "[green]ok    [/]" if check.ok else "[bold red]FAILED[/]"
    return f"{mark} {check.part:<18} {shown(check.found)} [dim]({check.took_ms} ms)[/]"


def warning_line(warning: HealthWarning) -> str:
    """Return a warning as lines of console markup: what is lost or stuck, and the command that helps."""
    colour = {Severity.URGENT: "bold red", Severity.WARNING: "yellow", Severity.NOTICE: "cyan"}[
        warning.severity
    ]
    lines = [f"[{colour}]{warning.severity:<8}[/] {shown(warning.text)}"]
    lines += [f"[dim]{shown(warning.detail)}[/]"] if warning.detail else []
    return "\n         ".join([*lines, f"[dim]$[/] {shown(warning.command)}"])


@commands(app)()
async def doctor(
    *,
    model: Annotated[
        bool, typer.Option("--model/--no-model", help="Ask the language model one question.")
    ] = True,
    backup: Annotated[
        Path | None, typer.Option(help="Check this backup instead: unpack it, and read each part.")
    ] = None,
    databases: Annotated[
        bool,
        typer.Option("--databases", help="List databases from earlier releases that no home links to."),
    ] = False,
    as_json: JsonOption = False,
) -> Answer:
    """Check each part with a real write, read, search and delete. Exit status 1 if a part fails.

    The check of the language model asks one short question, which may cost tokens. Warnings follow: memories that will
    be lost, and work that is stuck. They do not change the exit status.
    """
    out = console()
    if databases:
        return _databases()
    checks: list[Check] = []
    async for check in run_checks(settings(), ask_model=model) if backup is None else check_backup(backup):
        checks.append(check)
        if not as_json:
            out.print(check_line(check))
    ok = all(check.ok for check in checks)
    if backup is not None:
        return Answer({"ok": ok, "checks": checks}, error=None if ok else "")
    warnings = await current_warnings(settings())
    if not as_json:
        for warning in warnings:
            out.print(warning_line(warning))
    return Answer({"ok": ok, "checks": checks, "warnings": warnings}, _note(), error=None if ok else "")


def _note() -> str:
    count = len(unlinked())
    named = f"No home links to {plural(count, 'database')} from earlier releases"
    return f"{named}: `commonplace doctor --databases` lists them." if count else ""


def _databases() -> Answer:
    found = unlinked()
    lines = [
        f"{each.directory} was the database of {each.link.parent}; to link it again: {relink(each)}"
        for each in found
    ]
    head = (
        "No home links to these databases. Each may hold the only copy of the memories of a home that was moved\n"
        "or is on a disk that is not mounted. To use a database, restore its link with its command."
    )
    text = (
        "\n".join([head, *lines]) if found else "Every database from an earlier release is linked to a home."
    )
    return Answer({"databases": found}, text)
