"""``commonplace context``: a briefing from all four memories."""

from typing import Annotated

import typer

from commonplace.cli.bounds import bounded
from commonplace.cli.frame.command import Answer, commands
from commonplace.cli.frame.run import settings
from commonplace.core.bounds import BudgetTokens
from commonplace.projects import Projects
from commonplace.services.briefing import DEFAULT_BUDGET_TOKENS, brief

app = typer.Typer(add_completion=False)


@commands(app)()
async def context(
    *,
    prompt: Annotated[str, typer.Option(help="The topic of the session.")],
    app_id: Annotated[
        str | None, typer.Option("--app", metavar="APP", help="Include the memories of this app.")
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
) -> Answer:
    """Print one block for a prompt from all four memories.

    The command prints nothing if no memory fits the prompt. If a memory cannot be reached, its section is left out
    and a message on standard error says so.
    """
    chosen = settings()
    own = butler or Projects(chosen.home).butler_for(chosen.workspace)
    briefing = await brief(chosen, prompt=prompt, app=app_id, butler=own, budget_tokens=budget)
    return Answer(briefing, briefing.text)
