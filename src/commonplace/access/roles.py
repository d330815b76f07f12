"""Roles, and who is behind a request."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from commonplace.core.context import DEFAULT_TENANT


class Role(StrEnum):
    """What somebody may do; each role may do all that the ones before it may."""

    READER = "reader"
    """See memories and search them."""
    WRITER = "writer"
    """Store, confirm, correct and forget single memories."""
    ADMIN = "admin"
    """Everything else: purge, import, merge, undo a run, run upkeep, manage tokens."""

    def includes(self, other: "Role") -> bool:
        """Tell whether this role may do what the other may."""
        return _RANK[self] >= _RANK[other]


_RANK: Final = {Role.READER: 0, Role.WRITER: 1, Role.ADMIN: 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """Who is behind a request; tenant and role come from the token alone.

    Operational, app and workspace memory belong to the installation, that is to the tenant ``default``: principals
    of other tenants reach knowledge memory only.
    """

    name: str
    """The token's name, or ``local`` where the service listens on loopback without a login; for the audit trail."""
    tenant_id: str
    role: Role

    @property
    def of_installation(self) -> bool:
        """Whether the memories of the installation are theirs."""
        return self.tenant_id == DEFAULT_TENANT


LOCAL: Final = Principal(name="local", tenant_id=DEFAULT_TENANT, role=Role.ADMIN)
"""The caller where the service listens on loopback without a login."""
