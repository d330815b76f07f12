"""The gate that keeps secrets out of every memory.

Source: WSP-03, R-WSP-3. A wrong refusal costs a rewording, but a stored key ends up in prompts and logs. So ambiguous
text is refused. Every pattern takes time linear in the length of the text.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, cast

from commonplace.core.text import trim_to

BLOB_CHARS: Final = 40
"""A run of letters of both cases and digits of at least this length is a secret."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretFinding:
    """The kind and the place of a secret in a text, without the secret itself.

    Attributes:
        kind: The kind of secret, for example ``"API key (sk-…)"``.
        start: The first character of the secret.
        end: The character after the secret.
    """

    kind: str
    start: int
    end: int


_BOUNDARY = r"(?<![A-Za-z0-9\u00c0-\u024f])"
_NAMING = r"(?!(?:based|keys?|like|prefix|prefixed|style|tokens?|type)(?![\w-]))"
"""``a glpat-style token`` is about the prefix and is not a token."""
_LIBRARY = r"(?!(?:learn|image|video)(?![A-Za-z0-9]))"

_SHAPES: Final = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        # Six characters, or three with a digit: shorter ones are words and locales (sk-learn, sk-SK).
        (
            "API key (sk-…)",
            rf"{_BOUNDARY}sk-{_NAMING}{_LIBRARY}(?:(?<![/.]sk-)[\w-]{{6}}|(?=[\w-]{{0,15}}\d)[\w-]{{3}})[\w-]*",
        ),
        ("GitHub token", rf"{_BOUNDARY}(?:gh[opsur]_|github_pat_)\w{{3,}}"),
        ("GitLab token", rf"{_BOUNDARY}glpat-{_NAMING}[\w-]{{3,}}"),
        ("commonplace token", rf"{_BOUNDARY}cpl_[\w-]{{20,}}"),
        ("Slack token", rf"{_BOUNDARY}xox[abeprs]-{_NAMING}[\w-]{{3,}}"),
        (
            "Slack or Discord webhook",
            r"hooks\.slack\.com/services/\w{3}|discord(?:app)?\.com/api/webhooks/\d",
        ),
        ("AWS access key", r"(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
        ("Google API key", rf"{_BOUNDARY}AIza[\w-]{{35}}(?![\w-])"),
        ("private key", r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY"),
        ("JSON web token", r"(?<![\w-])eyJ[\w-]{10,}+\.eyJ[\w-]{10,}+"),
        ("password in a URL", r"://[^\s/@:]*+:(?!(?:\*+|pass(?:word)?|pwd|<[^>\s]*+>|\$\S++)@)[^\s/@]++@"),
    )
)

_LABEL = re.compile(
    r"(?:(?<![A-Za-z])bearer\s|(?<![A-Za-z])(?P<name>token|password)[\"'`*_]{0,3}\s*+[:\uff1a])"
    r"[\s\"'`*_(\[]*+(?P<value>[^\s\"'`)\],;]++)(?P<alone>[\"'`)\]\s.,;!?]*+(?:\Z|\n)|[\"'`)\],;])?",
    re.IGNORECASE,
)
_OF = r"(?:\s+(?:for|of|to|on|für|von|zu[mr]?|de[rs]|vom|beim)\s[^.:;\n]{1,40}?)?"
_TOLD = re.compile(
    rf"(?<![A-Za-z])(?P<name>password|passphrase|passcode|passwort|kennwort){_OF}"
    r"\s*(?:(?P<value_follows>\blautete?\b)|=|\b(?:is|was|ist|war)\b)(?:\s+(?:now|still|jetzt|nun))?\s*"
    r"(?P<quote>[\"'`\u201e\u201c]?)(?P<value>[^\s\"'`\u201c\u201d)\],;]++)",
    re.IGNORECASE,
)
"""A password that is told in a sentence: "the password is hunter2", "Das Passwort lautet sommer"."""
_PIN = re.compile(
    rf"(?<![A-Za-z])pin(?:[ -]?(?:code|number|nummer))?{_OF}\s*(?::|=|\b(?:is|was|ist|war|lautet))?\s*[\"'`]?"
    r"(?P<value>\d{4,8})(?!\w)",
    re.IGNORECASE,
)
_TOKEN_LIKE = re.compile(r"\d{4}|(?=.*\d)(?=.*[^\W\d_])(?!\d{1,3}-)|.*[!#$%&*+@^~]|.*[a-z][A-Z]")
"""A value that is no word of a sentence about a password, such as "required" or "20-character"."""

