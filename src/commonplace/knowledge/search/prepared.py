"""Statements and patterns that commands use most, made before a process forks, so that its forks need not."""

from typing import Final

from commonplace.core.clock import utc_now
from commonplace.core.instructions import find_flags
from commonplace.knowledge.model.keys import plain_key
from commonplace.knowledge.model.kinds import MemoryType
from commonplace.knowledge.rules.periods import read_period
from commonplace.knowledge.store.search_statements import (
    TABLES,
    Form,
    Reach,
    SearchTable,
    ranking_queries,
    reading_queries,
)
from commonplace.knowledge.store.unit_of_work import kind_queries, queries
from commonplace.language.day_patterns import compile_all

_RECALLED: Final = (TABLES["facts"], TABLES["rules"])
_USUAL: Final[tuple[tuple[tuple[SearchTable, ...], int, Form], ...]] = (
    ((TABLES["episodes"], *_RECALLED), 40, Form(scoped=False)),  # commonplace know
    ((TABLES["episodes"], *_RECALLED), 100, Form(scoped=False)),  # the same, if few memories hold the words
    (_RECALLED, 60, Form(scoped=False, guarded=True)),  # commonplace knowledge recall
    (_RECALLED, 60, Form(scoped=True, guarded=True)),  # commonplace context
)
"""The tables, the reach and the form of searches with the usual options. Other searches make their statements later."""


def prepare_statements() -> None:
    """Read all named statements, and make the statements of the usual searches."""
    queries()
    for kind in MemoryType:
        kind_queries(kind)
    for tables, seeds, form in _USUAL:
        ranking_queries(tables, Reach.of(matches=seeds, neighbours=seeds), form)
        reading_queries(form)


def compile_patterns() -> None:
    """Compile the patterns with which facts are read; a pattern is compiled at its first use."""
    compile_all()
    text = "Ada has lived in Berlin since 3 May 2020."
    find_flags(text)
    plain_key(text)
    read_period(text, utc_now())
