"""Logins: what a browser holds in place of the token that somebody gave it.

A login is a random id of its own, so that the token is not in every request of a browser, and logging out ends what the
browser has and nothing else. It counts only as long as its token does.
"""

import secrets
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from commonplace.access.roles import Principal
from commonplace.access.tokens import SECRET_BYTES, Token, Tokens, hash_of
from commonplace.core.clock import format_timestamp

LIFETIME: Final = timedelta(hours=12)
"""A working day; then the token is asked for again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """A login that was just made; ``secret`` is what the browser keeps."""

    principal: Principal
    expires_at: datetime
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """Who a login belongs to.

    Attributes:
        principal: Who comes with it.
        form_secret: What the proof of a form is made of; of the token, so that a page outlasts its login and goes on
            with the next one of the same token.
    """

    principal: Principal
    form_secret: bytes = field(repr=False)


class Logins:
    """The logins of an installation.

    Args:
        tokens: Open for as long as this is used.
    """

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens
        self._store = tokens.store

    async def begin(self, token: str) -> Login | None:
        """Log in with a token; ``None`` where it is unknown, expired or revoked."""
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
        """Return who a login belongs to; ``None`` where it is over, or its token is."""
        async with self._store.reading() as sql:
            row = await sql.token_of_login(hash=hash_of(secret), moment=self._store.moment())
        if row is None:
            return None
        token = await self._tokens.use(Token.from_row(row))
        return token and Visitor(principal=token.principal, form_secret=row["hash"].encode())

    async def end(self, secret: str) -> None:
        """Log out; one that is over already is over."""
        async with self._store.writing() as sql:
            await sql.delete_login(hash=hash_of(secret))