_PLACEHOLDER = re.compile(r"<|\[hidden|\{|\$\{|\$\(|\$[A-Z_]+\Z|%\w|[*.…x-]+\Z", re.IGNORECASE)
_ABOUT = frozenset(
    """
    a account an and any are as ask auth authentication authorization by can change changed changes
    comes copied credential credentials empty env environment expire expires false field flow for format
    from get has have header headers hidden if in into is it its kept key keys length lives long longer
    managed manager may minimum missing must n/a never no none not null of on only optional or passed
    read redacted refresh renew required reset rotate rotated rotates same scheme schemes secret see
    sent set shared should stored str string text that the this to token tokens true type types
    undefined unknown unset use used uses value vault via was when will with you your
    """.split()  # noqa: SIM905 - a list of words reads best as words
)
"""Words that describe a password or token and are none."""

_WORD = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*[.:!?…]*")
_LONG_WORD_CHARS = 20

_URL_OR_RUN = re.compile(rf"https?://[^\s?#]++|(?P<run>[A-Za-z0-9+/_=-]{{{BLOB_CHARS},}}+)")
_SEGMENT = re.compile(r"[A-Za-z0-9]++")
_PIECE = re.compile(r"[A-Z]?[a-z]++|[A-Z]++|[0-9]++")
_HEX = re.compile(r"[0-9a-f]+|[0-9A-F]+")
_CHECKSUM = re.compile(r"sha-?[0-9]{1,3}[-:=]?\Z", re.IGNORECASE)
_PATH_START = re.compile(r"[/.~:\\\w]\Z")
HIGH_ENTROPY: Final = "high-entropy text"
"""The kind of a finding without a known form: a long run that looks random. Some ids look like that too."""

_SHORTEST_SEGMENT = 6
_SCRAMBLED_CHARS = 30
_SCRAMBLED_PIECE = 3.6

_MOST_MASKED = 100
_LOOK_AHEAD = 4
_KEY_END = re.compile(r"-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z")
_LINE_END = re.compile(r"(?=\n)|\Z")
_WORD_END = re.compile(r"(?=\s)|\Z")


def find_secret(text: str) -> SecretFinding | None:
    """Return the first secret in a text, or ``None``.

    - The prefixes ``sk- ghp_ gho_ glpat- xoxb- xoxp-`` at the start of a word with a token behind them, and a few
      further forms of well-known makers.
    - ``Bearer ``, ``token:`` and ``password:`` with a value behind them, in any case. After the two labels any
      word is a value, except for words that describe passwords ("password: reset it weekly").
    - Passwords and PINs that are told in a sentence: "the password is hunter2", "Das Passwort lautet sommer", "the PIN
      of the safe is 4711". Behind "is" a plain word is no value ("the password is wrong").
    - Runs of 40 and more letters and digits with upper case, lower case and digits; in base64 with ``+/-_``
      only if they look random. Paths of URLs and files, git hashes, UUIDs and checksums pass.
    """
    for kind, pattern in _SHAPES:
        if found := pattern.search(text):
            return SecretFinding(kind=kind, start=found.start(), end=found.end())
    return _find_labelled(text) or _find_told(text) or _find_blob(text)


def find_secret_in_json(value: object) -> SecretFinding | None:
    """Return a secret in a JSON value, or ``None``: in a text, in a key, or in a text together with its key.

    ``{"password": "…"}`` is read as the text ``password: …``. The places of the finding are in that text.
    """
    left: list[object] = [value]
    while left:
        one = left.pop()
        if isinstance(one, Mapping):
            for key, item in cast("Mapping[str, object]", one).items():
                left += [f"{key}: {item}"] if isinstance(item, str) else [key, item]
        elif isinstance(one, list):
            left += cast("list[object]", one)
        elif isinstance(one, str) and (secret := find_secret(one)):
            return secret
    return None


