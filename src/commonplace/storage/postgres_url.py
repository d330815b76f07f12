"""PostgreSQL URLs, taken apart to say which database is meant, and never with their password."""

from urllib.parse import parse_qs, unquote, urlsplit

from commonplace.core.errors import SettingsError


def mask_password(text: str, url: str) -> str:
    """Return a text, such as a driver's error message, with ``***`` for the password of a URL."""
    password = urlsplit(url).password
    return text.replace(unquote(password), "***").replace(password, "***") if password else text


def describe_url(url: str) -> str:
    """Return the host and database that a URL names, in words and without credentials.

    Raises:
        SettingsError: It is not a PostgreSQL URL. The message does not repeat it, as a malformed URL may show
            its password anywhere.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        raise _malformed() from None
    credentials, _, address = parts.netloc.rpartition("@")
    at_signs_elsewhere = "@" in credentials or "@" in parts.path or ("@" in parts.query and not credentials)
    if parts.scheme not in {"postgresql", "postgres"} or at_signs_elsewhere or parts.fragment:
        raise _malformed()
    host = parse_qs(parts.query).get("host", [address])[-1]
    database = unquote(parts.path.lstrip("/"))
    return (
        f"{f'database {database!r}' if database else 'the default database'} at {host or 'the default host'}"
    )


def _malformed() -> SettingsError:
    return SettingsError(
        "not a PostgreSQL URL: expected postgresql://user:password@host:port/database, with characters such as "
        "@ : / ? # in the password percent-encoded (@ is %40)"
    )
