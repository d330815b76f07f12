"""Counters of app memory, which a service exports under the names of its monitoring (APP-12)."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from commonplace.apps.receipts import CompactionReceipt, DigestReceipt

Labels = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Counts since this process opened app memory.

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

    digests: Mapping[str, int]
    compactions: Mapping[Labels, int]
    compactions_of_apps: Mapping[str, int]
    fallbacks: Mapping[str, int]
    contexts: Mapping[str, int]
    retrievals: int
    energy: Mapping[str, float]
    secrets: int
    conflicts: int


class Metrics:
    """Counters that app memory increments; safe within one event loop."""

    def __init__(self) -> None:
        self._digests: Counter[str] = Counter()
        self._compactions: Counter[Labels] = Counter()
        self._of_apps: Counter[str] = Counter()
        self._fallbacks: Counter[str] = Counter()
        self._contexts: Counter[str] = Counter()
        self._energy: dict[str, float] = {}
        self._retrievals = 0
        self._secrets = 0
        self._conflicts = 0

    def digested(self, receipt: DigestReceipt) -> None:
        """Count a digest."""
        self._digests[receipt.outcome.value] += 1
        self._conflicts += len(receipt.conflicts)

    def compacted(self, receipt: CompactionReceipt) -> None:
        """Count a compaction."""
        decider = "" if receipt.decider is None else receipt.decider.value
        self._compactions[receipt.action.value, decider] += 1
        if receipt.removed:
            self._of_apps[receipt.app_id] += 1
        if receipt.fallback:
            self._fallbacks["compaction"] += 1

    def fell_back(self, what: str) -> None:
        """Count a failure that was retried or worked around."""
        self._fallbacks[what] += 1

    def shown(self, *, memories: int) -> None:
        """Count a context."""
        self._contexts["with" if memories else "without"] += 1

    def retrieved(self) -> None:
        """Count a read of memories."""
        self._retrievals += 1

    def spent(self, operation: str, units: float) -> None:
        """Count spent energy."""
        self._energy[operation] = self._energy.get(operation, 0.0) + units

    def left_out(self, secrets: int) -> None:
        """Count sentences that looked like secrets."""
        self._secrets += secrets

    def counts(self) -> Counts:
        """Return the current counts."""
        return Counts(
            digests=MappingProxyType(dict(self._digests)),
            compactions=MappingProxyType(dict(self._compactions)),
            compactions_of_apps=MappingProxyType(dict(self._of_apps)),
            fallbacks=MappingProxyType(dict(self._fallbacks)),
            contexts=MappingProxyType(dict(self._contexts)),
            retrievals=self._retrievals,
            energy=MappingProxyType(dict(self._energy)),
            secrets=self._secrets,
            conflicts=self._conflicts,
        )
