"""Receipts of digests on a terminal."""

from collections.abc import Callable
from typing import Final

from rich.markup import escape

from commonplace.apps import CompactionReceipt, DigestOutcome, DigestReceipt
from commonplace.cli.frame.ids import digest_id
from commonplace.cli.frame.output import flagged_line
from commonplace.services.review.ids import quarantined_id

_COLOURS: Final = {
    DigestOutcome.CREATED: "green",
    DigestOutcome.SKIPPED: "bold red",
    DigestOutcome.REFUSED: "red",
    DigestOutcome.DEFERRED: "yellow",
}


def numbered(number: int) -> str:
    """Return the name of a digest as `apps ingest` has always printed it; scripts read that output."""
    return f"#{number}"


def receipt_lines(receipt: DigestReceipt, name: Callable[[int], str] = digest_id) -> str:
    """Return a receipt as lines of console markup; ``name`` writes the number of a digest."""
    colour = _COLOURS.get(receipt.outcome, "dim")
    lines = [f"[{colour}]{receipt.outcome}[/] conversation {escape(receipt.conversation_id)}"]
    if receipt.memory is not None:
        how = " [dim](sentences picked, no model)[/]" if receipt.extractive else ""
        lines.append(f"  {name(receipt.memory.id)} {escape(receipt.memory.content)}{how}")
        if receipt.memory.flags:
            lines.append(f"  {flagged_line(quarantined_id('a', receipt.memory.id), receipt.memory.flags)}")
    if receipt.reason:
        lines.append(f"  [dim]{escape(receipt.reason)}[/]")
    lines += [compaction_line(one, name) for one in receipt.compactions]
    lines += [
        f"  [yellow]conflict[/] {name(one.older.id)} and {name(one.newer.id)}: {escape(one.reason)}"
        for one in receipt.conflicts
    ]
    return "\n".join(lines)


def compaction_line(receipt: CompactionReceipt, name: Callable[[int], str] = digest_id) -> str:
    """Return the receipt of a compaction as lines of console markup."""
    removed = ", ".join(f"{name(memory.id)} {escape(memory.content)}" for memory in receipt.removed)
    into = f" into {name(receipt.edited.id)}: {escape(receipt.edited.content)}" if receipt.edited else ""
    why = " — ".join(part for part in (receipt.reason, receipt.fallback) if part)
    decider = f" ({receipt.decider})" if receipt.decider else ""
    return f"  [cyan]compaction: {receipt.action}{decider}[/] {removed}{into}\n  [dim]{escape(why)}[/]"
