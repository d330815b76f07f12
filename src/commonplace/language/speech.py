"""Speech acts in English, German, Spanish and French: reports, changes, thanks, advice; and filler words."""
# ruff: noqa: RUF001 - punctuation and letters of many scripts

import re
from typing import Final

from commonplace.language.importance_cues import language_of, plain
from commonplace.language.questions import REQUEST
from commonplace.language.values import kind_of, values

_OUTCOME: Final = re.compile(
    r"\b(?:(?:'ve|have) (?:\w+ )?\w+(?:ed|en|t|de)\b|i'll|will|now|set (?:to|up)|(?:has|have) been"
    r"|jetzt|habe[n]?|werden?|wird|steht|ahora|he |hemos|queda\w*|maintenant|desormais|j'ai"
    r"|(?:is|are|ist|sind|est|sont|esta|estan) (?:now )?\w+(?:ed|en|t|e|do|da)"
    r"|(?:confirm|schedul|book|order|mov|chang|add|not|sav|reserv|updat)ed|arrive\w*|arrivera|llegara"
    r"|(?:eingetragen|notiert|gebucht|bestellt|verschoben|geandert|reserviert|gespeichert|vermerkt)"
    r"|(?:anotad|reservad|cambiad|confirmad|programad|guardad|anadid)\w*"
    r"|(?:note|reserve|deplace|change|ajoute|confirme|programme|enregistre)\w*)\b"
)
_CHANGED: Final = re.compile(
    r"\b(?:(?<!from )now|instead|(?:mov|chang|updat|switch|correct|reschedul|postpon|adjust|rais|lower|rebook|replac)ed"
    r"|jetzt|nun|stattdessen|(?:ge|ver)ander\w*|verschoben|verlegt|umgebucht|korrigiert|angepasst|aktualisiert"
    r"|ahora|en su lugar|(?:cambi|modific|correg|actualiz|movi|aplaz|ajust)\w*"
    r"|maintenant|desormais|a la place|(?:deplace|modifie|change|corrige|reporte|decale|ajuste)\w*)\b"
)
_ACKNOWLEDGED: Final = re.compile(
    r"\b(?:noted|understood|got it|i(?:'ve| have) (?:noted|saved|written)"
    r"|i'll (?:remember|keep|make sure|note|only|never|always)|from now on"
    r"|notiert|vermerkt|verstanden|alles klar|ab jetzt|in zukunft|merke ich mir|ich achte"
    r"|anotado|entendido|tomo nota|lo tendre|a partir de ahora"
    r"|(?:est|bien|je) note|compris|entendu|je retiens|dorenavant)\b"
)
_THANKED: Final = re.compile(
    r"\b(?:(?:thanks|thank you)(?: so much| a lot| very much)? for (?:all )?"
    r"(?:telling|letting|sharing|the (?:heads|info|detail|hint|warning))"
    r"|good to know|dank(?:e)? fur (?:den hinweis|die info|das vertrauen|die offenheit)|das ist wichtig|gut zu wissen"
    r"|gracias por (?:avis|cont|dec|compart|inform)\w*|es bueno saber\w*"
    r"|merci (?:de (?:cette|votre|ta|me |m')|pour (?:cette|la|l')\s?(?:precis|info))|bon a savoir)"
)
_ADVICE: Final = re.compile(
    r"\b(?:you (?:can|could|should|might|may)|try|i (?:recommend|suggest)|consider|make sure|in general|usually|often"
    r"|commonly|generally"
    r"|there are (?:many|several)|for example|typically|many people|experts|du kannst|sie konnen|konnten|empfehle"
    r"|versuch\w*|in der regel|puedes|podrias|recomiendo|prueba|en general|vous pouvez|tu peux|recommande|essay\w*)\b"
)
_DEICTIC: Final = re.compile(
    r"\b(?:it|its|it's|that|this|one|those|them|es|das|dies\w*|ese|esa|eso|este|esta|ca|celui|celle)\b"
)
_FIRST_PERSON: Final = {
    "en": re.compile(r"\b(?:i|i'm|im|i've|ive|i'll|id|i'd|my|me|mine|we|we're|our|us)\b", re.IGNORECASE),
    "de": re.compile(r"\b(?:ich|mir|mich|mein\w*|wir|uns|unser\w*)\b", re.IGNORECASE),
    "es": re.compile(
        r"\b(?:yo|mi|mis|me|nosotr\w+|nuestr\w+|soy|tengo|vivo|estoy|prefiero|necesito|quiero|somos|tenemos)\b",
        re.IGNORECASE,
    ),
    "fr": re.compile(r"\b(?:je|j'\w+|me|m'\w+|moi|mon|ma|mes|nous|notre|nos)\b", re.IGNORECASE),
}

_GREETING: Final = re.compile(
    r"^(?:good (?:morning|afternoon|evening)"
    r"|hey|hi|hello|so|oh|ah+|um|uh|h+m+|well|and|also|but|btw|by the way|anyway|actually|please|pls|hold on"
    r"|no wait|wait|sorry|yeah|yep|yes|ok(?:ay)?|alright|no sorry|no no|got it|sure thing|of course|yo|listen"
    r"|und|ja|ach|bitte|ubrigens|übrigens|außerdem|ausserdem|aber|äh|hallo|moin|moment|quatsch|eigentlich"
    r"|y|pues|bueno|sí|por favor|además|pero|hola|buenas|vale|en realidad"
    r"|et|ben|alors|oui|mais|bonjour|salut|d'accord|bien sûr|c'est noté|en fait|finalement)(?:[\s,.!:…—–-]+|$)",
    re.IGNORECASE,
)
"""Filler at the start of a clause."""

