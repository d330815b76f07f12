"""Words of the calendar in English, German, Spanish, French and Portuguese."""

from collections.abc import Mapping
from typing import Final

from commonplace.language.weekdays import WEEKDAYS as _WEEKDAYS

MONTHS: Final = (
    "january|jan|januar|jänner|enero|ene|janvier|janv|janeiro",
    "february|feb|februar|febrero|février|fevrier|févr|fév|fevereiro|fev",
    "march|mar|märz|marzo|mars|março",
    "april|apr|abril|abr|avril|avr",
    "may|mai|mayo|maio",
    "june|jun|juni|junio|juin|junho",
    "july|jul|juli|julio|juillet|juil|julho",
    "august|aug|agosto|août|aout",
    "september|sept|sep|septiembre|septembre|setembro",
    "october|oct|oktober|okt|octubre|octobre|outubro",
    "november|nov|noviembre|novembre|novembro",
    "december|dec|dezember|dez|diciembre|dic|décembre|decembre|déc|dezembro",
)
"""The names of each month, as patterns in lower case; January is first."""

_PORTUGUESE: Final = (
    "segunda-feira|segunda",
    "terça-feira|terça",
    "quarta-feira|quarta",
    "quinta-feira|quinta",
    "sexta-feira|sexta",
    "",
    "",
)
WEEKDAYS: Final = tuple(
    f"{names}|{more}".strip("|") for names, more in zip(_WEEKDAYS, _PORTUGUESE, strict=True)
)
"""The names of each day, as patterns in lower case; Monday is first."""

SHORT_WEEKDAYS: Final = (
    "mon|mo|lun|seg",
    "tues?|di(?=[.,])|mar|ter",
    "weds?|mi(?=[.,])|mié|mie|mer|qua",
    "thurs?|thu|do(?=[.,])|jue|jeu|qui",
    "fri|fr|vie|ven|sex",
    "sat|sa|sáb|sab|sam",
    "sun|so(?=[.,])|dom|dim",
)
"""The abbreviations of each day, as patterns in lower case; most are words too, so they count before a date only."""

LIMIT_WEEKDAYS: Final = (
    "mon|tues?|weds?|thurs?|thu|fri|sat|sun|lun|mié|jue|vie|sáb|dom|jeu|ven|sam|dim|seg|qua|qui|sex"
)
"""A pattern of abbreviations that count after a word such as "until" as well."""

DAYS_AWAY: Final = {
    "vorgestern": -2,
    "day before yesterday": -2,
    "avant-hier": -2,
    "anteayer": -2,
    "anteontem": -2,
    "yesterday": -1,
    "gestern": -1,
    "ayer": -1,
    "hier": -1,
    "ontem": -1,
    "today": 0,
    "this morning": 0,
    "this afternoon": 0,
    "this evening": 0,
    "ce matin": 0,
    "ce soir": 0,
    "hoje à noite": 0,
    "tonight": 0,
    "heute": 0,
    "hoy": 0,
    "hoje": 0,
    "aujourd'hui": 0,
    "aujourd\u2019hui": 0,
    "tomorrow": 1,
    "tmrw": 1,
    "tmr": 1,
    "morgen": 1,
    "mañana": 1,
    "demain": 1,
    "amanhã": 1,
    "day after tomorrow": 2,
    "übermorgen": 2,
    "pasado mañana": 2,
    "après-demain": 2,
    "depois de amanhã": 2,
}
"""The number of days between today and the day that each word means."""

NEAR_DAYS: Final[Mapping[int, str]] = {
    -1: "yesterday|gestern|ayer|hier|ontem",
    0: "today|heute|hoy|aujourd['\u2019]hui|hoje",
    1: "tomorrow|morgen|mañana|demain|amanhã",
}
"""Patterns of the words for the days beside today, by their distance from today."""

