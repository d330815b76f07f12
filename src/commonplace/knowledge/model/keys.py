r"""The form of a key that ignores its spelling. Pure.

A fact supersedes the active fact of the same key, letter by letter (KNW-02.2, KNW-25.4). So "The staging DB" and
"staging-db", or ``uses_port`` and "uses port", are two keys. :func:`plain_key` and the placeholders of
:data:`KEY_GAPS` give both the same form, by which receipts name the other fact, the review lists the pair, a timeline
shows both, and a read of one scope shows one.

The form has no case, no leading article, and no separators, except between digits: Python 3.1 is not Python 31. "DB" is
"database". The kin of a subject lacks that word at its end: "staging" may be the staging database, so the review asks.
"""

import re
from functools import lru_cache
from typing import Final

_ARTICLE: Final = r"^(the|an?)\s+"
_SEPARATORS: Final = r"(?<![\d\s_./-])[\s_./-]+|[\s_./-]+(?![\d\s_./-])"
_DATABASE: Final = r"(?<![a-z0-9])db(?![a-z0-9])"
_KIND_AT_END: Final = r"(?<=.)database$"
"""PostgreSQL reads these patterns as Python does."""


@lru_cache(maxsize=4096)
def plain_key(text: str) -> str:
    """Return a subject or predicate without what only its spelling adds."""
    bare = re.sub(_ARTICLE, "", text.strip().casefold())
    return re.sub(_SEPARATORS, "", re.sub(_DATABASE, "database", bare))


def kin_key(subject: str) -> str:
    """Return the plain key of a subject without "database" at its end."""
    return re.sub(_KIND_AT_END, "", plain_key(subject))


def _in_sql(column: str) -> str:
    bare = f"regexp_replace(lower(btrim({column})), '{_ARTICLE}', '')"
    whole = f"regexp_replace({bare}, '{_DATABASE}', 'database', 'g')"
    return f"regexp_replace({whole}, '{_SEPARATORS}', '', 'g')"


KEY_GAPS: Final = {f"{column}_key": _in_sql(column) for column in ("subject", "predicate")} | {
    "asked_subject_key": _in_sql("CAST(:subject AS text)"),
    "asked_predicate_key": _in_sql("CAST(:predicate AS text)"),
    "subject_kin": f"regexp_replace({_in_sql('subject')}, '{_KIND_AT_END}', '')",
}
"""The placeholders in SQL files: :func:`plain_key` of the columns and of parameters of their names; :func:`kin_key`."""
