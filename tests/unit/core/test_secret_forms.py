"""The gate for secrets beyond the specified forms: other makers, assignments, and disguises of all of them."""

from collections.abc import Callable
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.core.plain_views import plain_view
from commonplace.core.secrets import find_secret, mask_secrets

RUN = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0"
HEX = "0123456789abcdef0123456789abcdef"
CYRILLIC = str.maketrans("aceopxyik", "\u0430\u0441\u0435\u043e\u0440\u0445\u0443\u0456\u043a")
FULL_WIDTH = str.maketrans({chr(code): chr(code + 0xFEE0) for code in range(0x21, 0x7F)})

SECRETS = (
    "password=hunter2",
    "password=MySecretPass1!",
    "DB_PASSWORD='swordfish'",
    "Passphrase: swordfish",
    "host=db user=app password=s3cret dbname=shop",
    "Server=db;User Id=sa;Password=Str0ng!pw;",
    "postgres://app:swordfish@db/shop",
    "app:swordfish@tcp(db:3306)/shop",
    "API_KEY=abc123def456",
    "API_KEY=swordfish",
    'api_key: "abc123def456"',
    "apiKey = 'abc123def456'",
    "x-api-key: abc123def456",
    "client_secret: swordfish",
    '{"clientSecret": "abc123def456"}',
    "aws_secret_access_key = wJalrXUtnFEMI7MDENGbPxRfiCY",
    "Authorization: Basic YWRhOmh1bnRlcjI=",
    "Authorization: token abc123def456",
    "https://api.example.com/items?access_token=abc123",
    "https://example.com/?a=1&api_key=abc123",
    "curl -u ada:swordfish https://example.com",
    "--password hunter2",
    f"sk_live_{RUN[:24]}",
    f"rk_test_{RUN[:24]}",
    f"whsec_{RUN[:32]}",
    f"hf_{RUN[:34]}",
    f"npm_{RUN[:36]}",
    f"pypi-AgEIcHlwaS5vcmc{RUN * 2}",
    f"SG.{RUN[:22]}.{RUN}",
    f"123456789:AA{RUN[:33]}",
    f"hvs.{RUN[:24]}",
    f"s.{RUN[:24]}",
    f"shpat_{HEX}",
    f"shpss_{HEX}",
    f"SK{HEX}",
    f"key-{HEX}",
    f"{HEX}-us12",
    f"glrt-{RUN[:20]}",
    f"GOCSPX-{RUN[:28]}",
    f"sq0atp-{RUN[:22]}",
    f"dop_v1_{HEX * 2}",
    "sk-abcdef1234567890",
    "ghp_abcdef1234567890",
    "password: hunter2",
    "Bearer abc123def456",
)


DISGUISES: dict[str, Callable[[str], str]] = {
    "zero-width": "\u200b".join,
    "soft hyphen": lambda text: text[:3] + "\u00ad\ufeff" + text[3:],
    "full-width": lambda text: text.translate(FULL_WIDTH),
    "Cyrillic": lambda text: text.translate(CYRILLIC),
    "quoted": lambda text: quote(text, safe=""),
    "percent-encoded": lambda text: "".join(f"%{ord(each):02x}" for each in text),
    "quoted thrice": lambda text: quote(quote(quote(text, safe=""))),
}


@pytest.mark.requirement("HRD-06.1", "WSP-03.2")
@pytest.mark.parametrize("secret", SECRETS)
def test_published_forms_and_assignments_are_found_and_masked(secret: str) -> None:
    """In a sentence and on a line of their own; the mask leaves nothing to find."""
    for frame in ("{}", "We use {} here", "note:\n{}\nand more"):
        text = frame.format(secret)
        assert find_secret(text) is not None
        assert find_secret(mask_secrets(text)) is None


@pytest.mark.requirement("HRD-06.1")
@pytest.mark.parametrize("secret", SECRETS)
def test_disguises_hide_nothing(secret: str) -> None:
    """The mask covers the disguised text and nothing in front of it."""
    for name, disguise in DISGUISES.items():
        text = f"before {disguise(secret)} after"
        assert find_secret(text) is not None, name
        masked = mask_secrets(text)
        assert find_secret(masked) is None, name
        assert masked.startswith("before "), name


@pytest.mark.requirement("HRD-06.1", "WSP-03.5")
@pytest.mark.parametrize(
    "text",
    [
        "password=None",
        "password=settings.db_password",
        "password=os.environ['DB_PASSWORD']",
        "password=$DB_PASSWORD",
        "--password=PASSWORD",
        "API_KEY=<your key>",
        "API_KEY=your-api-key",
        "client_secret: the secret of the app",
        "api_key: str | None",
        "token = tokenizer.next()",
        "secret: see the vault",
        "key: value",
        "the access key: a lever behind the door",
        "Authorization: Basic is deprecated",
        "basic authentication",
        "https://example.com/?page=2&key=name",
        "sk-ssh-ed25519@openssh.com",
        "пароль хранится в сейфе",
        "Αλλάζω τον κωδικό κάθε μήνα",
        "パスワードは金庫にある",
        "100%20 of 5%50",
        "hash_key=sha256, session_key=key1",
        "send SIGTERM, then hf_transfer and npm_config_cache",
    ],
)
def test_prose_and_code_about_secrets_pass(text: str) -> None:
    """Names, placeholders, types and other languages are no secrets."""
    assert find_secret(text) is None


@pytest.mark.requirement("HRD-06.1")
@given(st.text(max_size=60))
def test_a_plain_view_knows_the_places_of_its_characters(text: str) -> None:
    """Places never go back, and lie in the text."""
    view = plain_view(text)
    if view is None:
        return
    assert len(view.places) == len(view.text) + 1
    assert view.places == sorted(view.places)
    assert view.places[-1] == len(text)
