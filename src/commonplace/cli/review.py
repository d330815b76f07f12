"""``commonplace review``: pairs of memories that wait for a decision."""

from typing import Annotated

import typer

from commonplace.cli.output import JsonOption, console, print_json, shown
from commonplace.cli.run import run, settings
from commonplace.core.errors import InvalidInputError
from commonplace.operational.memory import OperationalMemory
from commonplace.operational.reviews import Decision, Review, require_decision
from commonplace.operational.transcript.markers import GENERAL

app = typer.Typer(add_completion=False)


@app.command()
def review(
    review_id: Annotated[int | None, typer.Argument(metavar="ID", help="Number of a pair.")] = None,
    verdict: Annotated[
        str | None,
        typer.Argument(metavar="|".join(Decision), help="How the new text bears on the old one."),
    ] = None,
    *,
    decided: Annotated[bool, typer.Option("--decided", help="List the decided pairs instead.")] = False,
    as_json: JsonOption = False,
) -> None:
    """List the pairs that wait, or decide one of them.

    The decision is applied to both memories and remembered for the two texts.
    """

    async def work() -> list[Review]:
        async with OperationalMemory.open(settings()) as memory:
            if review_id is None:
                return await memory.reviews(decided=decided, limit=1_000)
            if verdict is None:
                raise InvalidInputError("verdict", f"one of {', '.join(Decision)}", verdict)
            return [await memory.decide(review_id, require_decision(verdict))]

    found = run(work())
    if as_json:
        print_json({"reviews": found})
        return
    out = console()
    for one in found:
        out.print(review_text(one))
    if review_id is None and not found:
        out.print("No pair waits for a decision.")
    elif review_id is None and not decided:
        out.print(f"Decide a pair: commonplace review ID {'|'.join(Decision)}", markup=False)


def review_text(found: Review) -> str:
    """Return a pair as lines of console markup."""
    about = shown(f"[{found.category}:{found.service or GENERAL}]")
    lines = [
        f"[bold]{found.id}[/] {about} {shown(found.reason)}",
        f"   old #{found.old_id}: {shown(found.old_observation)}",
        f"   new #{found.new_id}: {shown(found.new_observation)}",
    ]
    if found.decision is not None:
        why = f": {shown(found.explanation)}" if found.explanation else ""
        lines.append(f"   [green]{found.decision}[/], decided by {shown(found.decided_by or '')}{why}")
    return "\n".join(lines)
