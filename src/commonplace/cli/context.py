"""``commonplace context``: the briefing from all four memories."""

from typing import Annotated

import typer

from commonplace.briefing import DEFAULT_BUDGET_TOKENS, brief
from commonplace.cli.output import JsonOption, print_json
from commonplace.cli.run import run, settings

app = typer.Typer(add_completion=False)


@app.command()
def context(
    *,
    prompt: Annotated[str, typer.Option(help="What the session is about.")],
    app_id: Annotated[
        str | None, typer.Option("--app", metavar="APP", help="The app whose conversation is in focus.")
    ] = None,
    butler: Annotated[
        str | None, typer.Option(help="Whose facts, rules and sessions count beside the global ones.")
    ] = None,
    budget: Annotated[
        int, typer.Option(metavar="TOKENS", help="For the whole block; a token is four characters.")
    ] = DEFAULT_BUDGET_TOKENS,
    as_json: JsonOption = False,
) -> None:
    """Print one block for a prompt from all four memories; nothing where none has anything to say.

    A memory that cannot be reached leaves its section out, and a line on standard error says so.
    """
    briefing = run(brief(settings(), prompt=prompt, app=app_id, butler=butler, budget_tokens=budget))
    if as_json:
        print_json(briefing)
    elif briefing.text:
        typer.echo(briefing.text)
