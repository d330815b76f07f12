"""Sentences for the receipt of a rule that repeats or contradicts an older one."""

from commonplace.judge import remark
from commonplace.knowledge import RuleReceipt
from commonplace.services.memory_ids import MemoryId, MemoryKind


def rule_note(receipt: RuleReceipt) -> str:
    """Return the sentences for a receipt; empty if the rule neither replaces, repeats nor contradicts another."""
    own, *same = (str(MemoryId.of(MemoryKind.RULE, each)) for each in (receipt.id, *receipt.same_ids))
    opposed = [str(MemoryId.of(MemoryKind.RULE, each)) for each in receipt.opposed_ids]
    related = remark(own, same=same, opposed=opposed, item="".join(f"{each}-{own}" for each in opposed[:1]))
    old = receipt.superseded_id
    sentences = (
        f"{own} was there already." if receipt.repeated else "",
        f"It replaces {MemoryId.of(MemoryKind.RULE, old)}." if old is not None else "",
        related,
    )
    return " ".join(filter(None, sentences))
