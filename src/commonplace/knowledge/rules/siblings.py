"""Siblings: several values of one subject and predicate, which must not supersede each other. Pure.

Each pair of subject and predicate holds one fact. Models forget this and answer ``Lena allergic_to peanuts`` and
``Lena allergic_to kiwi``, in one answer or in two. Such facts are kept apart by adding the value to the key:
``allergic_to_peanuts`` and ``allergic_to_kiwi``. Source: CNS-01, readings of KNW-11 to KNW-13.
"""

import re
from typing import Final

from commonplace.core.text import collapse_whitespace
from commonplace.language.values import concepts, kind_of, values

MAX_VALUE_CHARS: Final = 60
MAX_BASE_CHARS: Final = 180
"""With the value and a number, a key stays within its 256 characters."""

_SEVERAL: Final = frozenset(
    """
    allergies allergy attends avoids blocked_by child children collaborates_with collects contains depends_on
    diagnosed_with dietary_restriction dietary_restrictions dislikes enjoys excludes friend_of hates hobbies hobby
    includes integrates_with interested_in intolerance intolerances intolerant_of invited knows languages likes
    loves member_of must_never must_not needs owns parent_of pet pets plays requires sibling_of speaks
    speaks_language supports trusts wants works_with
    """.split()  # noqa: SIM905 - a list of words reads best as words
)
"""Predicates with several values at once. ``uses``, ``prefers``, ``works_at`` and ``takes`` are missing, because their
new value commonly replaces the old one."""

_PLACES: Final = frozenset(
    """
    assigned attached backed_up backs_up belongs bound changed close closest commutes defaults deployed deploys
    downgraded engaged extended increased limited listens_on logs lowered married migrated moved moves next pinned
    points postponed promoted raised reduced relocated renamed reports resolves restricted routes scheduled sends set
    ships switched syncs transferred upgraded writes
    """.split()  # noqa: SIM905
)
"""First parts of predicates ending in ``_to`` that have one value at a time: a place or a state. Other predicates in
``_to`` (``allergic_to``, ``subscribed_to``, ``listens_to``) have several values at once."""

_ATTRIBUTES: Final = frozenset(
    """
    address age balance birthday boss budget capacity color colour cost deadline default email employer gender goal
    height host husband id ip job language level license limit location manager name nationality number owner partner
    password phone plan port position price priority rank role salary schedule score size spouse state status surname
    timezone title type url version weight wife
    """.split()  # noqa: SIM905
)
"""Attributes with one value in ``has_`` predicates; others (``has_child``, ``has_allergy``) have several."""

_WORD: Final = re.compile(r"[^\W_]+(?:['.:/-][^\W_]+)*")
_QUANTITIES: Final = frozenset({"date", "day", "time", "number"})
_CAMEL: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
_GAP: Final = re.compile(r"[\W_]+")


def holds_several(predicate: str) -> bool:
    """Return whether a predicate commonly has several values at once, such as ``speaks`` or ``has_child``."""
    name = plain_name(predicate)
    before, _, last = name.rpartition("_")
    if last == "to" and before:
        return before not in _PLACES
    if before == "has":
        return last not in _ATTRIBUTES
    return name in _SEVERAL


def with_value(subject: str, predicate: str, content: str) -> str:
    """Return a predicate with the value of a fact: the words of its content that are not in its key.

    Numbers, days and times are left out, because Node 22 replaces Node 20, and Thursday replaces Wednesday. A predicate
    that already names the value stays unchanged: ``allergic_to_kiwi`` for "kiwi, and badly".
    """
    base, value = _parts(predicate)
    said = concepts(f"{subject} {base.replace('_', ' ')}")
    found = ""
    for word in _WORD.findall(content.casefold()):
        if not concepts(word) - said or {kind_of(each) for each in values(word)} & _QUANTITIES:
            continue
        if len(found) + len(word) >= MAX_VALUE_CHARS:
            break
        found = f"{found}_{word}"
    return predicate if value and found.startswith(f"_{value}") else f"{base[:MAX_BASE_CHARS]}{found}"


def names_a_value(predicate: str) -> bool:
    """Return whether a predicate is a multi-valued predicate with one of its values."""
    return bool(_parts(predicate)[1])


def plain_name(predicate: str) -> str:
    """Return a predicate in one spelling: words in lower case with underscores, without "is" and "are"."""
    name = _GAP.sub("_", _CAMEL.sub("_", predicate)).strip("_").casefold()
    return name.removeprefix("is_").removeprefix("are_")


def plain(text: str) -> str:
    """Return a text without case and extra spaces, to compare contents."""
    return collapse_whitespace(text).lower()


def _parts(predicate: str) -> tuple[str, str]:
    """Return the multi-valued part of a predicate, and the value after it, if any."""
    words = plain_name(predicate).split("_")
    for count in range(len(words), 0, -1):
        base = "_".join(words[:count])
        if holds_several(base):
            return base, "_".join(words[count:])
    return "_".join(predicate.split()), ""
