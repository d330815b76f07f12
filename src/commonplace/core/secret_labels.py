"""Secrets that are recognized by the words around them: ``password: …``, ``API_KEY=…``, "the PIN is …".

Every pattern takes time linear in the length of the text.
Source: WSP-03.2, R-WSP-3, HRD-06.
"""

import binascii
import re
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretFinding:
    """The kind and the place of a secret in a text, without the secret itself.

    Attributes:
        kind: The kind of secret, for example ``"API key (sk-…)"``.
        end: The character after the secret.
    """

    kind: str
    start: int
    end: int


_LABEL = re.compile(
    r"(?:(?<![A-Za-z])bearer\s"
    r"|(?<![A-Za-z])(?P<name>token|password|passwort|kennwort|contrase[nñ]a|mot de passe)[\"'`*_]{0,3}\s*+[:\uff1a])"
    r"[\s\"'`*_(\[]*+(?P<value>[^\s\"'`)\],;]++)(?P<alone>[\"'`)\]\s.,;!?]*+(?:\Z|\n)|[\"'`)\],;])?",
    re.IGNORECASE,
)
IN_A_SENTENCE = " told in a sentence"
"""The end of the kind of a secret that is stated in a sentence, which may continue after it."""

_OF = r"(?:\s+(?:for|of|to|on|für|von|zu[mr]?|de[rs]|vom|beim)\s[^.:;\n]{1,40}?)?"
_TOLD = re.compile(
    rf"(?<![A-Za-z])(?P<name>password|passphrase|passcode|passwort|kennwort|contrase[nñ]a|mot de passe){_OF}"
    r"\s*(?:(?P<value_follows>\blautete?\b)|\b(?:is|was|ist|war|es|era|est|était)\b)(?:\s+(?:now|still|jetzt|nun|ahora|maintenant))?\s*"
    r"(?P<quote>[\"'`\u201e\u201c]?)(?P<value>[^\s\"'`\u201c\u201d)\],;]++)",
    re.IGNORECASE,
)
"""A password that is stated in a sentence: "the password is hunter2", "Das Passwort lautet sommer"."""
_PIN = re.compile(
    rf"(?<![A-Za-z])pin(?:[ -]?(?:code|number|nummer))?{_OF}\s*(?::|=|\b(?:is|was|ist|war|lautet))?\s*[\"'`]?"
    r"(?P<value>\d{4,8})(?!\w)",
    re.IGNORECASE,
)

_PASSES = r"pass(?:word|wd|phrase|code)|pwd|client[_-]?secret"
_KEY_NAMES = (
    r"(?:api|access|auth|account|app|bot|client|consumer|encryption|id|license|master|private|refresh|secret|security"
    r"|service|session|shared|signing|storage|webhook)[_ -]?(?:access[_ -]?)?(?:key|secret|token)|apikey|secret|token"
)
_ASSIGNED = re.compile(
    rf"(?:(?<![A-Za-z])|(?-i:(?<=[a-z])(?=[A-Z])))(?:(?P<password>{_PASSES})|(?P<key>{_KEY_NAMES}))"
    r"[\"'`\]]{0,2}\s{0,3}(?P<sign>:=|=>|=(?!=)|:(?!:))\s{0,3}(?:[rbf]?[\"'`])?(?P<value>[^\s\"'`,;&<>|]+)",
    re.IGNORECASE,
)
_IN_QUERY = re.compile(
    r"[?&;](?:(?P<certain>(?:access|refresh|id|auth)_?token|api_?key|(?:client_)?secret|passw(?:or)?d|pwd)"
    r"|key|token|sig|signature|x-amz-signature|x-goog-signature)=(?P<value>[^\s&#\"'`<>)\]]{3,})",
    re.IGNORECASE,
)
_OPTION = re.compile(
    r"(?<![\w-])--?(?P<name>[a-z-]{0,20}(?:password|passwd|token|secret|api-key))[ =]+[\"']?(?P<value>[^\s\"'`,;)\]]+)",
    re.IGNORECASE,
)
_BASIC = re.compile(r"(?<![A-Za-z])basic\s+(?P<value>[A-Za-z0-9+/]{6,}+={0,2})", re.IGNORECASE)
_SCHEME = re.compile(
    r"(?<![A-Za-z])(?:proxy-)?authorization[\"'`]?\s{0,3}[:=]\s{0,3}[\"'`]?(?:[A-Za-z]{3,12}\s+)?(?P<value>[^\s\"'`,;]{8,})",
    re.IGNORECASE,
)
_LOGIN = re.compile(
    r"(?<![A-Za-z])login\s+\S{1,80}\s+password\s+(?P<value>\S+)|(?<!\w)curl(?:\s[^\n]{0,200}?)?\s(?:-u|--user)[ =]*"
    r"[\"']?[^\s:\"'<$]{1,80}:(?P<curl>[^\s\"'<$]{3,})"
    r"|(?<!\w)(?:mysql|mariadb)\w*(?:\s[^\n]{0,200}?)?\s-p(?P<client>[^\s\"'<$-][^\s\"'<$]{3,})"
)

