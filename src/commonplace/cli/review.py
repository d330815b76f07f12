"""``commonplace review``: pairs of memories that wait for a decision."""

from typing import Annotated, Final, Literal

import typer
from rich.console import Console

from commonplace.cli.command import Answer, commands
from commonplace.cli.output import console, shown
from commonplace.cli.run import ACTOR, settings
from commonplace.core.errors import SettingsError, StorageError
from commonplace.knowledge import FactReview, KnowledgeMemory
from commonplace.llm import names_language_model
from commonplace.operational import GENERAL, Decision, OperationalMemory, Review, decide_after_session

UNDO: Final = "undo"
OF_FACTS: Final = "k"
"""The first letter of the id of a pair of facts."""
MOST: Final = 1_000
Word = Literal["same", "refines", "corrects", "distinct", "undo"]

app = typer.Typer(add_completion=False)


@commands(app)()
async def review(
    review_id: Annotated[
        str | None, typer.Argument(metavar="ID", help="Number of a pair; k and a number for facts.")
    ] = None,
    verdict: Annotated[
        Word | None,
        typer.Argument(
            metavar="VERDICT", help="How the new memory bears on the old; undo takes a decision back."
        ),
    ] = None,
    *,
    decided: Annotated[bool, typer.Option("--decided", help="List the decided pairs instead.")] = False,
    by_model: Annotated[
        bool, typer.Option("--model", help="Let the model decide the pairs of observations that wait.")
    ] = False,
) -> Answer:
    """List the pairs that wait, or decide one of them.

    A pair is of two observations, or of a known fact and the fact of a consolidation that superseded it. The decision
    is applied to both memories and remembered for the two texts.
    """
    if review_id is not None and verdict is None and not by_model:
        raise typer.BadParameter(f"expected one of {', '.join(Decision)} or {UNDO}", param_hint="VERDICT")
    observations: list[Review] = []
    facts: list[FactReview] = []
    if by_model:
        observations = await _by_model()
    elif review_id is None or verdict is None:
        observations, facts = await _listed(decided=decided)
    elif review_id.startswith(OF_FACTS):
        facts = [await _decide_fact(_number(review_id[1:]), verdict)]
    else:
        observations = [await _decide(_number(review_id), verdict)]

    def text(out: Console) -> None:
        for one in observations:
            out.print(review_text(one))
        for fact in facts:
            out.print(fact_text(fact))
        if review_id is None and not observations and not facts:
            out.print("No pair waits for a decision.")
        elif review_id is None and not decided and not by_model:
            out.print(f"Decide a pair: commonplace review ID VERDICT ({', '.join(Decision)})")

    return Answer({"reviews": observations, "fact_reviews": facts}, text)


def _number(review_id: str) -> int:
    if not review_id.isdecimal():
        raise typer.BadParameter(f"expected a number, or k and a number, got {review_id!r}", param_hint="ID")
    return int(review_id)


async def _listed(*, decided: bool) -> tuple[list[Review], list[FactReview]]:
    """Return the pairs of both memories; an installation without knowledge memory is not given one."""
    loaded = settings()
    async with OperationalMemory.open(loaded) as memory:
        observations = await memory.reviews(decided=decided, limit=MOST)
    if loaded.postgres_url is None and not loaded.postgres_directory.exists():
        return observations, []
    try:
        async with KnowledgeMemory.open(loaded, actor=ACTOR) as knowledge:
            return observations, await knowledge.reviews(decided=decided, limit=MOST)
    except StorageError as error:
        console(stderr=True).print(f"Pairs of facts are left out: {shown(str(error))}")
        return observations, []


async def _decide(review_id: int, verdict: Word) -> Review:
    async with OperationalMemory.open(settings()) as memory:
        if verdict == UNDO:
            return await memory.undo_decision(review_id)
        return await memory.decide(review_id, verdict)


async def _decide_fact(review_id: int, verdict: Word) -> FactReview:
    async with KnowledgeMemory.open(settings(), actor=ACTOR) as memory:
        if verdict == UNDO:
            return await memory.undo_decision(review_id)
        return await memory.decide(review_id, verdict)


async def _by_model() -> list[Review]:
    loaded = settings()
    if not names_language_model(loaded):
        raise SettingsError("No language model is set that could decide. Set COMMONPLACE_MODEL.")
    async with OperationalMemory.open(loaded) as memory:
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


def fact_text(found: FactReview) -> str:
    """Return a pair of facts as lines of console markup."""
    about = shown(f"[{found.subject}] {found.predicate}")
    lines = [
        f"[bold]{OF_FACTS}{found.id}[/] {about}: {shown(found.reason)}",
        f"   old {found.old_id}: {shown(found.old_content)}",
        f"   new {found.new_id}: {shown(found.new_content)}",
    ]
    if found.decision is not None:
        lines.append(f"   [green]{found.decision}[/], decided by {shown(found.decided_by or '')}")
    return "\n".join(lines)
