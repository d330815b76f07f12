"""Phrases that make a period of days, in English, German, Spanish, French and Portuguese.

Each span of days is one character in these patterns; see :func:`character`.
"""

import re
from dataclasses import dataclass
from typing import Final

from commonplace.language.cues import spellings
from commonplace.language.day_meanings import SpanKind

MOST_SPANS: Final = 16
_FIRST: Final = 0xE000
_KINDS: Final = list(SpanKind)


def character(kind: SpanKind, place: int) -> str:
    """Return the character that stands for a span in a sentence."""
    return chr(_FIRST + _KINDS.index(kind) * MOST_SPANS + place)


CHARACTERS: Final = re.compile(f"[{chr(_FIRST)}-{chr(_FIRST + len(_KINDS) * MOST_SPANS)}]")
"""The characters that stand for spans; a text that has one of its own names no period."""


def _any(*kinds: SpanKind) -> str:
    """Return a pattern of the characters of some kinds."""
    blocks = (f"{character(kind, 0)}-{character(kind, MOST_SPANS - 1)}" for kind in kinds)
    return f"[{''.join(blocks)}]"


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrase:
    """Words that make a day the beginning or the end of a period.

    Attributes:
        cues: The first words, without which the pattern cannot match.
        pattern: The words, with the day as the group ``date``.
        begins: Whether the day begins the period.
        reading: How the day is chosen from the days that may be meant.
        shift: The number of days between that day and the one that the period begins or ends with.
    """

    cues: frozenset[str]
    pattern: re.Pattern[str]
    begins: bool
    reading: str
    shift: int = 0


_POINT: Final = _any(SpanKind.DAY, SpanKind.NEAR, SpanKind.WEEKDAY)
_STRETCH: Final = _any(SpanKind.STRETCH)
_DATE: Final = _any(SpanKind.DAY, SpanKind.NEAR, SpanKind.WEEKDAY, SpanKind.STRETCH, SpanKind.END)
_ANY_DAYS: Final = _any(SpanKind.DAY, SpanKind.NEAR, SpanKind.WEEKDAY, SpanKind.STRETCH)
_LENGTH: Final = _any(SpanKind.LENGTH)
_AHEAD: Final = _any(SpanKind.AHEAD)
A_LENGTH: Final = re.compile(_LENGTH)
A_RANGE: Final = re.compile(_any(SpanKind.RANGE))
_THE: Final = (
    r"(?:(?:the|den|dem|der|die|das|le|la|les|el|los|las|o|a|os|as|ao|à|aos|às|dia|día|the\smonth\sof|month\sof)\s"
    r"|l['\u2019]){0,2}"
)
_ON: Final = r"(?:\s(?:on|in|am|im|le|el|em|en|no))?"

_OPENING: Final = (
    r"(?:from|vom|von|du|de|des|del|desde(?:\sel|\sla|\so|\sa)?|da|do|das|dos"
    r"|(?P<between>between|zwischen|entre))"
)
_PART: Final = (
    r"(?:\s(?:(?:at|um|à|a\slas|às)\s\d{1,2}(?::\d\d)?(?:\s?(?:[ap]m|h|uhr))?|mornings?|noon|midday|afternoon|evening|night|früh|mittag|nachmittag|abend|matin|midi|soir|por\sla\s\w+"
    r"|à\snoite|à\starde|de\smanhã))?"
)
_TO: Final = _PART + (
    r",?(?:\s(?:to|until|till?|through(?:\sto)?|thru|up\sto|bis|bis\szum|bis\sund\smit|bis\seinschlie(?:ß|ss)lich|au|à|jusqu['\u2019]au"
    r"|jusqu['\u2019]à|al|a|hasta|hasta\sel|hasta\sla|até|até\so|até\sa|ao|à|(?P<joint>and|und|et|y|e|&))\s|\s?[\u2013\u2014-]\s?)"
)
TO: Final = _compiled(rf"{_DATE}{_TO}{_THE}{_DATE}")
"""The middle of :data:`FROM_TO`, which is quick to find."""