_PLACEHOLDER = re.compile(
    r"<|\[hidden|\{|\$\{|\$\(|\$[A-Z_]+\Z|%\w|[*.…x-]+\Z|\S{0,12}(?:…|\.\.\.)", re.IGNORECASE
)
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*[.:!?…]*")
_LONG_WORD_CHARS = 20
_TOKEN_LIKE = re.compile(r"\d{4}|(?=.*\d)(?=.*[^\W\d_])(?!\d{1,3}-)|.*[!#$%&*+@^~]|.*[a-z][A-Z]")
"""A value that is no word of a sentence about a password, such as "required" or "20-character"."""
_CODE = re.compile(
    r"[$%{<\\@]|.*[(){}\[\]]|\.|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+\Z|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\Z"
)
"""A value that names a place of a secret in a program: a call, an attribute, a constant, a variable."""
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_MADE = re.compile(
    r"(?=.*\d)(?=.*[A-Za-z])[\w+/=.~!@#$%^*&?:-]{8,}\Z|(?=.*[a-z][A-Z].*[a-z][A-Z])[A-Za-z]{16,}\Z"
)
_WITHOUT_BLANKS = re.compile(r"[A-Z_](?:KEY|SECRET|TOKEN)=[\"']?[\w+/=.~!@#$%^*&?:-]{6,}")
"""An assignment to a variable of the environment, whose value may be a word: ``API_KEY=swordfish``."""
_VERSIONED = re.compile(
    r"[A-Za-z]+[-_.]?v?\d{1,3}(?:[-_.][A-Za-z\d]{1,4})*\Z|v?\d+(?:\.\d+)+\S*\Z|\d{4}-\d\d-\d\d\S*\Z"
)
"""A name with a number: ``sha256``, ``key1``, ``utf-8``, a version or a date."""

_ABOUT = frozenset(
    """
    a account an and any are as ask auth authentication authorization by can change changed changes
    comes copied credential credentials empty env environment expire expires false field flow for format
    from get has have header headers hidden if in into is it its kept key keys length lives long longer
    managed manager may minimum missing must n/a never no none not null of on only optional or passed
    read redacted refresh renew required reset rotate rotated rotates same scheme schemes secret see
    sent set shared should stored str string text that the this to token tokens true type types
    undefined unknown unset use used uses value vault via was when will with you your
    aus bei bitte das der die ein eine fehlt geändert hier im ist kein keine läuft liegt mit muss nicht siehe steht und
    vergessen von wie wird wurde zurücksetzen ändern
    cambiada cambiar con de del el en es está la no olvidada por que se ver y
    changer changé dans du est et le les oublié par pas sur un une voir
    """.split()  # noqa: SIM905 - a list of words reads best as words
)
"""Words that describe a password or token but are not one."""
_STAND_INS = frozenset(
    """
    access api app auth bytes changeme client config data default dummy env example fake foo get getenv here id int key
    login my name none object option pass passwd password path placeholder pwd replace sample secret self settings
    some str string test the todo token user username value var variable word xxx your
    """.split()  # noqa: SIM905 - likewise
)
"""Parts of a name that stands for a secret, such as ``your-api-key`` and ``db_password``."""


def find_labelled(text: str) -> SecretFinding | None:
    """Return the first value behind a label, in an assignment, a query, an option, a header or a sentence."""
    folded = text.casefold()
    for needles, find in _FINDERS:
        if any(needle in folded for needle in needles) and (found := next(find(text), None)):
            return found
    return None


