"""Tokens: made once, kept as a hash, and over at once when they are revoked; on both servers."""

import json
import resource
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from typing import Any

import pytest

from commonplace.access import LIFETIME, PREFIX, Logins, Principal, Role, Tokens, TokenState
from commonplace.core.clock import ManualClock
from commonplace.core.errors import InvalidInputError, NotFoundError
from commonplace.core.settings import Settings
from support.commands import CommandLine


@pytest.fixture
async def tokens(database: Settings, clock: ManualClock) -> AsyncIterator[Tokens]:
    """No tokens yet, on each server."""
    async with Tokens.open(database, clock=clock) as tokens:
        yield tokens


@pytest.mark.requirement("APP-10.5")
async def test_a_token_says_who_comes(tokens: Tokens) -> None:
    """Tenant, role and name; a wrong one says nothing, however near it is."""
    issued = await tokens.create(role="writer", tenant_id="acme", name="ci")
    assert issued.secret.startswith(PREFIX)
    assert len(issued.secret) == len(PREFIX) + 43
    assert issued.secret not in repr(issued)
    ci = Principal(name="ci", tenant_id="acme", role=Role.WRITER)
    assert await tokens.verify(issued.secret) == ci
    for wrong in (
        "",
        "x",
        PREFIX,
        issued.secret[:-1],
        f"{issued.secret}A",
        issued.secret.upper(),
        "cpl_\udc00",
    ):
        assert await tokens.verify(wrong) is None


async def test_a_token_ends(tokens: Tokens, clock: ManualClock) -> None:
    """When its time is over, and at once when it is revoked; both stay in the list."""
    for_a_day = await tokens.create(role="reader", lifetime=timedelta(days=1))
    for_good = await tokens.create(role="admin")
    assert await tokens.has_admin()
    clock.advance(hours=23)
    assert await tokens.verify(for_a_day.secret) is not None
    clock.advance(hours=1)
    assert await tokens.verify(for_a_day.secret) is None
    revoked = await tokens.revoke(for_good.token.id)
    assert revoked.revoked_at == clock()
    assert await tokens.verify(for_good.secret) is None
    assert not await tokens.has_admin()
    clock.advance(days=1)
    assert await tokens.revoke(for_good.token.id) == revoked
    listed = await tokens.list_tokens()
    assert [token.state(clock()) for token in listed] == [TokenState.EXPIRED, TokenState.REVOKED]
    for unknown in (0, 99, 2**40):
        with pytest.raises(NotFoundError):
            await tokens.revoke(unknown)


async def test_a_token_of_another_tenant_administers_nothing_here(tokens: Tokens) -> None:
    """Who asks whether anybody can log in wants an admin of the installation."""
    await tokens.create(role="admin", tenant_id="acme")
    await tokens.create(role="writer")
    assert not await tokens.has_admin()


async def test_use_is_noted_once_a_minute(tokens: Tokens, clock: ManualClock) -> None:
    """A write at each request would cost more than the request."""
    issued = await tokens.create(role="reader")
    began = clock()
    seen = []
    for _ in range(4):
        await tokens.verify(issued.secret)
        (token,) = await tokens.list_tokens()
        seen.append(token.last_used_at)
        clock.advance(seconds=30)
    assert seen == [began, began, began + timedelta(minutes=1), began + timedelta(minutes=1)]


