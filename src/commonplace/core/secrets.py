"""The gate that keeps secrets out of every memory.

A wrong refusal costs only a rewording, but a stored key ends up in prompts and logs. So ambiguous text is refused.
Every pattern takes time linear in the length of the text. ``benchmarks/secret_gate.py`` measures both rates. Source:
WSP-03, R-WSP-3, HRD-06.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final, cast

from commonplace.core.plain_views import plain_view
from commonplace.core.secret_forms import FORMS
from commonplace.core.secret_labels import IN_A_SENTENCE, SecretFinding, find_labelled
from commonplace.core.text import trim_to

BLOB_CHARS: Final = 40
"""A run of letters of both cases and digits of at least this length is a secret."""

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
_LINE_END = re.compile(r"(?=[.!?]\s+[^\W\d_a-z])|(?=\n)|\Z")
_CLAUSE_END = re.compile(r"(?=[,.;!?](?:\s|\Z)|\s(?:and|but|und|aber|y|pero|et|mais)\s|\n)|\Z")
_WORD_END = re.compile(r"(?=\s)|\Z")


def find_secret(text: str) -> SecretFinding | None:
    """Return the first secret in a text, or ``None``.

    - The prefixes ``sk- ghp_ gho_ glpat- xoxb- xoxp-`` at the start of a word with a token behind them, and the
      published forms of other makers (:mod:`commonplace.core.secret_forms`).
    - ``Bearer ``, ``token:`` and ``password:`` with a value behind them, in any case. After these labels, any
      word is a value, except words that describe passwords ("password: reset it weekly").
    - Values in assignments, queries of URLs, options and headers, and passwords and PINs stated in a sentence
      (:mod:`commonplace.core.secret_labels`).
    - Runs of 40 and more letters and digits with upper case, lower case and digits; in base64 with ``+/-_``
      only if they look random. Paths of URLs and files, git hashes, UUIDs and checksums pass.

    All are found in the plain view of the text as well: without invisible characters, look-alike letters and
    percent-encoding (:mod:`commonplace.core.plain_views`).
    """
    found = _find(text)
    view = None if found else plain_view(text)
    if view is None:
        return found
    hidden = _find(view.text)
    return hidden and SecretFinding(
        kind=hidden.kind, start=view.places[hidden.start], end=view.places[hidden.end]
    )


def _find(text: str) -> SecretFinding | None:
    for kind, needles, pattern in FORMS:
        if any(needle in text for needle in needles) and (found := pattern.search(text)):
            return SecretFinding(kind=kind, start=found.start(), end=found.end())
    return find_labelled(text) or _find_blob(text)


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
    the sentence or line is hidden, because a password may hold spaces; "the password is …" is hidden up to the end of
    the clause. Other secrets are hidden up to the end of the word. A text with more than a hundred secrets is hidden as
    a whole.
    """
    for _ in range(_MOST_MASKED):
        secret = find_secret(text)
        if secret is None:
            return text
        name = secret.kind.removesuffix(IN_A_SENTENCE).split(":")[0].split(" (")[0]
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
    elif secret.kind.endswith(IN_A_SENTENCE):
        ending = _CLAUSE_END
    found = ending.search(text, secret.end)
    return found.end() if found else len(text)


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
