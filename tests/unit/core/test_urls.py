"""URLs in messages, without what must not be read there."""

import pytest

from commonplace.core.urls import mask_url, without_logins

pytestmark = pytest.mark.requirement("SYN-13.1")

SECRET = "ghp_16characters"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"https://{SECRET}@example.com/a.git", "https://example.com/a.git"),
        (f"git+https://ada:{SECRET}@example.com/a.git", "git+https://example.com/a.git"),
        (f"HTTP://ada:{SECRET}@x@example.com:8443", "HTTP://example.com:8443"),
        ("https://example.com/@ada/a.git?b=c@d", "https://example.com/@ada/a.git?b=c@d"),
        ("ssh://git@example.com/a.git", "ssh://git@example.com/a.git"),
        ("git@example.com:ada/a.git", "git@example.com:ada/a.git"),
        (
            f"could not read Password for 'https://{SECRET}@example.com'",
            "could not read Password for 'https://example.com'",
        ),
        (
            f"https://{SECRET}@a.example and https://{SECRET}@b.example",
            "https://a.example and https://b.example",
        ),
        ("/home/ada/https:/a@b", "/home/ada/https:/a@b"),
    ],
)
def test_no_login_is_in_a_message(text: str, expected: str) -> None:
    """Neither the user nor the password of HTTP; the user of SSH is no secret."""
    assert without_logins(text) == expected


def test_a_password_with_a_slash_is_masked() -> None:
    """As a whole, although it should have been percent-encoded."""
    url = f"https://ada:with/{SECRET}@example.com/a.git"
    assert mask_url(without_logins(url)) == "https://ada:***@example.com/a.git"
