"""Claims of requests, so that a request with a key runs only once, whichever process it reaches.

The first writing transaction of a request marks the claim. So it is known whether a request changed anything before its
process died, and a process that lost its claim cannot change anything.
"""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from uuid import UUID, uuid4


@dataclass(slots=True, kw_only=True)
class RequestClaim:
    """The right of a process to run a request.

    Attributes:
        tenant_id: The tenant of the request.
        key: The key that the client chose.
        id: An id that differs for each attempt.
        is_applied: Whether a transaction of the request was committed.
        is_open: Whether the request still runs.
    """

    tenant_id: str
    key: str
    id: UUID = field(default_factory=uuid4)
    is_applied: bool = False
    is_open: bool = True

    @contextmanager
    def held(self) -> Generator[None]:
        """Run a request under this claim inside the block; tasks that outlive the block do not mark the claim."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)
            self.is_open = False


_current: ContextVar[RequestClaim | None] = ContextVar("commonplace_claim", default=None)


def unmarked_claim(tenant_id: str) -> RequestClaim | None:
    """Return the claim that a writing transaction of a tenant must mark, if any."""
    claim = _current.get()
    if claim is None or claim.tenant_id != tenant_id or claim.is_applied or not claim.is_open:
        return None
    return claim
