"""Tokens: shown once when they are created, and stored as a hash.

A token is 256 random bits, which cannot be guessed, so a plain SHA-256 protects it as well as a slow hash. The
permissions of a token are read from its row at every use, so revoking a token takes effect with the next request.
"""

import hashlib
import hmac
import logging
import secrets
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Final, Self

from commonplace.access.roles import Principal, Role
from commonplace.access.statements import AccessStatements
from commonplace.core.choices import require_one_of
from commonplace.core.clock import Clock, format_timestamp, utc_now
from commonplace.core.errors import InvalidInputError, NotFoundError, StorageError
from commonplace.core.request_context import DEFAULT_TENANT, require_tenant
from commonplace.core.settings import Settings, load_settings
from commonplace.core.text import require_text
from commonplace.storage.migrations.opening import open_database
from commonplace.storage.rows import Noun
from commonplace.storage.store import Store

SQL_DIRECTORY: Final = Path(__file__).parent / "sql"
PREFIX: Final = "cpl_"
"""The prefix of every token, by which secret scanners recognise tokens."""
SECRET_BYTES: Final = 32
MAX_TOKEN_CHARS: Final = 200
"""Longer credentials are not our tokens and are not hashed."""
MAX_NAME_CHARS: Final = 60
LARGEST_ID: Final = 2**31 - 1
"""The largest value of an integer column on every server."""
USE_NOTED_EVERY: Final = timedelta(minutes=1)
"""The precision of ``last_used_at``; writing it at each request would cost more than the request itself."""

log = logging.getLogger(__name__)


class TokenState(StrEnum):
    """Whether a token is valid."""

    LIVE = "live"
    EXPIRED = "expired"
    REVOKED = "revoked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Token(Noun):
    """One row of ``access_tokens``, without its hash."""

    id: int
    name: str
    tenant_id: str
    role: Role
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    """Up to a minute old."""
    revoked_at: datetime | None

    def state(self, now: datetime) -> TokenState:
        """Return the state at a moment."""
        if self.revoked_at is not None:
            return TokenState.REVOKED
        if self.expires_at is not None and self.expires_at <= now:
            return TokenState.EXPIRED
        return TokenState.LIVE

    @property
    def principal(self) -> Principal:
        """The principal of a request with this token."""
        return Principal(name=self.name, tenant_id=self.tenant_id, role=self.role)


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuedToken:
    """A new token with its secret, which cannot be shown again."""

    token: Token
    secret: str = field(repr=False)


class Tokens:
    """The tokens of an installation, safe to use from several tasks and processes at once. Use :meth:`open`."""

    def __init__(self, store: Store[AccessStatements]) -> None:
        self.store = store

    @classmethod
    @asynccontextmanager
    async def open(cls, settings: Settings | None = None, *, clock: Clock = utc_now) -> AsyncGenerator[Self]:
        """Open and upgrade the database in the settings, and close it at the end of the block.

        Raises:
            SettingsError: No settings are passed, and they cannot be loaded.
            StorageError: The database cannot be opened, or is newer than this release.
        """
        database = await open_database(settings or load_settings().settings, "access")
        try:
            yield cls(Store(database, AccessStatements, SQL_DIRECTORY, clock))
        finally:
            await database.close()

    async def create(
        self,
        *,
        role: Role | str,
        tenant_id: str = DEFAULT_TENANT,
        name: str | None = None,
        lifetime: timedelta | None = None,
    ) -> IssuedToken:
        """Create a token.

        Args:
            role: The permissions of the token.
            tenant_id: The tenant of its memories: 1 to 64 ASCII letters, digits, ``_``, ``.`` or ``-``.
            name: The name in the audit trail, at most 60 characters; by default the role.
            lifetime: How long the token is valid; ``None`` for no limit.

        Raises:
            InvalidInputError: A value is invalid; nothing was written.
        """
        granted = require_one_of(Role, role, field="role")
        tenant = require_tenant(tenant_id)
        shown = granted.value if name is None else require_text(name, field="name", max_chars=MAX_NAME_CHARS)
        now = self.store.now()
        secret = PREFIX + secrets.token_urlsafe(SECRET_BYTES)
        async with self.store.writing() as sql:
            row = await sql.insert_token(
                hash=hash_of(secret),
                name=shown,
                tenant_id=tenant,
                role=granted.value,
                created_at=format_timestamp(now),
                expires_at=None if lifetime is None else format_timestamp(_end(now, lifetime)),
            )
        return IssuedToken(token=Token.from_row(row), secret=secret)

    async def list_tokens(self) -> list[Token]:
        """Return every token, expired and revoked ones included, oldest first."""
        async with self.store.reading() as sql:
            return Token.from_rows(await sql.list_tokens())

    async def revoke(self, token_id: int) -> Token:
        """Revoke a token and its logins at once; revoking it again changes nothing.

        Raises:
            NotFoundError: No token has this id.
        """
        if not 1 <= token_id <= LARGEST_ID:
            raise NotFoundError("token", token_id)
        async with self.store.writing() as sql:
            row = await sql.revoke_token(token_id=token_id, moment=self.store.moment())
            revoked = Token.existing(row, token_id)
            await sql.delete_logins_of(token_id=token_id)
        return revoked

    async def verify(self, secret: str) -> Principal | None:
        """Return the principal of a token, or ``None`` if the token is unknown, expired or revoked."""
        token = await self.find(secret)
        return None if token is None else token.principal

    async def find(self, secret: str) -> Token | None:
        """Return the valid token with a secret and note its use, or return ``None``.

        Tokens are looked up by hash, so the time of a failed lookup reveals nothing about valid tokens.
        """
        if not secret.startswith(PREFIX) or len(secret) > MAX_TOKEN_CHARS:
            return None
        wanted = hash_of(secret)
        row = await self.store.reads.token_by_hash(hash=wanted)
        if row is None or not hmac.compare_digest(row["hash"], wanted):
            return None
        return await self.use(Token.from_row(row))

    async def use(self, token: Token) -> Token | None:
        """Return a token if it is valid, and note its use at most once a minute.

        If the use cannot be written, as on a full disk, the token is still valid.
        """
        now = self.store.now()
        if token.state(now) is not TokenState.LIVE:
            return None
        if token.last_used_at is None or now - token.last_used_at >= USE_NOTED_EVERY:
            try:
                async with self.store.writing() as sql:
                    await sql.note_use(token_id=token.id, moment=format_timestamp(now))
            except StorageError as error:
                log.warning("cannot note the use of token %d: %s", token.id, error)
        return token

    async def has_admin(self) -> bool:
        """Return whether there is a valid token with the role admin for the installation."""
        async with self.store.reading() as sql:
            found: int = await sql.count_live(
                tenant_id=DEFAULT_TENANT, role=Role.ADMIN.value, moment=self.store.moment()
            )
        return found > 0


def hash_of(secret: str) -> str:
    """Return the stored hash of a secret: its SHA-256 in hexadecimal."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _end(now: datetime, lifetime: timedelta) -> datetime:
    if lifetime <= timedelta(0):
        raise InvalidInputError("expires", "a time in the future", str(lifetime))
    try:
        return now + lifetime
    except OverflowError:
        raise InvalidInputError("expires", "a time before the year 10000", str(lifetime)) from None
