"""PostgreSQL URLs in messages."""

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.core.errors import SettingsError
from commonplace.core.urls import mask_url
from commonplace.storage.postgres_url import (
    describe_url,
    is_pooled,
    mask_password,
    require_direct,
    server_url,
    urls_of_hosts,
)


@pytest.mark.parametrize(
    ("url", "masked"),
    [
        ("postgresql://ann:secret@db:5432/notes", "postgresql://ann:***@db:5432/notes"),
        ("postgresql://ann:se@cr/et@db/notes", "postgresql://ann:***@db/notes"),
        (
            "postgresql://db/notes?user=ann&password=secret&x=1",
            "postgresql://db/notes?user=ann&password=***&x=1",
        ),
        ("postgresql://ann@db/notes", "postgresql://ann@db/notes"),
        ("postgresql://db:5432/notes", "postgresql://db:5432/notes"),
    ],
)
def test_a_masked_url_shows_all_but_the_password(url: str, masked: str) -> None:
    """User, host and database stay readable; the password is gone wherever it stands."""
    assert mask_url(url) == masked


@given(st.text(st.characters(codec="ascii", categories=("L", "N", "P", "S"))))
def test_no_password_survives(end: str) -> None:
    """Whatever the password and however badly it is encoded, neither mask nor description nor error show it."""
    password = f"hunter2{end}"
    for written in (password, quote(password, safe="")):
        url = f"postgresql://u:{written}@h/d"
        assert "hunter2" not in mask_url(url)
        try:
            shown = describe_url(url)
        except SettingsError as error:
            shown = str(error)
        assert "hunter2" not in shown
    assert mask_password(f"said {password}", f"postgresql://u:{quote(password, safe='')}@h/d") == "said ***"


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("postgresql://ann:secret@db:5432/notes", 'database "notes" at db:5432'),
        ("postgres://db1:5432,db2:5433/notes", 'database "notes" at db1:5432,db2:5433'),
        ("postgresql://ann@/notes?host=/run/pg&port=5432", 'database "notes" at /run/pg'),
        ("postgresql://", "the default database at the default host"),
    ],
)
def test_a_description_names_database_and_host(url: str, words: str) -> None:
    """Host and database are named in words."""
    assert describe_url(url) == words


@pytest.mark.parametrize(
    "url",
    [
        "mysql://u:hunter2@h/d",
        "u:hunter2@h",
        "postgresql://u:hunter2/x@h/d",
        "postgresql://u:1#hunter2@h/d",
        "postgresql://u:1?hunter2@h/d",
        "postgresql://u:[hunter2@h/d",
    ],
)
def test_what_is_no_postgresql_url_is_refused_without_repeating_it(url: str) -> None:
    """The error says what is expected and how to encode a password, and shows nothing of the URL."""
    with pytest.raises(SettingsError, match="percent-encoded") as raised:
        describe_url(url)
    assert "hunter2" not in str(raised.value)
    assert raised.value.__cause__ is None


@pytest.mark.parametrize(
    ("url", "pooled", "driver_s"),
    [
        ("postgresql://a:p%40@h:5432/m", False, "postgresql://a:p%40@h:5432/m"),
        ("postgresql://a:p%40@h/m?pgbouncer=true", True, "postgresql://a:p%40@h/m"),
        ("postgresql://a@h/m?pgbouncer=false&host=%2Frun%2Fpg", False, "postgresql://a@h/m?host=/run/pg"),
        ("postgresql://a@h,i:5433/m", False, "postgresql://a@h,i:5433/m?target_session_attrs=read-write"),
        (
            "postgresql://a@h,i/m?target_session_attrs=any&pgbouncer=true",
            True,
            "postgresql://a@h,i/m?target_session_attrs=any",
        ),
    ],
)
def test_the_driver_gets_no_parameter_of_ours(url: str, driver_s: str, *, pooled: bool) -> None:
    """Several hosts mean their primary unless the URL says otherwise; everything else stays."""
    assert is_pooled(url) is pooled
    assert server_url(url) == driver_s


def test_what_needs_a_session_refuses_a_pooler() -> None:
    """The message says what to do and holds no password."""
    require_direct("postgresql://a:secret@h/m", "a backup")
    with pytest.raises(SettingsError, match=r"a backup needs a server session, .* set the URL") as refused:
        require_direct("postgresql://a:secret@h/m?pgbouncer=true", "a backup")
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "urls"),
    [
        ("postgresql://db/notes", ["postgresql://db/notes"]),
        (
            "postgresql://ann:a%2Cb@db1:5432,db2/notes?ssl=require",
            [
                "postgresql://ann:a%2Cb@db1:5432/notes?ssl=require",
                "postgresql://ann:a%2Cb@db2/notes?ssl=require",
            ],
        ),
        ("postgresql://ann@/notes?host=/run/postgresql", ["postgresql://ann@/notes?host=/run/postgresql"]),
    ],
)
def test_a_url_of_several_hosts_is_a_url_for_each(url: str, urls: list[str]) -> None:
    """Everything but the host is the same."""
    assert urls_of_hosts(url) == urls