_REPLY: Final = re.compile(
    r"^(?:perfect|great|lovely|good|nice|thanks|thank you|absolutely|certainly|right|no|nope"
    r"|cool|super|done|all done|all set|oops|sure|noted|understood|no problem|no worries|prima|kein problem|wunderbar"
    r"|no hay problema|pas de (?:probleme|problème|souci)"
    r"|because|then|look|nein|danke|verstanden|alles klar|natürlich|gerne?|nee|gracias|claro(?: que sí)?"
    r"|entendido|perfecto|okey|non|merci|entendu|parfait)\s*[,.!:…—–-]+\s*",
    re.IGNORECASE,
)
"""Filler at the start of a clause if punctuation follows: "no cashews" is not filler."""

_TAIL: Final = re.compile(
    r"(?:[\s,]+(?:please|pls|plz|thanks|thank you|thx|btw|though|ok|okay|bitte|danke|por favor|gracias|svp"
    r"|s'il (?:te|vous) plaît|merci)|\s*[:;]-?[)D(]|[\s,;:–—-])+$",
    re.IGNORECASE,
)
_ENDS: Final = " .!,;?？、，。！"
_I_DID: Final = re.compile(
    r"^(?:I|We)(?:'ve|’ve| have)(?: also| now| just)? |^(?:Ich habe|Wir haben|Hemos|Nous avons) |^J['’]ai "
    r"|^He (?=\w+(?:do|to|cho)\b)"
)
"""What an assistant's report begins with; the Spanish "He anotado" is no English "He"."""
_I_WILL: Final = re.compile(r"^(?:I|We)(?:'ll|’ll| will) ")
_NOT: Final = re.compile(
    r",?\s+(?:instead of|rather than|and not|not|nicht|statt|anstatt|en vez de|en lugar de|no|au lieu d[eu]|et pas|pas)"
    r"\s+(?:\S+\s+){0,3}?\S*?(?=$|[,;.]|\s+(?:and|as|because|und|wie|weil|y|que|porque|et|comme)\b)",
    re.IGNORECASE,
)
_FROM: Final = re.compile(
    r"(?:(?<=moved)|(?<=moves)|(?<=went up)|(?<=went down)|(?<=changed)|(?<=raised)|(?<=increased)|(?<=rose)"
    r"|(?<=dropped)|(?<=fell)|(?<=postponed)|(?<=pass[ée])|(?<=augmenté)|(?<=monté)|(?<=baissé)|(?<=pasó)|(?<=pasa)"
    r"|(?<=subió)|(?<=bajó)|(?<=sube)|(?<=cambió))\s+(?:from|de|du|del)\s+(?:\S+\s+){0,3}?\S+(?=\s+(?:to|à|au|a|al)\s+)"
    r"|\s+vo[nm]\s+(?:\S+\s+){0,3}?\S+(?=\s+auf\s+)",
    re.IGNORECASE,
)
_EMOJI: Final = re.compile("[\U0001f000-\U0001faff\u2600-\u27bf\ufe0f]")


def reports(text: str) -> bool:
    """Return whether a text says that something was done, is arranged, or will be done."""
    return bool(_OUTCOME.search(plain(text)))


def changes(text: str) -> bool:
    """Return whether a text says that something was changed."""
    return bool(_CHANGED.search(plain(text)))


def thanks_for_telling(text: str) -> bool:
    """Return whether a text expresses thanks for information."""
    return bool(_THANKED.search(plain(text)))


def acknowledges(text: str) -> bool:
    """Return whether a text says that a statement was understood and noted."""
    return thanks_for_telling(text) or bool(_ACKNOWLEDGED.search(plain(text)))


def advises(text: str) -> bool:
    """Return whether a text gives advice or general knowledge."""
    return bool(_ADVICE.search(plain(text)))


def points(text: str) -> bool:
    """Return whether a text refers to an earlier statement with a word such as "it" or "that one"."""
    return bool(_DEICTIC.search(plain(text)))


def speaks_of_self(text: str, language: str | None = None) -> bool:
    """Return whether the speaker says "I", "my" or "we"; without ``language``, it is guessed from the text."""
    return bool(_FIRST_PERSON[language or language_of(text) or "en"].search(text))


def tidy(text: str, *, keeps_self: bool) -> str:
    """Return a clause without filler at its ends, and without a value that it rejects.

    Without ``keeps_self``, it begins with what the speaker did or will do: "I've booked it" is "Booked it".
    """
    shown = _without_replaced(_EMOJI.sub("", text).strip())
    while found := _GREETING.match(shown) or _REPLY.match(shown):
        shown = shown[found.end() :]
    shown = _TAIL.sub("", REQUEST.sub("", shown).rstrip(_ENDS)).strip()
    return shown if keeps_self else _I_WILL.sub("Will ", _I_DID.sub("", shown))


def rejected(text: str) -> frozenset[str]:
    """Return the values that a text rejects: the 6 of "8, not 6"."""
    return frozenset(value for found in _NOT.finditer(text) for value in values(found[0]))


def _without_replaced(text: str) -> str:
    """Return a text without the rejected one of two values: "Sunday, not Saturday"; "moved from nine to ten"."""
    for pattern in (_NOT, _FROM):
        for found in pattern.finditer(text):
            rest = text[: found.start()] + text[found.end() :]
            gone = {kind_of(value) for value in values(found[0])}
            if gone and gone <= {kind_of(value) for value in values(rest)}:
                return rest
    return text