FROM_TO: Final = _compiled(
    rf"(?:\b(?P<opening>{_OPENING})\s)?{_THE}(?P<first>{_DATE}){_TO}{_THE}(?P<last>{_DATE})(?:\s(?:inclus|inclusive|included|incluido"
    r"|einschlie(?:ß|ss)lich))?"
)
_STARTING: Final = (
    r"(?:starting|beginning|from|as\sof|effective|ab|vom|beginnend|à\spartir\sd[eu]|à\scompter\sd[eu]|dès|a\spartir\sdel?"
    r"|a\spartir\sd[eao]|desde|a\scontar\sdel?)"
)
_FOR: Final = r"(?:for|für|während|pendant|pour|durant|durante|por)"
LENGTH_FROM: Final = _compiled(
    rf"\b{_FOR}\s(?P<length>{_LENGTH}),?\s{_STARTING}{_ON}\s{_THE}(?P<date>{_POINT})"
)
FROM_LENGTH: Final = _compiled(
    rf"\b{_STARTING}{_ON}\s{_THE}(?P<date>{_POINT}),?(?:[\w\s]*?)\s(?:(?:and|und|et|y|e)\s)?{_FOR}\s(?P<length>{_LENGTH})"
    r"(?:,\s\S+\s(?:eingerechnet|inbegriffen|included|inclus|incluido))?"
)
AHEAD: Final = _compiled(
    rf"(?:\b(?:{_FOR}|over|during|within|in|en|em|nas|nos|dans|au\scours\sd(?:e|es))\s)?{_THE}(?P<length>{_AHEAD})"
)

FOR_LENGTH: Final = _compiled(rf"\b{_FOR}\s(?P<length>{_LENGTH})")

_SINCE: Final = r"\b(?:since|seit|depuis)"
_DESDE: Final = rf"\bdesde(?!\s(?:el\s|la\s|a\s|o\s)?{_any(SpanKind.WEEKDAY)})"
"""In Spanish and Portuguese, "desde el lunes" may be the last Monday or the next."""
_FROM: Final = (
    r"(?:\b(?:as\sof|as\sfrom|with\seffect\sfrom|effective|starting|beginning|ab|mit\swirkung\s(?:vom|ab)"
    r"|à\spartir\s(?:d[eu]|d['\u2019](?=\S))|à\scompter\sd[eu]|dès|a\spartir\sd(?:el?|[ao])|a\scontar\sd(?:el?|[ao])|desde\sya\sy\sdesde)"
    r"|^from|(?P<on>\b(?:from|vom|von)))"
)
_ONWARDS: Final = (
    r"(?:on(?:wards?)?\b|and\slater|forward|an\b|en\sadelante|em\sdiante|until\sfurther\snotice"
    r"|bis\sauf\sweiteres|jusqu['\u2019]à\snouvel\sordre|hasta\snuevo\saviso|até\s(?:novo\saviso|nova\sordem))"
)
_INCLUDED: Final = (
    r"(?:\s(?:inclusive|included|inclus|incluse|compris|y\scompris|einschlie(?:ß|ss)lich|inklusive|inkl\.|incluido|incluida"
    r"|incluído))"
)
_UNTIL: Final = (
    r"\b(?:until|till|til|(?<=\bnow\s)to|up\suntil|up\sto|bis(?:\szum|\szur)?|hasta|até"
    r"|jusqu['\u2019](?:à|au|en|aux))"
)
_HOUR: Final = r"(?:(?:\d{1,2}(?::\d\d)?(?:\s?[ap]m)?|noon)\son\s)?"
_THROUGH: Final = (
    r"\b(?:through|thru|until\sand\sincluding|up\sto\sand\sincluding|bis\sund\smit|bis\seinschlie(?:ß|ss)lich|bis\sinklusive"
    r"|bis\sinkl\.|bis\smit|hasta\sfinales\sde|jusqu['\u2019]à\sla\sfin\sd[eu])"
)
_EXCLUDED: Final = (
    r"(?:\s\(?(?:exclusive|excluded|not\sincluded|ausschlie(?:ß|ss)lich|exklusive|exclu|non\scompris|excluido"
    r"|excluído))"
)
_UP_TO: Final = (
    r"\b(?:up\sto\sbut\snot\sincluding|until\sbut\snot\sincluding|until\sbut\sexcluding|bis\sausschlie(?:ß|ss)lich"
    r"|bis\svor)"
)

