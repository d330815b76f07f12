"""``commonplace doctor``: checks of every part."""

from pathlib import Path
from typing import Annotated

import typer

from commonplace.cli.commands.checks import Check, check_backup, relink, run_checks, unlinked
from commonplace.cli.frame.command import Answer, commands
from commonplace.cli.frame.output import JsonOption, console, shown
from commonplace.cli.frame.run import settings
from commonplace.core.text import plural

app = typer.Typer(add_completion=False)


def check_line(check: Check) -> str:
    """Return a check as a line of console markup."""
    mark = "[green]ok    [/]" if check.ok else "[bold red]FAILED[/]"
    return f"{mark} {check.part:<18} {shown(check.found)} [dim]({check.took_ms} ms)[/]"


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

    The check of the language model asks one short question, which may cost tokens.
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
    return Answer({"ok": ok, "checks": checks}, _note() if backup is None else "", error=None if ok else "")


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
