"""``commonplace review``: pairs of memories that wait for a decision."""

from typing import Annotated, Final, Literal

import typer
from rich.console import Console

from commonplace.cli.command import Answer, commands
from commonplace.cli.output import shown
from commonplace.cli.run import settings
from commonplace.core.errors import SettingsError
from commonplace.llm import names_language_model
from commonplace.operational import GENERAL, Decision, OperationalMemory, Review, decide_after_session

UNDO: Final = "undo"
Word = Literal["same", "refines", "corrects", "distinct", "undo"]

app = typer.Typer(add_completion=False)


@commands(app)()
async def review(
    review_id: Annotated[int | None, typer.Argument(metavar="ID", help="Number of a pair.")] = None,
    verdict: Annotated[
        Word | None,
        typer.Argument(
            metavar="VERDICT", help="How the new memory bears on the old; undo takes a decision back."
        ),
    ] = None,
    *,
    decided: Annotated[bool, typer.Option("--decided", help="List the decided pairs instead.")] = False,
    by_model: Annotated[bool, typer.Option("--model", help="Let the model decide what waits.")] = False,
) -> Answer:
    """List the pairs that wait, or decide one of them.

    The decision is applied to both memories and remembered for the two texts.
    """
    if review_id is not None and verdict is None and not by_model:
        raise typer.BadParameter(f"expected one of {', '.join(Decision)} or {UNDO}", param_hint="VERDICT")
    async with OperationalMemory.open(settings()) as memory:
        if by_model:
            found = await _by_model(memory)
        elif review_id is None or verdict is None:
            found = await memory.reviews(decided=decided, limit=1_000)
        elif verdict == UNDO:
            found = [await memory.undo_decision(review_id)]
        else:
            found = [await memory.decide(review_id, verdict)]

    def text(out: Console) -> None:
        for one in found:
            out.print(review_text(one))
        if review_id is None and not found:
            out.print("No pair waits for a decision.")
        elif review_id is None and not decided and not by_model:
            out.print(f"Decide a pair: commonplace review ID VERDICT ({', '.join(Decision)})")

    return Answer({"reviews": found}, text)


async def _by_model(memory: OperationalMemory) -> list[Review]:
    loaded = settings()
    if not names_language_model(loaded):
        raise SettingsError("No language model is set that could decide. Set COMMONPLACE_MODEL.")
    return await decide_after_session(memory, loaded.model_copy(update={"judge": "model"}))


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