BEGINS: Final = (
    Phrase(
        cues=frozenset(spellings("since|seit|depuis")),
        pattern=_compiled(rf"{_SINCE}\s{_THE}(?P<date>{_DATE})"),
        begins=True,
        reading="since",
    ),
    Phrase(
        cues=frozenset({"desde"}),
        pattern=_compiled(rf"{_DESDE}\s{_THE}(?P<date>{_DATE})"),
        begins=True,
        reading="desde",
    ),
    Phrase(
        cues=frozenset(spellings("as|with|effective|starting|beginning|ab|mit|à|dès|a|desde|from|vom|von")),
        pattern=_compiled(
            rf"{_FROM}{_ON}(?:\s|(?<=['\u2019])){_THE}(?P<date>{_DATE})(?P<onwards>,?\s{_ONWARDS})?"
        ),
        begins=True,
        reading="from",
    ),
    Phrase(
        cues=frozenset(spellings("onwards?|later|en|em")),
        pattern=_compiled(
            rf"(?<!\bfrom )(?P<date>{_POINT}|{_STRETCH})\s(?:onwards?|and\slater|en\sadelante|em\sdiante)\b"
        ),
        begins=True,
        reading="from",
    ),
    Phrase(
        cues=frozenset(spellings("after|nach|après|después|tras|depois|após")),
        pattern=_compiled(
            rf"^(?:after|nach|après|después\sde(?:l)?|tras|depois\sd[eo]|após)\s{_THE}(?P<date>{_any(SpanKind.DAY)})"
        ),
        begins=True,
        reading="from",
        shift=1,
    ),
    Phrase(
        cues=frozenset(spellings("takes?|comes?|come|tritt|treten|entrent|entre|entran?")),
        pattern=_compiled(
            r"\b(?:takes?\seffect|comes?\sinto\s(?:force|effect)|tritt|treten|entren?t?\sen\svigueur|entran?\se[nm]\svigor)"
            rf"(?:\s(?:on|am|le|el|a|em))?\s(?P<date>{_any(SpanKind.DAY, SpanKind.NEAR)})(?:\sin\skraft)?"
        ),
        begins=True,
        reading="from",
    ),
)
ENDS: Final = (
    Phrase(
        cues=frozenset(spellings("up|until|bis")),
        pattern=_compiled(rf"{_UP_TO}\s{_THE}(?P<date>{_DATE})"),
        begins=False,
        reading="exact",
        shift=-1,
    ),
    Phrase(
        cues=frozenset(spellings("until|till?|to|up|bis|hasta|até|jusqu")),
        pattern=_compiled(rf"{_UNTIL}\s{_THE}(?P<date>{_DATE}),?{_EXCLUDED}"),
        begins=False,
        reading="exact",
        shift=-1,
    ),
    Phrase(
        cues=frozenset(spellings("through|thru|until|up|bis|hasta|jusqu")),
        pattern=_compiled(rf"{_THROUGH}\s{_THE}(?P<date>{_DATE}){_INCLUDED}?"),
        begins=False,
        reading="through",
    ),
    Phrase(
        cues=frozenset(spellings("until|till?|to|up|bis|hasta|até|jusqu")),
        pattern=_compiled(rf"{_UNTIL}\s{_THE}(?P<date>{_DATE}),?{_INCLUDED}"),
        begins=False,
        reading="through",
    ),
    Phrase(
        cues=frozenset(spellings("until|till?|to|up|bis|hasta|até|jusqu")),
        pattern=_compiled(rf"{_UNTIL}\s{_HOUR}{_THE}(?P<date>{_DATE})(?!,?{_INCLUDED}|,?{_EXCLUDED})"),
        begins=False,
        reading="until",
    ),
    Phrase(
        cues=frozenset(
            spellings(
                "ends?|expires?|runs|lapses|endet|läuft|gilt|prend|se|expire|finit|termina|acaba|finaliza|caduca|expira"
            )
        ),
        pattern=_compiled(
            r"\b(?:ends?|expires?|runs\sout|lapses|endet|läuft(?=.*\s(?:ab|aus)\b)|prend\sfin|se\stermine|expire|finit|termina|acaba"
            rf"|finaliza|caduca|expira)(?:\s(?:on|at|am|le|à|el|a|em|no|en))?\s{_THE}"
            rf"(?P<date>{_any(SpanKind.DAY, SpanKind.NEAR, SpanKind.END)})(?:\s(?:ab|aus))?"
        ),
        begins=False,
        reading="through",
    ),
    Phrase(
        cues=frozenset(spellings("before|vor|avant|antes")),
        pattern=_compiled(
            rf"^(?:before|vor|avant|antes\sd(?:el?|[ao]))\s{_THE}(?P<date>{_any(SpanKind.DAY)})"
        ),
        begins=False,
        reading="exact",
        shift=-1,
    ),
)
_BETWEEN: Final = r"(?:between|zwischen|entre)"
RANGE: Final = _compiled(
    rf"(?:\b(?:(?P<between>{_BETWEEN})|{_OPENING.replace('?P<between>', '?:')}|during|in|on|am|im|le|el|em"
    r"|nos\sdias)\s)?"
    rf"{_THE}(?P<range>{_any(SpanKind.RANGE)})(?:\s(?:inclus|inclusive|included|incluido|einschlie(?:ß|ss)lich))?"
)
DURING: Final = _compiled(
    r"(?:\b(?P<in>(?P<strong>during|throughout|während|durant|pendant|durante|au\scours\sd[eu]|all(?:\sof)?|the\s(?:whole|entire)|(?:den\s|das\s|die\s)?ganzen?|tout\sle|toute\sla|todo\sel|toda\sla|todo\so|toda\sa"
    r"|for\sthe\s(?:month|week)\sof|only\sin"
    r"|nur\sim|seulement\sen|sólo\sen|solo\sen|(?:só|apenas|somente)\sem)|in|im|en|em|no|na|nos|nas|over|for|für|au)\s"
    r"(?:(?:the|der|den|dem|des|le|la|les|el|los|las|o|a|whole|entire|ganzen?|gesamten?|tout|toute|todo|toda|all)\s"
    r"|l['\u2019]|(?:mois|mes|mês|month|monat|semaine|semana)\s(?:d[eo]\s|of\s|d['\u2019])?)*|\b(?:on|am|le|el|nos?|em|den)\s)?"
    rf"(?P<date>{_ANY_DAYS})"
)

