"""The gate for secrets: what it refuses, what it lets through, and how long it takes."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.core.secrets import find_secret, find_secret_in_json, mask_secrets

BLOB = "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dF3hJ5kL7n"


@pytest.mark.requirement("WSP-03.1", "R-WSP-3")
@pytest.mark.parametrize("prefix", ["sk-", "ghp_", "gho_", "glpat-", "xoxb-", "xoxp-"])
@pytest.mark.parametrize("token", ["abc123", "abcdefghijklmnop", "A1b2C3d4E5f6G7h8"])
@pytest.mark.parametrize("frame", ["{}", "my key is {}, keep it", "KEY={}", "密钥{}", '"{}"'])
def test_each_listed_prefix_with_a_token_behind_is_found(prefix: str, token: str, frame: str) -> None:
    """A prefix counts at the start of a word, wherever the word stands."""
    text = frame.format(prefix + token)
    finding = find_secret(text)
    assert finding is not None
    assert prefix in text[finding.start : finding.end]
    assert token not in finding.kind


@pytest.mark.requirement("WSP-03.2", "R-WSP-3")
@pytest.mark.parametrize(
    "text",
    [
        "Bearer eyJhbGciOi",
        "Authorization: Bearer abc123 for staging",
        "use Bearer abcdef",
        "bearer xyz789token",
        "token: abc123",
        "Token:abcdef",
        "token: 12345",
        "access_token: abc",
        "password: hunter2",
        "PASSWORD: swordfish",
        "password:swordfish for staging",
        'the password: "correct" horse',
        '{"password": "hunter2"}',
        "**password:** hunter2",
        "password: [hunter2]",
        "password: p@ss!",
        "password: Reset123",
        "password：hunter2",  # noqa: RUF001 - a full-width colon, as Chinese keyboards type it
    ],
)
def test_each_generic_label_with_a_value_behind_is_found(text: str) -> None:
    """``Bearer``, ``token:`` and ``password:`` count in any case once a value follows."""
    assert find_secret(text) is not None


@pytest.mark.requirement("WSP-03.3", "R-WSP-3")
@pytest.mark.parametrize(
    "text",
    [
        BLOB,
        f"the key is {BLOB}.",
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
        "dGhpcyBpcyBhIHNlY3JldCB0aGF0IEkgd2lsbCBub3QgdGVsbDE=",
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "Zx8_kQ2vLp-9TnRw4YbHc7Jd1Fm6Gs3Aq0Ue5XiOoPz",
        f"https://example.com/callback?key={BLOB}",
    ],
)
def test_a_long_mixed_blob_is_found(text: str) -> None:
    """Forty characters with upper case, lower case and digits are a secret, also in base64."""
    assert find_secret(text) is not None


@pytest.mark.requirement("WSP-03.3")
@pytest.mark.parametrize("text", [BLOB[:39], BLOB.lower(), BLOB.upper(), "aB" * 25, "7" * 60])
def test_a_blob_needs_its_length_and_all_three_kinds(text: str) -> None:
    """Thirty-nine characters, or one kind missing, are no blob."""
    assert find_secret(text) is None


@pytest.mark.requirement("WSP-03.2")
@pytest.mark.parametrize(
    "text",
    [
        "postgres://app:s3cr3t@db.internal/shop",
        "-----BEGIN RSA PRIVATE KEY-----",
        "AKIAIOSFODNN7EXAMPLE",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2ln",
        "github_pat_11ABCDE0123456789",
        "cpl_Zb-3kQ9xV_1sT7uWmN2pR4",
        "https://hooks.slack.com/services/T000/B000/XXXX",
    ],
)
def test_further_well_known_forms_are_found(text: str) -> None:
    """Keys of cloud makers, key files, web tokens and passwords in URLs count as well."""
    assert find_secret(text) is not None


@pytest.mark.requirement("WSP-03.5", "R-WSP-3")
@pytest.mark.parametrize(
    "text",
    [
        "User prefers Python over JavaScript",
        "Project uses PostgreSQL 16 on port 5432",
        "the task-list is long, and the team risk-averse",
        "we use sk-learn and sk-learn-contrib",
        "Slovak is the locale sk-SK",
        "keys that begin with sk- or ghp_ or xoxb- are refused",
        "glpat-prefixed tokens are refused",
        "models live in /data/sk-models/v2",
        "the bearer of bad news",
        "the standard bearer wore a hat",
        "the API wants Bearer token authentication",
        "Bearer <token>",
        "the password: field is required",
        "password: reset it weekly",
        "password: required",
        "token: see 1Password",
        "password: ${DB_PASSWORD}",
        "password: ****",
        "password: (see vault)",
        "tokens: 500 a request",
        "commit 3f2a9c81b7d6e5f4a3b2c1d0e9f8a7b6c5d4e3f2",
        "550e8400-e29b-41d4-a716-446655440000",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        f"integrity sha512-{BLOB}",
        "https://github.com/Foo/Bar2/commit/3f2a9c81b7d6e5f4a3b2c1d0e9f8a7b6c5d4e3f2",
        "https://docs.example.com/document/d/1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms/edit",
        "/home/Ada/Projects/commonplace2/src/Main/Components/UserProfile.tsx",
        "src/Components/UserProfile2/HTTPServerFactory/Implementation",
        "JIRA-123_Fix-a-bug-in-K8s-v2-of-the-Thing-9-And-More-Words",
        "postgres://localhost:5432/db and postgres://app@db:5432/x",
    ],
)
def test_prose_hashes_urls_and_paths_pass(text: str) -> None:
    """What people write about their work is no secret."""
    assert find_secret(text) is None


@pytest.mark.requirement("WSP-03.5")
@given(
    st.text(alphabet="abcdefghijklmnopqrstuvwxyz ,.", max_size=300).filter(lambda text: "bearer" not in text)
)
def test_plain_lower_case_prose_always_passes(text: str) -> None:
    """Without a label, a prefix or mixed runs there is nothing to find."""
    assert find_secret(text) is None


@pytest.mark.requirement("WSP-03")
@pytest.mark.parametrize(
    "unit",
    [
        "sk-", "-eyJ", "eyJ", "password: ", "bearer ", "bearer x)", "token'''", "token:", "://a:", "://", ":",
        "aA1/", "https://", "https://a ", " ", "a-", "secret=", "api_key: ", "curl -u a", "--token ", "basic a",
        "authorization:", "login a password ", "&key=", "%2541", "\u200b", "SG.a", "a.", "1:A", "a:b@tcp(",
    ],
)  # fmt: skip
def test_time_grows_with_the_length_only(unit: str) -> None:
    """Text made to be slow takes no more than about twice as long when it is twice as long."""

    def seconds(length: int) -> float:
        text = "password:" + unit * (length // len(unit))
        best = float("inf")
        for _ in range(3):
            start = time.thread_time()
            find_secret(text)
            best = min(best, time.thread_time() - start)
        return best

    assert seconds(80_000) < 6 * seconds(20_000) + 0.01


KEY = "sk-" + "abc123def456"


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("nothing of the kind", "nothing of the kind"),
        (f"use {KEY} there", "use [hidden: API key] there"),
        (f"{KEY} and {KEY}", "[hidden: API key] and [hidden: API key]"),
        (f'{{"key": "{KEY}"}} was it', '{"key": "[hidden: API key] was it'),
        (
            "post to https://hooks.slack.com/services/T00/B00/xyz now",
            "post to https://[hidden: Slack or Discord webhook] now",
        ),
        ("a\ntoken: x1y2z3 b\nc", "a\n[hidden: token]\nc"),
        ("the password: correct horse battery\nok", "the [hidden: password]\nok"),
        (f"password: {KEY} and more", "password: [hidden: API key] and more"),
        ("My PIN is 4711 and I am allergic to nuts.", "My [hidden: PIN] and I am allergic to nuts."),
        ("The password is hunter2. My dog is called Rex.", "The [hidden: password]. My dog is called Rex."),
        ("Our password is hunter2, and I eat no pork", "Our [hidden: password], and I eat no pork"),
        ("password: correct horse. I am allergic to nuts", "[hidden: password]. I am allergic to nuts"),
        ("mysql -u root -pSup3rS3cret db", "[hidden: password of a login] db"),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\nok",
            "[hidden: private key]\nok",
        ),
        ("-----BEGIN PRIVATE KEY-----\nabc", "[hidden: private key]"),
        (f"{KEY} " * 150, "[hidden: many secrets]"),
    ],
)
def test_all_of_a_secret_is_masked_and_no_more(text: str, masked: str) -> None:
    """Up to where each kind ends, which lies behind what it is recognised by."""
    assert mask_secrets(text) == masked


@given(
    st.lists(
        st.sampled_from(
            [
                "password:",
                "token: ",
                "Bearer ",
                "[hidden: ",
                KEY,
                BLOB,
                "hunter2",
                "reset",
                " ",
                "\n",
                "]",
                ":",
                "://a:b@",
            ]
        ),
        max_size=12,
    )
)
def test_nothing_is_found_in_what_was_masked(pieces: list[str]) -> None:
    """Whatever stood beside each other, the mask itself among it."""
    assert find_secret(mask_secrets("".join(pieces))) is None


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ({"password": "hunter2"}, "password: with a value"),
        ({"a": [{"Token": "Tr0ub4dor"}]}, "token: with a value"),
        ([{"a": {"b": "sk-abcdef1234567890"}}], "API key (sk-…)"),
        ({"sk-abcdef1234567890": None}, "API key (sk-…)"),
        ({"sk-abcdef1234567890": "x"}, "API key (sk-…)"),
        ({"password": "see the vault", "tokens": 100, "token": 5, "a": [None, True, 1.5]}, None),
    ],
)
def test_a_json_value_is_read_with_its_keys(value: object, kind: str | None) -> None:
    """A key says what a label says in a text; what is no text holds no secret."""
    found = find_secret_in_json(value)
    assert (found.kind if found else None) == kind


@pytest.mark.parametrize(
    "text",
    [
        "PIN is 4711",
        "The PIN of the safe is 4711.",
        "Die PIN lautet 0815",
        "PIN-Code 123456",
        "Das Passwort lautet Sommer",
        "Das Passwort für das WLAN ist geheim99",
        "the password is hunter2",
        'the password is now "swordfish"',
        "Passwort: Sommer2024!",
        "La contraseña es Girasol77.",
        "Le mot de passe est Tournesol77.",
    ],
)
def test_passwords_and_pins_in_a_sentence_are_secrets(text: str) -> None:
    """In the words in which people tell them; the mask hides them."""
    assert find_secret(text) is not None
    assert find_secret(mask_secrets(text)) is None
    assert "[hidden: " in mask_secrets(text)


@pytest.mark.parametrize(
    "text",
    [
        "the password is wrong",
        "The password is 12 characters long",
        "the password is in the vault",
        "Das Passwort ist falsch",
        "password = getenv",
        "GPIO pin 13",
        "the opinion of 2024",
        "Das Passwort lautet [hidden: password]",
        "Passwort: siehe Tresor",
        "La contraseña es la misma de siempre",
        "mysql -u root -p < dump.sql",
    ],
)
def test_sentences_about_passwords_are_no_secrets(text: str) -> None:
    """What they are like, and where they are kept."""
    assert find_secret(text) is None
