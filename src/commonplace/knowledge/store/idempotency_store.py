"""Responses stored under the keys of requests, so that a repeated request takes effect only once.

A key is claimed in the database of knowledge memory, which every process of a service uses. The databases of other
memories hold the answers to the requests that changed them.
"""

from collections.abc import Collection
from dataclasses import asdict
from datetime import timedelta
from typing import ClassVar, Final

from commonplace.knowledge.store.session import KnowledgeSession
from commonplace.storage.request_answers import KEEP, RequestAnswers
from commonplace.storage.request_claims import KeptAnswer, RequestClaim, RequestConflict

LEASE: Final = timedelta(seconds=10)
"""The time after which an unrenewed claim ends and another process may run the request."""


class KeptAnswers:
    """The answers of one tenant.

    Args:
        session: A session of the tenant.
        others: The answers in the databases of other memories.

    Attributes:
        lease: The time after which an unrenewed claim ends.
    """

    lease: ClassVar[timedelta] = LEASE

    def __init__(self, session: KnowledgeSession, others: Collection[RequestAnswers] = ()) -> None:
        self._session = session
        self._others = others

    async def claim(self, key: str, fingerprint: str) -> RequestClaim | KeptAnswer | RequestConflict:
        """Claim a request, or return its stored response or the reason why it must not run.

        Args:
            key: The key that the client chose.
            fingerprint: A hash of the whole request and of its caller.

        Raises:
            StorageUnavailableError: A server cannot be reached; nothing was claimed.
        """
        claim = RequestClaim(tenant_id=self._session.tenant_id, key=key, fingerprint=fingerprint)
        async with self._session.writing() as sql:
            await sql.delete_expired_answers()
            row = await sql.claim_request(
                key=key, fingerprint=fingerprint, claim=claim.id, lease=LEASE, keep=KEEP
            )
            earlier = None if row else await sql.answer_of(key=key)
        if earlier is None:
            return await self._of_earlier_attempt(claim) or claim
        if earlier["fingerprint"] != fingerprint:
            return RequestConflict.REUSED
        if earlier["status"] is not None:
            return KeptAnswer.from_row(earlier)
        return RequestConflict.LOST if earlier["is_lost"] else RequestConflict.RUNNING

    async def _of_earlier_attempt(self, claim: RequestClaim) -> KeptAnswer | RequestConflict | None:
        """Return the outcome of an attempt whose process died after it changed another memory."""
        outcome = None
        try:
            for answers in self._others:
                outcome = outcome or await answers.answer(claim)
        except BaseException:
            await self.release(claim)
            raise
        if isinstance(outcome, KeptAnswer):
            await self.keep(claim, outcome)
        elif outcome is not None:
            await self.release(claim)
        return outcome

    async def renew(self, claim: RequestClaim) -> None:
        """Renew a claim for another :attr:`lease`."""
        async with self._session.writing() as sql:
            await sql.renew_claim(key=claim.key, claim=claim.id, lease=LEASE)

    async def keep(self, claim: RequestClaim, answer: KeptAnswer) -> None:
        """Store the response to a request; do nothing if the claim was lost."""
        async with self._session.writing() as sql:
            await sql.keep_answer(key=claim.key, claim=claim.id, **asdict(answer))

    async def release(self, claim: RequestClaim) -> None:
        """Give up a claim whose request changed nothing, so that the request may run again."""
        async with self._session.writing() as sql:
            await sql.release_claim(key=claim.key, claim=claim.id)
