"""Upkeep of knowledge memory."""

from uuid import UUID

from commonplace.knowledge.lifecycle.feedback import RuleFeedback
from commonplace.knowledge.model.kinds import Rule
from commonplace.knowledge.reembedding.passages import make_passages
from commonplace.knowledge.store.session import KnowledgeSession
from commonplace.knowledge.upkeep.cleanup import CleanupReceipt, EpisodeCleanup
from commonplace.knowledge.upkeep.decay import DecayReceipt, DecaySweep
from commonplace.knowledge.upkeep.progress import OnUpkeep, silent


class KnowledgeUpkeep:
    """Work that keeps memories in order: ``memory.upkeep``."""

    def __init__(self, session: KnowledgeSession) -> None:
        self._session = session
        self._decay = DecaySweep(session)
        self._cleanup = EpisodeCleanup(session)
        self._feedback = RuleFeedback(session)

    async def sweep(self, *, on_progress: OnUpkeep = silent) -> DecayReceipt:
        """Set the state of every active fact and rule of the tenant by its effective confidence.

        Decay starts at the last confirmation, or at creation. A second sweep at the same moment changes nothing. Each
        page of 2,000 rows is one transaction, so a stopped sweep keeps its completed pages.

        Args:
            on_progress: Called after each page with the number of rows checked, facts first.

        Raises:
            ClockError: The time is implausible; nothing was changed.

        Source: KNW-09.3, KNW-02.4, KNW-02.5, R-KNW-2.
        """
        return await self._decay.run(on_progress=on_progress)

    async def cleanup(
        self, *, max_entries: int | None = None, on_progress: OnUpkeep = silent
    ) -> CleanupReceipt:
        """Delete the tenant's expired episodes, then the oldest consolidated episodes over a limit.

        Episodes that are neither consolidated nor expired stay, even above the limit. The links of a deleted episode
        are deleted too, and memories learned from it lose their reference. Each batch of 1,000 is one transaction.
        Expired responses to keyed requests are deleted as well.

        Args:
            max_entries: The number of episodes to keep, 0 to 100,000,000;
                ``COMMONPLACE_EPISODE_MAX_ENTRIES`` if ``None``.
            on_progress: Called after each batch with the number of deleted episodes, expired ones first.

        Raises:
            InvalidInputError: ``max_entries`` is not a whole number from 0 to 100,000,000.
            ClockError: The time is implausible; nothing was changed.

        Source: KNW-15.
        """
        return await self._cleanup.run(max_entries=max_entries, on_progress=on_progress)

    async def make_passages(self) -> int:
        """Make the missing passages of the tenant's long memories, and return the number of these memories.

        Long memories get their passages when they are stored; those of an older release have none. If the active model
        is not that of this process, nothing is stored.

        Raises:
            EmbeddingError: The model cannot be used.

        Source: SHW-08.
        """
        async with self._session.acting() as pool:
            return await make_passages(pool, self._session.engine, self._session.tenant_id)

    async def invert_rule(self, rule_id: UUID | str) -> Rule:
        """Rewrite a harmful rule as a warning, make the warning findable, and restart its decay.

        Returns:
            The rule after the change; unchanged if it was already inverted.

        Raises:
            InvalidInputError: The rule has fewer than three harmful marks, or an effectiveness of 0.3 or more.
            NotFoundError: The rule does not exist, or is forgotten.
            EmbeddingError: The model cannot be used.

        Source: KNW-03.5.
        """
        return await self._feedback.invert(rule_id)

    async def invert_harmful_rules(self) -> list[Rule]:
        """Invert the rules that need it and are not inverted yet, and return them.

        Raises:
            EmbeddingError: The model cannot be used.
        """
        return await self._feedback.invert_all()
