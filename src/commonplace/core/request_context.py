"""The request context: the tenant and the actor of the current work."""

import re
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final

from commonplace.core.errors import InvalidInputError
from commonplace.core.sources import Source

DEFAULT_TENANT = "default"
OPERATOR: Final = "operator"
"""The actor of work that names no other: a person at this installation."""

MAX_TENANT_CHARS: Final = 64
_TENANT: Final = re.compile(rf"[A-Za-z0-9_.-]{{1,{MAX_TENANT_CHARS}}}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestContext:
    """The tenant whose data is used, the actor who uses it, and the source of what the actor writes."""

    tenant_id: str
    actor: str
    source: Source = Source.AGENT


_current: ContextVar[RequestContext | None] = ContextVar("commonplace_request_context", default=None)


def current_context() -> RequestContext | None:
    """Return the context of the current work, or ``None`` if no context is set."""
    return _current.get()


def current_actor(default: str = OPERATOR) -> str:
    """Return the actor of the current work; the default if no context is set."""
    context = _current.get()
    return default if context is None else context.actor


@contextmanager
def request_context(
    *, tenant_id: str = DEFAULT_TENANT, actor: str, source: Source = Source.AGENT
) -> Generator[RequestContext]:
    """Set tenant, actor and source for the work inside the ``with`` block and everything that it awaits."""
    context = RequestContext(tenant_id=tenant_id, actor=actor, source=source)
    token = _current.set(context)
    try:
        yield context
    finally:
        _current.reset(token)


def require_tenant(tenant_id: str) -> str:
    """Return a valid tenant id.

    Raises:
        InvalidInputError: The id is not 1 to 64 ASCII letters, digits, ``_``, ``.`` or ``-``.
    """
    if not isinstance(tenant_id, str) or not _TENANT.fullmatch(tenant_id):  # pyright: ignore[reportUnnecessaryIsInstance] - from callers
        form = f"1 to {MAX_TENANT_CHARS} ASCII letters, digits, _, . or -"
        raise InvalidInputError("tenant_id", form, tenant_id)
    return tenant_id