def _labelled(text: str) -> Iterator[SecretFinding]:
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
        yield SecretFinding(kind=kind, start=found.start(), end=found.end("value"))


def _told(text: str) -> Iterator[SecretFinding]:
    if found := _PIN.search(text):
        yield SecretFinding(kind=f"PIN{IN_A_SENTENCE}", start=found.start(), end=found.end("value"))
    for found in _TOLD.finditer(text):
        value = found["value"].rstrip(".:!?…")
        if _PLACEHOLDER.match(value) or value.lower() in _ABOUT:
            continue
        if found["value_follows"] or found["quote"] or _TOKEN_LIKE.match(value):
            end = found.start("value") + len(value)
            yield SecretFinding(kind=f"password{IN_A_SENTENCE}", start=found.start(), end=end)


def _assigned(text: str) -> Iterator[SecretFinding]:
    for found in _ASSIGNED.finditer(text):
        value = found["value"].rstrip(".:!?…)]}\\")
        name = (found["password"] or found["key"]).lower()
        if not value or _stands_in(value):
            continue
        is_assignment = found["sign"] != ":"
        if found["password"] or _is_made(value) or _WITHOUT_BLANKS.search(found[0]):
            mark = "=" if is_assignment else ":"
            kind = f"{name}{mark} with a value"
            yield SecretFinding(kind=kind, start=found.start(), end=found.end("value"))


def _in_query(text: str) -> Iterator[SecretFinding]:
    for found in _IN_QUERY.finditer(text):
        value = found["value"]
        if not _stands_in(value) and (found["certain"] or _is_made(value)):
            yield SecretFinding(kind="credential in a URL", start=found.start() + 1, end=found.end())


def _in_option(text: str) -> Iterator[SecretFinding]:
    for found in _OPTION.finditer(text):
        value = found["value"]
        if not _stands_in(value) and _TOKEN_LIKE.match(value):
            kind = f"option {found['name'].lower()} with a value"
            yield SecretFinding(kind=kind, start=found.start(), end=found.end("value"))


def _in_header(text: str) -> Iterator[SecretFinding]:
    for found in _BASIC.finditer(text):
        if _is_user_and_password(found["value"]):
            yield SecretFinding(kind="Basic credentials", start=found.start(), end=found.end())
    for found in _SCHEME.finditer(text):
        if not _stands_in(found["value"]) and _is_made(found["value"]):
            yield SecretFinding(kind="Authorization: with a value", start=found.start(), end=found.end())


def _in_login(text: str) -> Iterator[SecretFinding]:
    for found in _LOGIN.finditer(text):
        value = found["value"] or found["curl"] or found["client"]
        if not _stands_in(value):
            yield SecretFinding(kind="password of a login", start=found.start(), end=found.end())


def _stands_in(value: str) -> bool:
    """Return whether a value is a placeholder, a word about secrets, or the name of a secret in a program."""
    if _PLACEHOLDER.match(value) or _CODE.match(value) or value.lower() in _ABOUT:
        return True
    if any(map(str.isdigit, value)):
        return False
    return not _STAND_INS.isdisjoint(part.lower() for part in _PARTS.findall(value))


def _is_made(value: str) -> bool:
    """Return whether a value was made by a program, not written as a word."""
    return _MADE.match(value) is not None and _VERSIONED.match(value) is None


def _is_user_and_password(value: str) -> bool:
    try:
        decoded = b64decode(value + "=" * (-len(value) % 4)).decode()
    except (binascii.Error, UnicodeDecodeError):
        return False
    return ":" in decoded and decoded.isprintable()


_FINDERS = (
    (("bearer", "token", "password", "passwort", "kennwort", "contrase", "mot de passe"), _labelled),
    (("pass", "kennwort", "contrase", "pin"), _told),
    (("pass", "pwd", "secret", "key", "token"), _assigned),
    (("key=", "token=", "sig", "secret=", "pass", "pwd="), _in_query),
    (("password", "passwd", "token", "secret", "api-key"), _in_option),
    (("basic", "authorization"), _in_header),
    (("login", "curl", "mysql", "mariadb"), _in_login),
)
"""Each finder with needles: a text without any of them cannot contain what the finder looks for."""