SPANS: Final = ("week|woche|semana|semaine", "month|monat|mes|mois|mês", "year|jahr|año|année|ano")
"""Patterns of the words for a week, a month and a year."""

UNITS: Final = {
    "day": "days?|tage?n?|días?|dias?|jours?",
    "week": "weeks?|wks?|wochen?|semanas?|semaines?",
    "fortnight": "fortnights?",
    "month": "months?|monate?n?s?|mes|meses|mois|mês",
    "quarter": "quarters?|quartale?s?|trimestres?",
    "half": "semestres?|halbjahre?s?",
    "year": "years?|jahre?n?s?|años?|anos?|ans?|années?",
    "weekend": "weekends?|week-ends?|wochenenden?|fin de semana|fim de semana|fines de semana",
}
"""Patterns of the words for each stretch of days, in lower case."""

NUMBERS: Final = (
    "one|an|a|eine[mnrs]?|ein|una|un|uno|une|uma|um",
    "two|zwei|dos|deux|duas|dois|couple of",
    "three|drei|tres|trois|três",
    "four|vier|cuatro|quatre|quatro",
    "five|fünf|cinco|cinq",
    "six|sechs|seis",
    "seven|sieben|siete|sept|sete",
    "eight|acht|ocho|huit|oito",
    "nine|neun|nueve|neuf|nove",
    "ten|zehn|diez|dix|dez",
    "eleven|elf|once|onze",
    "twelve|zwölf|doce|douze|doze",
)
"""The names of each number, as patterns in lower case; one is first."""

ORDINALS: Final = (
    "1st|first|1\\.|1er|1re|1º|erste[nmrs]?|premier|première|primer|primero|primeiro",
    "2nd|second|2\\.|2e|2º|zweite[nmrs]?|deuxième|seconde?|segundo",
    "3rd|third|3\\.|3e|3º|dritte[nmrs]?|troisième|tercer|tercero|terceiro",
    "4th|fourth|last|4\\.|4e|4º|vierte[nmrs]?|letzte[nmrs]?|quatrième|dernier|cuarto|quarto|último",
)
"""The names of the first to the fourth, as patterns in lower case."""

NEXT: Final = r"next|nxt|nächste[nmrs]?"
"""Words that may skip the rest of this week."""

COMING: Final = r"coming|this\scoming|upcoming|kommende[nmrs]?|próximo|próxima|prochaine?|que\sviene|que\svem"
"""Words that mean the nearest of its kind that has not begun."""

THIS: Final = r"this|the\scurrent|current|diese[nmrs]?|ce|cette|cet|este|esta|neste|nesta|laufende[nmrs]?"
LAST: Final = (
    r"last|letzte[nmrs]?|vergangene[nmrs]?|vorige[nmrs]?|pasado|pasada|passado|passada|dernière|dernier"
)
AFTER_NEXT: Final = r"übernächste[nmrs]?"

HOLIDAYS: Final = {
    "good friday|karfreitag|vendredi saint|viernes santo|sexta-feira santa": -2,
    "easter sunday|ostersonntag|dimanche de pâques|domingo de pascua|domingo de páscoa": 0,
    "easter monday|ostermontag|lundi de pâques|lunes de pascua": 1,
    "ascension day|auffahrt|christi himmelfahrt": 39,
    "whit sunday|pfingstsonntag|dimanche de pentecôte": 49,
    "whit monday|pfingstmontag|lundi de pentecôte": 50,
}
"""Patterns of holidays, and their number of days after Easter Sunday."""

FIXED_HOLIDAYS: Final = {
    "christmas eve|heiligabend|nochebuena|véspera de natal": (12, 24),
    "christmas day": (12, 25),
    "boxing day": (12, 26),
    "new year's eve|new year\u2019s eve|silvester|nochevieja": (12, 31),
    "new year's day|new year\u2019s day|neujahr": (1, 1),
}
"""Patterns of holidays on the same day of each year, with its month and day."""
