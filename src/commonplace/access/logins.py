"""Browser logins, which replace the token in a browser's requests.

A login is a random id, so that requests do not contain the token, and logging out ends only this login. A login is
valid only while its token is valid.
"""

import secrets
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from commonplace.access.roles import Principal
from commonplace.access.tokens import SECRET_BYTES, Token, Tokens, hash_of
from commonplace.core.clock import format_timestamp

LIFETIME: Final = timedelta(hours=12)
"""A working day; after it the user enters the token again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """A new login; the browser keeps its ``secret``."""

    principal: Principal
    expires_at: datetime
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """The owner of a login.

    Attributes:
        principal: The principal of the token.
        form_secret: The secret from which CSRF tokens are derived. It belongs to the token, so that an open page still
            works after the next login with the same token.
    """

    principal: Principal
    form_secret: bytes = field(repr=False)


class Logins:
    """The logins of an installation.

    Args:
        tokens: The tokens of the installation, open for as long as this object is used.
    """

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens
        self._store = tokens.store

    async def begin(self, token: str) -> Login | None:
        """Log in with a token; return ``None`` if it is unknown, expired or revoked."""
        found = await self._tokens.find(token)
        if found is None:
            return None
        secret, now = secrets.token_urlsafe(SECRET_BYTES), self._store.now()
        expires_at = now + LIFETIME
        async with self._store.writing() as sql:
            await sql.delete_stale_logins(moment=format_timestamp(now))
            await sql.insert_login(
                hash=hash_of(secret),
                token_id=found.id,
                created_at=format_timestamp(now),
                expires_at=format_timestamp(expires_at),
            )
        return Login(principal=found.principal, expires_at=expires_at, secret=secret)

    async def verify(self, secret: str) -> Visitor | None:
        """Return the owner of a login, or ``None`` if the login or its token has ended."""
        row = await self._store.reads.token_of_login(hash=hash_of(secret), moment=self._store.moment())
        if row is None:
            return None
        token = await self._tokens.use(Token.from_row(row))
        return token and Visitor(principal=token.principal, form_secret=row["hash"].encode())

    async def end(self, secret: str) -> None:
        """End a login; an ended login stays as it is."""
        async with self._store.writing() as sql:
            await sql.delete_login(hash=hash_of(secret))
