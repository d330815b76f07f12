"""``commonplace review``: the items of all memories that wait for a decision."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Annotated, Final

import typer
from rich.console import Console

from commonplace.cli.frame.command import Answer, commands
from commonplace.cli.frame.ids import lesson_id
from commonplace.cli.frame.output import console, shown
from commonplace.cli.frame.run import settings, source
from commonplace.cli.operational.output import second_opinion_line
from commonplace.core.errors import InvalidInputError, SettingsError
from commonplace.core.quoting import quoted
from commonplace.core.text import trim_to
from commonplace.llm import Script
from commonplace.operational import (
    ask_second_opinion,
    configured_adviser,
    format_confidence,
)
from commonplace.services.memory_ids import MemoryId, MemoryKind
from commonplace.services.opening import Memories
from commonplace.services.review.ids import FORMS, VERDICTS, ItemId, ItemKind
from commonplace.services.review.items import DecisionReceipt, Item, MemoryChange, ReviewVerdict, Side
from commonplace.services.review.observations import pair_item
from commonplace.services.review.queue import ReviewQueue

UNDO: Final = "undo"
SHOWN_CHARS: Final = 600
"""Longer texts are cut in the list; the commands and pages of a memory show them whole."""

_NAMES_OF_VERDICTS: Final = {
    VERDICTS[ItemKind.OBSERVATIONS]: "a pair",
    VERDICTS[ItemKind.DUPLICATE]: "a pair with +",
    VERDICTS[ItemKind.MEMORY]: "a memory",
    VERDICTS[ItemKind.EPISODE]: "an episode",
}
"""What the verdicts are for, in the order in which the list names them."""

app = typer.Typer(add_completion=False)


def _complete(incomplete: str) -> list[str]:
    return [word for word in (*map(str, ReviewVerdict), UNDO) if word.startswith(incomplete)]


@commands(app)()
async def review(
    review_id: Annotated[
        str | None,
        typer.Argument(
            metavar="ID",
            help="The ID from the list, such as 7, k7, f:3k7q2, r:3k7q2-r:9x2vd, f:3k7q2+f:9x2vd, f:3k7q2+n:4h1tz "
            "or o:12.",
        ),
    ] = None,
    verdict: Annotated[
        str | None,
        typer.Argument(
            metavar="VERDICT",
            autocompletion=_complete,
            help="Relation of the new memory to the old one; confirm or forget a memory; retry an episode; undo takes "
            "a decision back.",
        ),
    ] = None,
    *,
    decided: Annotated[bool, typer.Option("--decided", help="List the decided pairs instead.")] = False,
    by_model: Annotated[
        bool, typer.Option("--model", help="Let the model decide the waiting pairs of observations.")
    ] = False,
) -> Answer:
    """List the memories that wait for a decision, or decide about one.

    A pair of memories waits if it is unclear how they relate: two observations, two rules or notes that contradict
    each other, two facts or rules that may say the same, a fact and the fact that a consolidation replaced it with, or
    a fact and the entity that its subject may refer to. The decision is applied to both memories and remembered.

    A single memory waits if it contradicts a more trusted fact (held), looks like an instruction (flagged), is in use
    but will fade soon, was derived from a memory that no longer holds, or is a rule that did harm. Confirm or forget
    it. An episode waits if its consolidation failed. Retry or forget it.
    """
    if review_id is not None:
        _check_use(review_id, verdict, by_model=by_model)
    async with _opened_queue() as queue:
        if by_model:
            return await _decided_by_model(queue)
        if review_id is None or verdict is None:
            return await _list(queue, decided=decided)
        receipt = await (queue.undo(review_id) if verdict == UNDO else queue.decide(review_id, verdict))
        return Answer(receipt, lambda out: out.print(_receipt_text(receipt)))


@asynccontextmanager
async def _opened_queue() -> AsyncGenerator[ReviewQueue]:
    """Open the queue of this home. A list does not create knowledge memory."""
    loaded = settings()
    async with Memories.open(loaded, model=Script().model()) as memories:
        knowledge = memories.knowledge
        own = knowledge.acting_for(tenant_id=knowledge.tenant_id, actor=knowledge.actor, source=source())
        exists = loaded.postgres_url is not None or loaded.postgres_directory.exists()
        yield ReviewQueue(memories=replace(memories, knowledge=own), lists_knowledge=exists)


def _check_use(review_id: str, verdict: str | None, *, by_model: bool) -> None:
    """Refuse an ID with ``--model``, a malformed ID, and a verdict that does not fit the ID."""
    if by_model:
        raise typer.BadParameter(
            "expected no ID with --model, which decides all waiting pairs", param_hint="ID"
        )
    try:
        key = ItemId.parse(review_id)
    except InvalidInputError:
        raise typer.BadParameter(f"expected {FORMS}, got {quoted(review_id)}", param_hint="ID") from None
    verdicts = [*key.verdicts, *([] if key.kind is ItemKind.QUARANTINED else [UNDO])]
    if verdict not in verdicts:
        got = "nothing" if verdict is None else verdict
        raise typer.BadParameter(
            f"expected {_alternatives(verdicts)} for {review_id}, got {got}", param_hint="VERDICT"
        )


async def _decided_by_model(queue: ReviewQueue) -> Answer:
    adviser = configured_adviser(settings())
    if adviser is None:
        raise SettingsError("No language model is set. Set COMMONPLACE_MODEL.")
    opinion = await ask_second_opinion(queue.memories.operational, adviser, limited=False)
    if opinion is None:
        return _listed([], if_empty="No memory waits for a decision.")
    items = [pair_item(each) for each in opinion.decided]
    listed = _listed(items, if_empty="" if opinion.reason else second_opinion_line(opinion))
    return replace(listed, error=f"the pairs wait: {opinion.reason}") if opinion.reason else listed


async def _list(queue: ReviewQueue, *, decided: bool) -> Answer:
    listing = await queue.list_items(decided=decided)
    if listing.problem is not None:
        console(stderr=True).print(f"Facts and rules are left out: {shown(str(listing.problem))}")
    if decided:
        return _listed(listing.items, if_empty="No decisions yet.")
    footer = f"Decide with: commonplace review ID VERDICT ({_verdicts_text(listing.items)})"
    return _listed(listing.items, if_empty="No memory waits for a decision.", footer=footer)


def _listed(items: Sequence[Item], *, if_empty: str, footer: str = "") -> Answer:
    lines = [*map(item_text, items), footer] if items else [if_empty]
    document = {"count": len(items), "items": items}
    return Answer(document, lambda out: _print_lines(out, lines))


def _print_lines(out: Console, lines: Sequence[str]) -> None:
    for line in filter(None, lines):
        out.print(line)


def _verdicts_text(items: Sequence[Item]) -> str:
    """Return the verdicts of each kind of item in a list."""
    listed = {item.verdicts for item in items}
    return "; ".join(
        f"{name}: {_alternatives(verdicts)}"
        for verdicts, name in _NAMES_OF_VERDICTS.items()
        if verdicts in listed
    )


def _alternatives(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"


def item_text(item: Item) -> str:
    """Return an item as lines of console markup: its id and reason, then its memories and the decision."""
    about = shown(f" [{item.about}]") if item.about else ""
    lines = [f"[bold]{item.id}[/] {item.topic}{about}: {shown(item.reason)}", *map(_side_text, item.sides)]
    if item.decision is not None:
        why = f": {shown(item.decision.explanation)}" if item.decision.explanation else ""
        lines.append(f"   [green]{item.decision.verdict}[/], decided by {shown(item.decision.by)}{why}")
    return "\n".join(lines)


def _side_text(side: Side) -> str:
    return f"   {side.role.lower()} {_name_of(side)}: {shown(trim_to(side.text, SHOWN_CHARS))}"


def _name_of(side: Side) -> str:
    """Return the kind and id of a memory as commands print them; a digest or a note is named by its item."""
    match side.kind:
        case "memory":
            return lesson_id(int(side.id))
        case MemoryKind.FACT | MemoryKind.RULE | MemoryKind.EPISODE | MemoryKind.ENTITY:
            return f"{side.kind} {MemoryId.of(MemoryKind(side.kind), side.id)}"
        case MemoryKind.NOTE if side.id:
            return f"note {MemoryId.of(MemoryKind.NOTE, side.id)}"
        case _:
            return f"{side.kind} {side.id}".rstrip()


def _receipt_text(receipt: DecisionReceipt) -> str:
    """Return what a decision changed as lines of console markup."""
    if receipt.item is None:
        return f"{receipt.id}: {receipt.verdict or UNDO}"
    return "\n".join([item_text(receipt.item), *map(_change_text, receipt.changes)])


def _change_text(change: MemoryChange) -> str:
    """Return the state of a memory after a decision as a line of console markup."""
    state = "active" if change.active else "inactive: no prompt shows it"
    return f"   {lesson_id(change.id)}: confidence {format_confidence(change.confidence)}, {state}"