_LIMITS: Final = r"(?:until|till|up\sto|bis|hasta|até|jusqu['\u2019](?:à|au|aux|en))"
GOVERNED: Final = _compiled(
    rf"\b(?:{_LIMITS}\s(?:\S+\s){{0,2}}|(?:from|by|per|zum|before|after|since|to|than|ab|seit|vor|nach|depuis|antes|avant|après|dès|après|tras|después)\s"
    r"(?:(?:the|den|dem|der|le|la|el|o|a|de|del|do|da)\s)?)$"
)
"""Words before days that are no time in which something holds."""

LIMITED: Final = _compiled(
    r"\b(?:in|im|en|em|während|during|durante|pendant)\s(?:the\s|der\s|dem\s|le\s|el\s)?$"
)

ATTACHED: Final = _compiled(r"(?:\b(?:of|vom|von|dated|des|du|de|del|do|da|d['\u2019])\s?(?:the\s|\w+,\s)?)$")
NEXT_SENTENCE: Final = re.compile(
    r"(?<!\b[A-Za-z])(?<!\b(?:Dr|Mr|Ms|St|Nr|No|Fr|Hr|Sr|ca))(?<!\b(?:Mrs|Sra|Dra|Mme|bzw))(?<!\b(?:Prof|inkl|Mlle))"
    r"[.!?;]\s+\S"
)
CLOSED: Final = re.compile(r"\s*(?:$|[.,;:)](?!\d))")
CLOSED_BEFORE: Final = re.compile(r"[,;:]\s$")
CONTINUED: Final = _compiled(
    r"\s(?:in|im|at|am|auf|bei|beim|an|en|à|au|aux|chez|as|als|for|für|por|para|pour|on|with|mit|con|avec|and|und|y|et"
    r"|but|aber|pero|mais|because|weil|porque|parce|e|com|em|no|na|inclus\w*|onwards?|offline|down|closed|out|off"
    r"|geschlossen|gesperrt|weg|zu|krank|abwesend|fermée?s?|cerrad[oa]s?|fechad[oa]s?)\b"
)
BELONGS: Final = re.compile(
    r"\s(?:\d(?!\d?:\d\d)|of\b|des?\b|du\b|del\b|d[ao]\b|d['\u2019])|['\u2019]", re.IGNORECASE
)
PRELUDE: Final = _compiled(
    r"^(?:noch|nur\snoch|erst|schon|auch|only|also|just|encore|seulement|sólo|solo|só)\s$"
)
"""Words before a phrase that still begins the sentence."""

