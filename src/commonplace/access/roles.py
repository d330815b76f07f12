"""Roles, and the principal of a request."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from commonplace.core.request_context import DEFAULT_TENANT


class Role(StrEnum):
    """Permissions of a token; each role includes the roles before it."""

    READER = "reader"
    """Read and search memories."""
    WRITER = "writer"
    """Store, confirm, correct and forget memories that a request names, one or several."""
    ADMIN = "admin"
    """Everything else: purge, import, merge, undo a run, run upkeep, manage tokens."""

    def includes(self, other: "Role") -> bool:
        """Return whether this role has the permissions of another role."""
        return _RANK[self] >= _RANK[other]


_RANK: Final = {Role.READER: 0, Role.WRITER: 1, Role.ADMIN: 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """The caller of a request; tenant and role come only from the token.

    Operational, app and workspace memory belong to the installation, that is, to the tenant ``default``. Principals
    of other tenants can use only knowledge memory.
    """

    name: str
    """The token's name for the audit trail, or ``local`` if the service listens on loopback without a login."""
    tenant_id: str
    role: Role

    @property
    def of_installation(self) -> bool:
        """Whether the principal may use the memories of the installation."""
        return self.tenant_id == DEFAULT_TENANT


LOCAL: Final = Principal(name="local", tenant_id=DEFAULT_TENANT, role=Role.ADMIN)
"""The caller of a service on loopback without a login."""
