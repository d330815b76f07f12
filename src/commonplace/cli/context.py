"""``commonplace context``: a briefing from all four memories."""

from typing import Annotated

import typer

from commonplace.briefing import DEFAULT_BUDGET_TOKENS, brief
from commonplace.cli.output import JsonOption, print_json
from commonplace.cli.run import run, settings

app = typer.Typer(add_completion=False)


@app.command()
def context(
    *,
    prompt: Annotated[str, typer.Option(help="The topic of the session.")],
    app_id: Annotated[
        str | None, typer.Option("--app", metavar="APP", help="An app; its memories are included.")
    ] = None,
    butler: Annotated[
        str | None,
        typer.Option(help="A butler; its facts, rules and sessions are included beside the global ones."),
    ] = None,
    budget: Annotated[
        int, typer.Option(metavar="TOKENS", help="Size of the whole block; a token is four characters.")
    ] = DEFAULT_BUDGET_TOKENS,
    as_json: JsonOption = False,
) -> None:
    """Print one block for a prompt from all four memories.

    The command prints nothing if no memory fits the prompt. If a memory cannot be reached, its section is left out
    and a message on standard error says so.
    """
    briefing = run(brief(settings(), prompt=prompt, app=app_id, butler=butler, budget_tokens=budget))
    if as_json:
        print_json(briefing)
    elif briefing.text:
        typer.echo(briefing.text)
