"""The decay sweep: facts and rules that are not confirmed fade, then leave every search (KNW-09.3)."""

from collections import Counter
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from commonplace.knowledge.model.kinds import MemoryType
from commonplace.knowledge.store.session import KnowledgeSession
from commonplace.knowledge.store.unit_of_work import of_kind
from commonplace.knowledge.upkeep.progress import OnUpkeep, UpkeepProgress, silent

GONE: Final = 0.05
"""Below this effective confidence a fact expires and a rule is forgotten. Source: KNW-09.3."""

FAINT: Final = 0.2
"""Below this effective confidence a fact or rule fades. Source: KNW-09.3."""

PAGE_ROWS: Final = 2_000
_FIRST: Final = UUID(int=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class DecayReceipt:
    """Numbers of facts and rules after a sweep.

    Attributes:
        facts_evaluated: Active facts that can decay.
        facts_fading: Facts that started to fade.
        facts_expired: Facts that expired.
        facts_recovered: Facts that no longer fade.
        rules_evaluated: Rules that can decay and are not forgotten.
        rules_fading: Rules that started to fade.
        rules_forgotten: Rules that are now forgotten.
        rules_recovered: Rules that no longer fade.
    """

    facts_evaluated: int
    facts_fading: int
    facts_expired: int
    facts_recovered: int
    rules_evaluated: int
    rules_fading: int
    rules_forgotten: int
    rules_recovered: int


class DecaySweep:
    """The sweep of faded facts and rules."""

    def __init__(self, session: KnowledgeSession) -> None:
        self._session = session

    async def run(self, *, on_progress: OnUpkeep = silent) -> DecayReceipt:
        """Set the state of every active fact and rule of the tenant by its effective confidence."""
        await self._session.require_plausible_clock()
        facts = await self._sweep(MemoryType.FACT, on_progress)
        rules = await self._sweep(MemoryType.RULE, on_progress)
        return DecayReceipt(
            facts_evaluated=facts["read"],
            facts_fading=facts["fading"],
            facts_expired=facts["gone"],
            facts_recovered=facts["recovered"],
            rules_evaluated=rules["read"],
            rules_fading=rules["fading"],
            rules_forgotten=rules["gone"],
            rules_recovered=rules["recovered"],
        )

    async def _sweep(self, kind: MemoryType, on_progress: OnUpkeep) -> Counter[str]:
        totals: Counter[str] = Counter()
        after_id = _FIRST
        now = self._session.clock()
        while True:
            async with self._session.writing() as sql:
                page = await of_kind(kind, sql).sweep(
                    after_id=after_id, limit=PAGE_ROWS, now=now, gone=GONE, faint=FAINT
                )
            totals.update({name: page[name] for name in ("read", "gone", "fading", "recovered")})
            on_progress(UpkeepProgress(step=f"{kind}s checked", done=totals["read"]))
            if page["read"] < PAGE_ROWS:
                return totals
            after_id = page["last_id"]
