"""Responses stored under the keys of requests, so that a repeated request takes effect only once."""

from dataclasses import asdict, dataclass
from datetime import timedelta
from enum import StrEnum
from typing import ClassVar, Final

from commonplace.knowledge.store.idempotency_claims import RequestClaim
from commonplace.knowledge.store.session import KnowledgeSession
from commonplace.storage.rows import Noun

KEEP: Final = timedelta(days=1)
"""The time that an answer is kept."""

LEASE: Final = timedelta(seconds=10)
"""The time after which an unrenewed claim ends and another process may run the request."""


class RequestConflict(StrEnum):
    """Reasons why a request with a key is not run."""

    RUNNING = "running"
    """The request is running, or its process died a moment ago."""
    REUSED = "reused"
    """The key belongs to another request."""
    LOST = "lost"
    """The request changed something, and its process died before it stored the response."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptAnswer(Noun):
    """The answer of a request.

    Attributes:
        status: The HTTP status.
        media_type: The media type of the body; empty without a body.
        location: The header ``Location``, or an empty text.
        body: The body.
    """

    status: int
    media_type: str
    location: str
    body: str


class KeptAnswers:
    """The answers of one tenant.

    Args:
        session: A session of the tenant.

    Attributes:
        lease: The time after which an unrenewed claim ends.
    """

    lease: ClassVar[timedelta] = LEASE

    def __init__(self, session: KnowledgeSession) -> None:
        self._session = session

    async def claim(self, key: str, fingerprint: str) -> RequestClaim | KeptAnswer | RequestConflict:
        """Claim a request, or return its stored response or the reason why it must not run.

        Args:
            key: The key that the client chose.
            fingerprint: A hash of the whole request and of its caller.

        Raises:
            StorageUnavailableError: The server cannot be reached; nothing was claimed.
        """
        claim = RequestClaim(tenant_id=self._session.tenant_id, key=key)
        async with self._session.writing() as sql:
            await sql.delete_expired_answers()
            if await sql.claim_request(
                key=key, fingerprint=fingerprint, claim=claim.id, lease=LEASE, keep=KEEP
            ):
                return claim
            row = await sql.answer_of(key=key)
        if row["fingerprint"] != fingerprint:
            return RequestConflict.REUSED
        if row["status"] is not None:
            return KeptAnswer.from_row(row)
        return RequestConflict.LOST if row["is_lost"] else RequestConflict.RUNNING

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