VERB_FIRST: Final = _compiled(r"(?:seit|ab|bis|hasta|desde|até|jusqu|depuis|à\spartir|a\spartir|dès)")
SUBJECT: Final = re.compile(r"\s(?:the(?!\s\d)|our|my|all|I|we|you|he|she|they|it)\b")
BRACKET: Final = _compiled(r"\s\((?:(?:the|am|den|le|el|o)\s)?")
INSERTED: Final = _compiled(r",\s(?=\w)[^,()]*$|\([^()]*\w[^()]*$")
"""The beginning of an insertion that has words of its own: "the pass (valid until ...) is in the safe"."""
INSERTED_END: Final = _compiled(
    r"^[^,()]*(?:\)|,\s(?!(?:and|but|so|because|und|aber|weil|denn|et|mais|car|y|pero|porque|e|mas)\b)\w)"
)
EXCEPT: Final = _compiled(
    r"\b(?:except(?:\sfor)?|apart(?:\sfrom)?|outside|other\sthan|instead(?:\sof)?|außer|statt|ausgenommen|abgesehen|sauf|hormis"
    r"|excepté|à\spart|au\slieu|excepto|salvo|exceto|en\slugar|em\svez)\s$|\d[./]\d{1,2}\s$"
)
"""Words before days that a sentence leaves out, or digits that may be the first of these days."""
IN_MONTHS: Final = _compiled(
    r"\b(?:in|im|en|em|between|zwischen|entre|during|throughout|während|pendant|durante?)\s(?:the\s|les\s)?$"
)
LIMITING: Final = _compiled(r"\b(?:until|till?|through|bis|hasta|até|jusqu)\b")
BARE_NUMBER: Final = re.compile(r"\d{1,2}[./]\d{1,2}|\d{4}")
"""Digits that are a date only between words that say so: "Ubuntu 24.04 until 30 June" is no range."""
OF_SUBJECT: Final = _compiled(r"\s(?:is|are|ist|sind|est|sont|está|están|estão|es|é|n['\u2019]est|no|não)\b")
"""Words after days that belong to the subject before them: "the budget for next year is frozen"."""
NAMING_DAY: Final = _compiled(r"(?<!\bon )\b(?:the|this)\s$")
"""Words before a day that says which one of something is meant: "the 8 December contract"."""
BACK: Final = _compiled(
    r"\b(?:back|returns?|wieder\s(?:da|zurück)|zurück|de\sretour|retour|vuelve|regresa|volta)\s(?:(?:on|am|le|el|a|em)\s)?$"
)
"""Words before the day on which somebody is back, which says nothing more than the end of the period before it."""
ALONE_BEFORE: Final = _compiled(r"(?:^|[,;:(]\s)$|\b(?:the|die|la|closed|shut|off|out|away|frozen)\s$")
ALONE_AFTER: Final = _compiled(
    r"\s(?:no|kein\w*|sin|sem|pas\sde|aucun\w*|nobody|niemand|nadie|personne|nur|only)\b"
)
UNREAD_DATE: Final = re.compile(
    r"(?<![\d./-])(?:0?[1-9]|[12]\d|3[01])(?:[./-](?:0[1-9]|1[0-2])|\.[1-9](?=\.))(?:[./-](?=\D|$)|(?![\d./%-]))"
)
"""Digits outside of all spans that may be a day and a month."""
EXCLUDES: Final = _compiled(
    r"\b(?:not\sinclud|exclud|exclusive|ausschlie(?:ß|ss)lich|exklusiv|nicht\s(?:mehr\s)?(?:ein|inbegriffen)|exclu|non\s(?:compris|inclus)"
    r"|sin\sincluir|no\sinclu|não\sinclu)"
)
"""Words that take the day of a phrase out of the period; :data:`ENDS` reads those that stand right beside it."""
OTHER_END: Final = _compiled(r"\b(?:until|till?|bis(?!\szu\s\d)|hasta|até|jusqu)\b")
FROM_THEN: Final = _compiled(
    r"\b(?:from\s(?:then|that|there)|ab\s(?:da|dann|dem|diesem)\b|seitdem|à\spartir\sde\s(?:ce|là)|dès\slors"
    r"|a\spartir\sde\s(?:es[ea]|entonces)|desde\s(?:entonces|es[ea]|então|ess[ea])|a\spartir\s(?:daí|dess[ea]))"
)
"""Words by which the days before them are a beginning: "on Thursday the fax goes: from that day on, use the portal"."""
OTHER_BEGINNING: Final = _compiled(
    r"\b(?:from|von|vom|ab|seit|since|du|desde|depuis|à\spartir\s\S+|a\spartir\s\S+)\s(?:\S+\s)?\S*\d"
)
