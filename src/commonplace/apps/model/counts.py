"""Counters of app memory, which a service exports under the names of its monitoring (APP-12)."""

from collections import Counter
from dataclasses import dataclass, field

from commonplace.apps.model.receipts import CompactionReceipt, DigestOutcome, DigestReceipt

Labels = tuple[str, ...]


@dataclass(slots=True, kw_only=True)
class Counts:
    """Counts since this process opened app memory; safe within one event loop.

    Attributes:
        digests: Digests by outcome.
        compactions: Compactions by action and decider.
        compactions_of_apps: Compactions that removed a memory, by app.
        fallbacks: Failures by kind: ``creation``, ``compaction``, ``embedding``, ``retry``.
        contexts: Contexts built at an injection point, ``with`` and ``without`` memories.
        retrievals: Reads of memories.
        energy: Units by operation.
        secrets: Sentences left out of memories because they looked like secrets.
        conflicts: Memories that contradict a new one.
    """

    digests: Counter[str] = field(default_factory=Counter[str])
    compactions: Counter[Labels] = field(default_factory=Counter[Labels])
    compactions_of_apps: Counter[str] = field(default_factory=Counter[str])
    fallbacks: Counter[str] = field(default_factory=Counter[str])
    contexts: Counter[str] = field(default_factory=Counter[str])
    retrievals: int = 0
    energy: dict[str, float] = field(default_factory=dict[str, float])
    secrets: int = 0
    conflicts: int = 0

    def add_digest(self, receipt: DigestReceipt) -> None:
        """Count a digest."""
        self.digests[receipt.outcome.value] += 1
        if receipt.outcome is DigestOutcome.SKIPPED:
            self.fallbacks["creation"] += 1
        self.conflicts += len(receipt.conflicts)

    def add_compaction(self, receipt: CompactionReceipt) -> None:
        """Count a compaction."""
        decider = "" if receipt.decider is None else receipt.decider.value
        self.compactions[receipt.action.value, decider] += 1
        if receipt.removed:
            self.compactions_of_apps[receipt.app_id] += 1
        if receipt.fallback:
            self.fallbacks["compaction"] += 1

    def add_energy(self, operation: str, units: float) -> None:
        """Count spent energy."""
        self.energy[operation] = self.energy.get(operation, 0.0) + units