def mask_secrets(text: str) -> str:
    """Return a text with ``[hidden: …]`` in place of every secret; :func:`find_secret` finds none in it.

    A private key is hidden up to its last line, or the end of the text. After ``password:`` and ``token:`` the rest of
    the line is hidden, because a password may hold spaces. Other secrets are hidden up to the end of the word. A text
    with more than a hundred secrets is hidden as a whole.
    """
    for _ in range(_MOST_MASKED):
        secret = find_secret(text)
        if secret is None:
            return text
        name = secret.kind.split(":")[0].split(" (")[0]
        text = f"{text[: secret.start]}[hidden: {name}]{text[_masked_until(text, secret) :]}"
    return "[hidden: many secrets]"


def masked_excerpt(text: str, max_chars: int) -> str:
    """Return the start of a text with its secrets masked by :func:`mask_secrets`, then cut by ``trim_to``.

    Half a secret is not recognised, so masking comes first and reads more of the text than is shown.
    """
    return trim_to(mask_secrets(text[: max_chars * _LOOK_AHEAD]), max_chars)


def _masked_until(text: str, secret: SecretFinding) -> int:
    ending = _LINE_END if ":" in secret.kind else _WORD_END
    if secret.kind == "private key":
        ending = _KEY_END
    found = ending.search(text, secret.end)
    return found.end() if found else len(text)


def _find_labelled(text: str) -> SecretFinding | None:
    for found in _LABEL.finditer(text):
        value, name = found["value"], found["name"]
        if _PLACEHOLDER.match(value):
            continue
        is_word = _WORD.fullmatch(value) is not None
        if is_word and value.rstrip(".:!?…").lower() in _ABOUT:
            continue
        # "Bearer" is an English word as well: the value must look like a token, or end the line.
        if (
            name is None
            and is_word
            and len(value) < _LONG_WORD_CHARS
            and found["alone"] is None
            and value.islower()
        ):
            continue
        kind = f"{name.lower()}: with a value" if name else "Bearer with a value"
        return SecretFinding(kind=kind, start=found.start(), end=found.end("value"))
    return None


def _find_told(text: str) -> SecretFinding | None:
    if found := _PIN.search(text):
        return SecretFinding(kind="PIN: with a value", start=found.start(), end=found.end("value"))
    for found in _TOLD.finditer(text):
        value = found["value"].rstrip(".:!?…")
        if _PLACEHOLDER.match(value) or value.lower() in _ABOUT:
            continue
        if found["value_follows"] or found["quote"] or _TOKEN_LIKE.match(value):
            return SecretFinding(kind="password: with a value", start=found.start(), end=found.end("value"))
    return None


def _find_blob(text: str) -> SecretFinding | None:
    for start, run in _runs(text):
        segments: list[str] = _SEGMENT.findall(run)
        if any(len(segment) >= BLOB_CHARS and _is_mixed(segment) for segment in segments):
            return SecretFinding(kind=HIGH_ENTROPY, start=start, end=start + len(run))
        is_path = run.startswith("/") or _PATH_START.search(text, max(0, start - 1), start) is not None
        if not is_path and _is_scrambled(segments):
            return SecretFinding(kind=HIGH_ENTROPY, start=start, end=start + len(run))
    return None


def _runs(text: str) -> Iterator[tuple[int, str]]:
    """Yield the long runs of base64 characters that are neither in the path of a URL nor a checksum."""
    for found in _URL_OR_RUN.finditer(text):
        run, start = found["run"], found.start()
        if run and not _CHECKSUM.search(text, max(0, start - 8), start) and not _CHECKSUM.match(run[:7]):
            yield start, run


def _is_mixed(text: str) -> bool:
    return (
        not text.isdigit() and text != text.lower() and text != text.upper() and any(map(str.isdigit, text))
    )


def _is_scrambled(segments: list[str]) -> bool:
    """Return whether segments look random: the kind of character changes every two or three, not after a word."""
    kept = [s for s in segments if len(s) >= _SHORTEST_SEGMENT and not _HEX.fullmatch(s)]
    joined = "".join(kept)
    pieces = sum(len(_PIECE.findall(segment)) for segment in kept)
    return len(joined) >= _SCRAMBLED_CHARS and _is_mixed(joined) and len(joined) / pieces < _SCRAMBLED_PIECE
