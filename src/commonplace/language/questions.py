"""Questions and requests in English, German, Spanish and French, and statements in the same sentence as a question."""
# ruff: noqa: RUF001 - punctuation and letters of many scripts

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Final

_QUESTION_MARK: Final = re.compile(r"[?？][\"')\]]*$")
_ASKS: Final = re.compile(
    r"^(?:¿|(?:hey|ok|so|and|but|hi|hm+|well|und|y|et),? )*(?:"
    r"(?:how|why|which|whose|is|are|does|do|did|has|were|shall"
    r"|(?:what|when|where|who)(?:'s|s| (?:is|are|was|were|do|does|did|can|could|should|will|would|has|have|time|kind))"
    r"|wie|was|wann|wo|warum|wer|welche[rsn]?|wozu|gibt|ist|sind"
    r"|qué|cómo|cuándo|dónde|quién|cuál|cuánt[oa]s?"
    r"|comment|quand|pourquoi|combien|quel(?:le)?s?|est-ce|qu'est-ce)\b)"
)
REQUEST: Final = re.compile(
    r"^¿?(?:(?:hi|hey|hello|hallo|hola|bonjour|salut|ok|so|and|also|please|bitte)[,!.]?\s+)*"
    r"(?:(?:can|could|would|will) you|(?:kannst|k[oö]nntest|k[oö]nnen|k[oö]nnten) (?:du|sie)"
    r"|(?:me )?(?:puedes|podr[ií]as?|puede)|(?:est-ce que )?(?:tu peux|vous pouvez|peux-tu|pouvez-vous|pourriez-vous))"
    r"(?:\s+(?:please|bitte))?\s+",
    re.IGNORECASE,
)
_LEADS: Final = "so|or|and|but|then|now|also|und|oder|aber|dann|y|o|pero|et|ou|mais|alors|du coup"
_ENGLISH: Final = (
    r"(?:can|could|would|will|shall|should|may|might|do|does|did)(?:n['’]t)? \w"
    r"|(?:is|are|am|was|were|has|have|had|isn['’]t|aren['’]t) (?:i|you|we|he|she|it|they|that|this|these|those|there"
    r"|the|an?|my|our|your|his|her|their|any\w*)\b"
    r"|(?:what|how|why)(?:['’]?s)?\b|(?:who|when|where)(?:['’]?s| (?:can|could|do|does|did|is|are|will|would|should))\b"
    r"|(?:which|whose) (?:\w+ ){1,3}(?:is|are|do|does|would|should|can|could|will)\b"
    r"|(?:was |am )?wonder(?:ed|ing)\b"
    r"|any(?:thing)?(?: \w+)? (?:ideas?|suggestions?|tips?|chance|thoughts?|advice|recommendations?)\b"
)
_GERMAN: Final = (
    r"(?:kannst|könntest|kann|soll|sollte|sollen|darf|dürfen|muss|hast|habt|haben|geht|passt|gibt|ist|sind|lohnt|können"
    r"|könnten) (?:du|sie|ich|wir|ihr|es|das|die|der|man|mir|uns|da|sich)\b|gibt['’]?s\b"
    r"|(?:was|wie|wann|wo|warum|wer|wozu|welche[nrsm]?) \w"
)
_SPANISH: Final = (
    r"(?:qué|cómo|cuándo|dónde|cuál(?:es)?|cuánt[oa]s?|a qu?[eé]? hora|puedes|podrías|puedo|debo"
    r"|me recomiendas)\b"
)
_FRENCH: Final = (
    r"(?:est-ce|qu['’]est-ce|comment|combien|pourquoi|quel(?:le)?s?|tu|vous|peux-tu|pouvez-vous|pourr\w+-\w+"
    r"|(?:où|quand|que) (?:est|puis|dois|peut|peux|me|pouvez)|je (?:peux|dois)|on (?:peut|doit)|faut(?:-il)?)\b"
)
_OPENS: Final = re.compile(
    rf"(?:(?:{_LEADS}),? )*(?:¿|{_ENGLISH}|{_GERMAN}|{_SPANISH}|{_FRENCH})|so (?:is|are|has|have) ",
    re.IGNORECASE,
)
"""The beginning of a question behind a comma; a relative clause such as "who lives in Rome" is none."""