@contextmanager
def no_room_on_disk() -> Iterator[None]:
    """Let this process write to no file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def test_a_token_counts_where_its_use_cannot_be_noted(
    settings: Settings, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    """On a disk that is full, what is there can still be read; nobody comes in whom the table does not know."""
    async with Tokens.open(settings, clock=clock) as tokens:
        issued = await tokens.create(role="reader")
        with no_room_on_disk():
            assert await tokens.verify(issued.secret) == issued.token.principal
            assert await tokens.verify(f"{issued.secret}x") is None
        assert (await tokens.list_tokens())[0].last_used_at is None
    assert "cannot note the use" in caplog.text
    assert issued.secret not in caplog.text


async def test_a_login_ends_with_its_token(tokens: Tokens, clock: ManualClock) -> None:
    """And by itself after a working day, and when somebody logs out; it is no token."""
    logins = Logins(tokens)
    issued = await tokens.create(role="writer")
    first, second = await logins.begin(issued.secret), await logins.begin(issued.secret)
    assert first is not None
    assert second is not None
    assert first.secret not in repr(first)
    visitor = await logins.verify(first.secret)
    assert visitor is not None
    assert visitor.principal == issued.token.principal
    assert visitor.form_secret.decode() not in repr(visitor)
    assert await tokens.verify(first.secret) is None
    assert await logins.verify(issued.secret) is None
    await logins.end(first.secret)
    assert await logins.verify(first.secret) is None
    clock.advance(seconds=LIFETIME.total_seconds() - 1)
    assert await logins.verify(second.secret) is not None
    clock.advance(seconds=1)
    assert await logins.verify(second.secret) is None
    third = await logins.begin(issued.secret)
    assert third is not None
    await tokens.revoke(issued.token.id)
    assert await logins.verify(third.secret) is None
    assert await logins.begin(issued.secret) is None


async def test_bad_values_are_named(tokens: Tokens) -> None:
    """Nothing was written then."""
    bad: tuple[tuple[str, dict[str, Any]], ...] = (
        ("role", {"role": "root"}),
        ("tenant_id", {"role": "reader", "tenant_id": "a b"}),
        ("name", {"role": "reader", "name": " "}),
        ("name", {"role": "reader", "name": "x" * 61}),
        ("expires", {"role": "reader", "lifetime": timedelta(0)}),
        ("expires", {"role": "reader", "lifetime": timedelta(days=999_999_999)}),
    )
    for field, wanted in bad:
        with pytest.raises(InvalidInputError) as refused:
            await tokens.create(**wanted)
        assert refused.value.field == field
    assert await tokens.list_tokens() == []


async def test_no_secret_is_in_the_database(settings: Settings) -> None:
    """Neither a token nor a login can be read out of the file."""
    async with Tokens.open(settings) as tokens:
        issued = await tokens.create(role="admin")
        login = await Logins(tokens).begin(issued.secret)
        assert login is not None
    with closing(sqlite3.connect(settings.database_path)) as connection:
        dump = "\n".join(connection.iterdump())
    assert issued.token.name in dump
    for secret in (issued.secret, issued.secret.removeprefix(PREFIX), login.secret):
        assert secret not in dump


def test_the_command_shows_a_token_once(commonplace: CommandLine) -> None:
    """The secret alone on standard output, so that a script can take it; the list never has it."""
    made = commonplace(
        "token", "create", "--role", "reader", "--tenant", "acme", "--expires", "30d", "--name", "ci"
    )
    assert made.status == 0
    secret = made.out.strip()
    assert secret.startswith(PREFIX)
    assert secret not in made.err
    (listed,) = commonplace("token", "list", "--json").json
    assert (listed["name"], listed["tenant_id"], listed["role"]) == ("ci", "acme", "reader")
    assert (listed["state"], listed["last_used_at"]) == ("live", None)
    assert secret not in json.dumps(listed)
    assert "hash" not in listed
    assert "ci" in commonplace("token", "list").out
    assert commonplace("token", "revoke", str(listed["id"])).out == "revoked token 1 (ci)\n"
    (revoked,) = commonplace("token", "list", "--json").json
    assert revoked["state"] == "revoked"


def test_the_command_names_what_is_wrong(commonplace: CommandLine) -> None:
    """In one line each."""
    for arguments, said in (
        (
            ("create", "--role", "reader", "--tenant", "a b"),
            "error: tenant_id: expected 1 to 64 ASCII letters",
        ),
        (("revoke", "7"), "error: no token with id 7"),
    ):
        done = commonplace("token", *arguments)
        assert (done.status, done.err.count("\n")) == (1, 1)
        assert done.err.startswith(said)
    for wrong in (("--role", "root"), ("--role", "reader", "--expires", "soon")):
        assert commonplace("token", "create", *wrong).status == 2
    assert "No tokens. Create one: commonplace token create --role admin" in commonplace("token", "list").out
