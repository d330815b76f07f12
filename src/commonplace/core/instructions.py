"""Instructions inside memories: texts that try to steer the agent that reads them. Pure.

A memory is data. Text that addresses the model, claims authority, starts tools, sends data away, hides from the user,
redirects lookups or is disguised gets a flag when it is stored. A flag is a reason to ask a person, not a verdict. The
wishes of a user ("always answer in German", "never push to main") are legitimate rules and get no flag.

The patterns are in ``instruction_patterns.txt``, each with its reason. They are matched against the text in plain
characters and lower case, with blanks collapsed. A pattern reads at most some hundred characters ahead, so the time is
linear in the length of the text. ``benchmarks/poisoning.py`` measures what the patterns miss and what they flag by
mistake.
Source: LIF-05.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Final

from commonplace.core.plain_views import plain_view
from commonplace.core.text import collapse_whitespace


class Flag(StrEnum):
    """The reasons why a memory waits for a person."""

    ADDRESSES_MODEL = "addresses_model"
    """It addresses the model: it replaces instructions, assigns a new role or opens another turn."""
    CLAIMS_AUTHORITY = "claims_authority"
    """It claims to come from a vendor or administrator, or waives approval, checks or rules."""
    STARTS_TOOLS = "starts_tools"
    """It starts dangerous commands, changes the agent's permissions, or obeys what a tool returns."""
    SENDS_DATA = "sends_data"
    """It sends secrets, conversations or files to an address."""
    CONCEALS = "conceals"
    """It hides something from the user, or keeps itself in memory."""
    REDIRECTS = "redirects"
    """It makes certain questions or words trigger another answer."""
    DISGUISED = "disguised"
    """Its words hold invisible characters or letters of another script that look alike."""
    UNTRUSTED_RULE = "untrusted_rule"
    """It is a rule from a document, a tool or the web; only people and agents may advise the agent. Knowledge memory
    sets this flag by the source, regardless of the words."""


MEANINGS: Final[Mapping[Flag, str]] = {
    Flag.ADDRESSES_MODEL: "it addresses the model",
    Flag.CLAIMS_AUTHORITY: "it claims authority or waives a check",
    Flag.STARTS_TOOLS: "it starts commands or tools",
    Flag.SENDS_DATA: "it sends data to an address",
    Flag.CONCEALS: "it hides something from the user",
    Flag.REDIRECTS: "it redirects questions to another answer",
    Flag.DISGUISED: "it contains disguised characters",
    Flag.UNTRUSTED_RULE: "it is a rule from a document, a tool or the web",
}
"""The reasons in words, for people."""

_INSIDE_WORD: Final = re.compile(
    r"[A-Za-z][\u00ad\u200b-\u200f\u2060-\u2064\u202a-\u202e\ufeff]+[A-Za-z]|[\U000e0020-\U000e007f]{2}"
)
_WORD: Final = re.compile(r"\w{3,}")
_LATIN: Final = re.compile("[A-Za-z]")
_CYRILLIC: Final = re.compile("[\u0400-\u04ff]")
_SPELT: Final = re.compile(r"(?<!\w)(?:\w ){2,}\w(?!\w)")
_SPEAKERS: Final = re.compile(r"(?:\A|\n\n)(?:User|Assistant): ")
"""The labels of the digest of a session, which are this product's own words."""
_DIGITS_IN_WORDS: Final = re.compile(r"(?<=[a-z])[013](?=[a-z])|\b[013](?=[a-z])")
_PART: Final = re.compile("«[a-z]+»")
_LETTERS: Final = {"0": "o", "1": "i", "3": "e"}


def find_flags(text: str) -> list[Flag]:
    """Return the reasons why a text looks like an instruction to the agent that reads it, without repeats.

    The labels of a digest of a session are left out: flags are about what people and tools wrote.
    """
    if text.startswith("User: "):
        text = _SPEAKERS.sub("\n\n", text)
    disguised = bool(_INSIDE_WORD.search(text)) or _mixes_alphabets(text)
    views = _views(text)
    found = {flag for flag, pattern in _patterns().items() if any(pattern.search(view) for view in views)}
    return [flag for flag in Flag if flag in found or (disguised and flag is Flag.DISGUISED)]


def in_words(flags: Iterable[str]) -> str:
    """Return flags as reasons for a person: "it addresses the model; it sends data to an address"."""
    return "; ".join(MEANINGS[Flag(flag)] for flag in flags)


def _mixes_alphabets(text: str) -> bool:
    """Return whether a word has both Latin and Cyrillic letters."""
    if not _CYRILLIC.search(text):
        return False
    return any(_CYRILLIC.search(word) and _LATIN.search(word) for word in _WORD.findall(text))


def _views(text: str) -> set[str]:
    """Return a text in plain lower case, and the same without spelled-out words, digits for letters and hyphens."""
    view = plain_view(text)
    plain = (text if view is None else view.text).casefold()
    joined = collapse_whitespace(_SPELT.sub(lambda found: found[0].replace(" ", ""), plain))
    return {
        collapse_whitespace(plain),
        _DIGITS_IN_WORDS.sub(lambda found: _LETTERS[found[0]], joined).replace("-", " "),
    }


@cache
def _patterns() -> dict[Flag, re.Pattern[str]]:
    text = files("commonplace.core").joinpath("instruction_patterns.txt").read_text(encoding="utf-8")
    lines = [line.partition(" ") for line in text.splitlines() if line and not line.startswith("#")]
    parts = {name: part for name, _, part in lines if name.startswith("«")}
    found: defaultdict[Flag, list[str]] = defaultdict(list)
    for name, _, pattern in lines:
        if name not in parts:
            found[Flag(name)].append(_PART.sub(lambda part: parts[part[0]], pattern))
    return {flag: _any_of(patterns) for flag, patterns in found.items()}


def _any_of(patterns: Sequence[str]) -> re.Pattern[str]:
    r"""Return a pattern for texts that match any of the patterns.

    Most patterns begin with ``\b``. Testing it once for all of them halves the time of a search.
    """
    at_words = [each.removeprefix(r"\b") for each in patterns if each.startswith(r"\b")]
    elsewhere = [each for each in patterns if not each.startswith(r"\b")]
    return re.compile("|".join([rf"\b(?:{'|'.join(at_words)})", *elsewhere]))
