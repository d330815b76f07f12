"""The words of the calendar in English, German, Spanish and French, as patterns in lower case."""

from collections.abc import Mapping
from typing import Final

WEEKDAYS: Final = (
    "monday|montag|lunes|lundi",
    "tuesday|dienstag|martes|mardi",
    "wednesday|mittwoch|miércoles|miercoles|mercredi",
    "thursday|donnerstag|jueves|jeudi",
    "friday|freitag|viernes|vendredi",
    "saturday|samstag|sábado|sabado|samedi",
    "sunday|sonntag|domingo|dimanche",
)
"""The names of each day; Monday is first."""

MONTHS: Final = (
    "january|jan|januar|enero|janvier",
    "february|feb|februar|febrero|février",
    "march|mar|märz|marzo|mars",
    "april|apr|abril|avril",
    "may|mai|mayo",
    "june|jun|juni|junio|juin",
    "july|jul|juli|julio|juillet",
    "august|aug|agosto|août",
    "september|sept|sep|septiembre|septembre",
    "october|oct|oktober|octubre|octobre",
    "november|nov|noviembre|novembre",
    "december|dec|dezember|diciembre|décembre",
)
"""The names of each month; January is first."""

DAYS_AWAY: Final[Mapping[int, str]] = {
    -1: "yesterday|gestern|ayer|hier",
    0: "today|heute|hoy|aujourd['\u2019]hui",
    1: "tomorrow|morgen|mañana|demain",
}
"""The words for days beside today, by their distance from today."""

SPANS: Final = ("week|woche|semana|semaine", "month|monat|mes|mois", "year|jahr|año|année")
"""The words for a week, a month and a year."""