_BECAUSE: Final = (
    r"(?:asking )?because|(?:given|considering|seeing|now) (?:that|as)|weil|porque|ya que|parce que|vu que|sachant que"
    r"|puisque"
)
_REASON: Final = re.compile(rf"^(?:{_BECAUSE})\b\s*", re.IGNORECASE)
_CONTEXT: Final = re.compile(r"(?:since|as|cos|da|denn|como|car|comme)\b\s*", re.IGNORECASE)
_CUT: Final = re.compile(
    r"\s*(?:[,;…]|\.{3})\s*(?=\D)|\s+[-–—]+\s+|\s*(?=¿)"
    rf"|\s+(?=(?:so (?:what|which|who|when|where|how|why|is|are|do|does|did|can|could|should|would|will)|du coup"
    rf"|and (?:was |am )?wonder(?:ed|ing)|{_BECAUSE})\b)",
    re.IGNORECASE,
)
_ASIDE: Final = re.compile(r"\([^()]*\)")
_GENERAL: Final = re.compile(
    r"(?:(?:so|and|but|ok|okay|hi|hey|hello|well),? )*(?:if|when|whenever|unless|while|although|though|before|after"
    r"|once|in case|assuming|suppose|wenn|falls|ob|bevor|nachdem|sobald|si|cuando|aunque|quand|lorsque|bien que"
    r"|(?:they|people|some) say|i(?:['’]ve)? (?:heard|read)|i can(?:['’]?t|not) (?:tell|think|remember|recall))\b",
    re.IGNORECASE,
)
"""The beginning of a condition, of hearsay, or of a gap in the memory."""

_SELF: Final = re.compile(
    r"\b(?:i|i['’]?[md]|i?['’]?ve|we|we['’]re|my|our|ours|mine|me|us|ich|wir|mein\w*|unser\w*|mir|uns|hab"
    r"|(?:he|she)(?:['’]s| is| has)"
    r"|yo|soy|tengo|estoy|vivo|mi|mis|mío|mía|nos|nuestr\w+|je|nous|mon|ma|mes|notre|nos|on a)\b|\bj['’]",
    re.IGNORECASE,
)
_LEAST_WORDS: Final = 2


def is_question(sentence: str, *, marked: bool = False) -> bool:
    """Return whether a sentence is a question; with ``marked``, a request with a question mark counts too."""
    if _QUESTION_MARK.search(sentence):
        return marked or not REQUEST.match(sentence)
    return bool(_ASKS.match(sentence.casefold())) and not sentence.endswith((".", "!"))


def told_and_asked(sentence: str) -> list[str]:
    """Cut a question into what it tells and what it asks: "I am allergic to nuts, what can I cook?".

    The parts before the question tell something, unless they are a condition or hearsay; behind it, reasons and parts
    about the speaker do. If no part begins as a question, the last one asks. Any other sentence stays whole.
    """
    parts = list(_parts(sentence))
    if len(parts) == 1 or not is_question(sentence, marked=True):
        return [sentence]
    opens = [bool(_OPENS.match(part) or (not at and _asks_first(part))) for at, part in enumerate(parts)]
    first = opens.index(True) if any(opens) else None
    if first is None:
        opens[-1] = True
    is_general = _GENERAL.match(parts[0]) is not None
    told = [
        not opening
        and len(part.split()) >= _LEAST_WORDS
        and not is_general
        and _tells(part, before=first is not None and at < first)
        for at, (part, opening) in enumerate(zip(parts, opens, strict=True))
    ]
    if not any(told):
        return [sentence]
    return [
        _REASON.sub("", ", ".join(part for part, _ in group), count=1).rstrip("?？ ")
        + ("." if is_told else "?")
        for is_told, group in groupby(zip(parts, told, strict=True), key=lambda pair: pair[1])
    ]


def _tells(part: str, *, before: bool) -> bool:
    """Return whether a part tells something, before or behind the question."""
    return bool((before and not _CONTEXT.match(part)) or _REASON.match(part) or _SELF.search(part))


def _asks_first(part: str) -> bool:
    return bool(_ASKS.match(part.casefold()) or REQUEST.match(part))


def _parts(sentence: str) -> Iterator[str]:
    """Yield the parts of a sentence between commas and the like, except in parentheses."""
    shown = _ASIDE.sub(lambda aside: "_" * len(aside[0]), sentence)
    start = 0
    for cut in _CUT.finditer(shown):
        if cut.start() > start:
            yield sentence[start : cut.start()]
            start = cut.end()
    yield sentence[start:]
