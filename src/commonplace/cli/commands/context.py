"""``commonplace context``: a briefing from all four memories."""

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import Console

from commonplace.cli.bounds import bounded
from commonplace.cli.catalog.opening import entry_document, entry_line
from commonplace.cli.frame.command import Answer, commands
from commonplace.cli.frame.output import print_lines, shown
from commonplace.cli.frame.run import settings
from commonplace.core.bounds import BudgetTokens
from commonplace.core.json_values import json_safe
from commonplace.core.text import collapse_whitespace
from commonplace.projects import Projects
from commonplace.services.briefing import DEFAULT_BUDGET_TOKENS, Briefing, brief
from commonplace.services.catalog.briefing_reasons import MemoryReason, brief_with_reasons

app = typer.Typer(add_completion=False)


@commands(app)()
async def context(
    *,
    prompt: Annotated[
        str, typer.Option(help="The first prompt of the session.", show_default="not known yet")
    ] = "",
    app_id: Annotated[
        str | None, typer.Option("--app", metavar="APP", help="Include the digests of this app.")
    ] = None,
    butler: Annotated[
        str | None,
        typer.Option(
            help="Include the facts, rules and sessions of this butler, in addition to the global ones.",
            show_default="the project of this directory",
        ),
    ] = None,
    budget: Annotated[
        int,
        bounded(
            BudgetTokens,
            metavar="TOKENS",
            help="Maximum size of the whole block in tokens of four characters.",
        ),
    ] = DEFAULT_BUDGET_TOKENS,
    why: Annotated[bool, typer.Option("--why", help="Give the reason for each memory in the block.")] = False,
) -> Answer:
    """Print the briefing that an agent gets for a prompt: one block from all four memories.

    The command prints nothing if no memory fits the prompt. If a memory cannot be reached, its section is left out
    and a message on standard error says so.
    """
    chosen = settings()
    own = butler or Projects(chosen.home).butler_for(chosen.workspace)
    project = chosen.workspace if own is not None and butler is None else None
    if why:
        briefing, reasons = await brief_with_reasons(
            chosen, prompt=prompt, app=app_id, butler=own, budget_tokens=budget, project=project
        )
        return _explained(briefing, reasons)
    briefing = await brief(
        chosen, prompt=prompt, app=app_id, butler=own, budget_tokens=budget, project=project
    )
    return Answer(briefing, briefing.text)


def _explained(briefing: Briefing, reasons: Sequence[MemoryReason]) -> Answer:
    """Return a briefing as an answer, with the reasons below its text."""
    lines = [
        line
        for each in reasons
        for line in (entry_line(each.entry), f"    [dim]{shown(collapse_whitespace(each.why))}[/]")
    ]
    document = json_safe(briefing) | {
        "reasons": [{"memory": entry_document(each.entry), "why": each.why} for each in reasons]
    }

    def text(out: Console) -> None:
        if not briefing.text:
            out.print("No memory fits the prompt.")
            return
        typer.echo(briefing.text)
        out.print("\n[bold]Why[/]")
        print_lines(out, lines)

    return Answer(document, text)
