"""``commonplace doctor``: checks of every part."""

from pathlib import Path
from typing import Annotated

import typer

from commonplace.cli.checks import Check, check_backup, run_checks
from commonplace.cli.command import Answer, commands
from commonplace.cli.output import JsonOption, console, shown
from commonplace.cli.run import settings

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
        Path | None, typer.Option(help="Check this backup instead: unpack it and read each part.")
    ] = None,
    as_json: JsonOption = False,
) -> Answer:
    """Check each part by using it: write, read, search and delete. Exit status 1 if a part does not work.

    The language model is asked one short question, which may cost tokens.
    """
    out = console()
    checks: list[Check] = []
    async for check in run_checks(settings(), ask_model=model) if backup is None else check_backup(backup):
        checks.append(check)
        if not as_json:
            out.print(check_line(check))
    ok = all(check.ok for check in checks)
    return Answer({"ok": ok, "checks": checks}, error=None if ok else "")
