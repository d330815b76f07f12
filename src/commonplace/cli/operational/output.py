"""Receipts and changed confidences on a terminal."""

from collections.abc import Callable

from commonplace.cli.frame.ids import lesson_id
from commonplace.cli.frame.output import flagged_line, shown
from commonplace.core.text import plural
from commonplace.operational import (
    Effect,
    Receipt,
    ReceiptOutcome,
    Review,
    SecondOpinion,
    format_confidence,
)
from commonplace.services.review.ids import quarantined_id


def numbered(number: int) -> str:
    """Return the name of a lesson as `ops ingest` has always printed it; scripts read that output."""
    return f"#{number}"


def receipt_line(receipt: Receipt, name: Callable[[int], str] = lesson_id) -> str:
    """Return a receipt as a line of console markup; ``name`` writes the number of the lesson with the observation."""
    colours = {
        ReceiptOutcome.CREATED: "green",
        ReceiptOutcome.REINFORCED: "cyan",
        ReceiptOutcome.REFINED: "cyan",
        ReceiptOutcome.REJECTED: "red",
        ReceiptOutcome.FAILED: "bold red",
    }
    about = ":".join(part for part in (receipt.category, receipt.service) if part)
    line = f"[{colours.get(receipt.outcome, 'dim')}]{receipt.outcome:<10}[/] {receipt.kind} "
    line += shown(f"[{about}] " if about else "") + shown(receipt.text)
    if receipt.confidence is not None and receipt.record_id is not None:
        line += f" [bold]({format_confidence(receipt.confidence)})[/] {name(receipt.record_id)}"
    if receipt.reason and not receipt.contradicted:
        line += f"\n           [dim]{shown(receipt.reason)}[/]"
    for effect in receipt.contradicted:
        line += f"\n           [yellow]corrects[/] {effect_line(effect, name)}"
    if receipt.remark:
        line += f"\n           [yellow]{shown(receipt.remark)}[/]"
    if receipt.flags:
        line += f"\n           {flagged_line(quarantined_id('o', receipt.record_id), receipt.flags)}"
    return line


def effect_line(effect: Effect, name: Callable[[int], str] = lesson_id) -> str:
    """Return a changed confidence as a line of console markup."""
    moved = f"{format_confidence(effect.confidence_before)} → {format_confidence(effect.confidence_after)}"
    ended = "" if effect.active else ", now inactive"
    headline = f"{name(effect.memory_id)} {shown(effect.observation)} [bold]({moved}{ended})[/]"
    return f"{headline}\n           [dim]{shown(effect.reason)}[/]"


def second_opinion_line(opinion: SecondOpinion) -> str:
    """Return what a second opinion came to as lines of console markup: the cost, then a line for each decision."""
    asked = plural(opinion.asked, "doubtful pair")
    line = f"[bold]second opinion[/] of {shown(opinion.model)}: "
    if opinion.asked:
        tokens = f"{plural(opinion.tokens, 'token')}, " if opinion.tokens else ""
        line += f"{len(opinion.decided)} of {asked} decided ({tokens}{opinion.took_s:.1f} s)"
    else:
        line += "not asked"
    if opinion.reason:
        line += f": {shown(opinion.reason)}"
    if len(opinion.decided) < opinion.asked or opinion.reason:
        line += "\n           [dim]pairs wait: commonplace review[/]"
    for each in opinion.decided:
        line += f"\n{_decision_text(each)}"
    return line


def _decision_text(review: Review) -> str:
    ids = f"{lesson_id(review.new_id)} [cyan]{review.decision}[/] {lesson_id(review.old_id)}"
    why = f"\n           [dim]{shown(review.explanation)}[/]" if review.explanation else ""
    return f"decided    {ids} {shown(review.new_observation)}{why}"
