"""The days of the week in English, German, Spanish and French."""

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
"""The names of each day, as patterns in lower case; Monday is first."""
