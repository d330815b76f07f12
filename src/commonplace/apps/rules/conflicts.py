"""Conflicts between memories. Pure. Source: APP-16.8.

A rule compares sentences. Two sentences conflict if they are about the same matter, and the newer one gives another
value, denies the older one, or names the opposite. They are about the same matter if one has all the words of the
other; a newer sentence that reports a change may use other words too. A different date alone means a different event,
unless both sentences say that something *is* on that date. A different address of the user, or other weekdays, need
fewer common words; sentences with different names are about different things. The rule ignores doubtful cases.
"""

import re
from collections.abc import Sequence
from itertools import combinations
from typing import Final

from commonplace.apps.model.conflicts import Contradiction
from commonplace.apps.model.memories import Digest
from commonplace.core.quoting import quoted
from commonplace.language.importance_cues import DATE, TIME, plain
from commonplace.language.sentences import split_sentences
from commonplace.language.values import concepts, kind_of, share, values
from commonplace.language.words import tokens
from commonplace.llm.extractive import SPEAKER

LEAST_SHARED_WORDS: Final = 2
LEAST_SHARE: Final = 0.6
"""The share of the older sentence's words that a newer sentence about a change must have."""

LEAST_SHARE_OF_NEWER: Final = 0.4
"""The share of its own words that it must have in common, because two sentences about the same people may differ."""

LEAST_SHARE_OF_WEEKLY: Final = 0.5
"""The share of the older sentence's words that suffices if both name weekdays on which a matter recurs."""

_NEGATIONS: Final = frozenset(
    """no not never none without cannot can't don't doesn't didn't isn't aren't won't wasn't shouldn't longer
    nicht kein keine keinen nie niemals ohne nunca sin jamas pas jamais sans aucun""".split()  # noqa: SIM905
)
_OPPOSITES: Final = tuple(
    frozenset(pair.split())
    for pair in (
        "after before",
        "enabled disabled",
        "enable disable",
        "likes dislikes",
        "loves hates",
        "morning afternoon",
        "morning evening",
        "on off",
        "light dark",
        "public private",
        "allowed forbidden",
        "works fails",
        "work fail",
        "open closed",
        "true false",
        "accepted rejected",
        "approved rejected",
        "remote onsite",
        "vor nach",
        "avant apres",
        "antes despues",
    )
)
_OPPOSITE_WORDS: Final = frozenset[str]().union(*_OPPOSITES)
_CHANGE: Final = re.compile(
    r"\b(?:moved|changed|now|no longer|any ?more|instead|switch\w*|replaced|postponed|rescheduled|renamed|new|updated|"
    r"raised|lowered|increased|verschoben|verlegt|geandert|jetzt|nicht mehr|statt|gewechselt|neue?[rsnm]?|ab sofort|"
    r"ahora|ya no|cambi\w*|aplaz\w*|en vez|nuev[oa]s?|desormais|maintenant|reporte\w*|deplace\w*|change\w*|decale\w*|"
    r"nouve\w*|au lieu|改成|改到|変更|теперь|перенес\w*)"
)
_STATES: Final = re.compile(r"\b(?:is|are|was|ist|sind|es|esta|est|sera)\b")
_LIVES: Final = re.compile(
    r"\b(?:lives?|resides?|address|wohnt?|adresse|anschrift|vive|direccion|domicilio|habite|demeure)\b"
    r"(?! with| mit| con| avec)"
)
"""Words before the one address that a person has."""

_MOVED: Final = re.compile(r"\b(?:moved (?:to|in)|umgezogen|zog|mudado|mudo|demenag\w*)\b")

_SUBJECTS: Final = frozenset(
    """
    a an and current customer client has have he her his i is it its moved my new our s she the their they user users
    was das demenage der des die er hat ich ihre ist kunde kundin la meine neue nutzer nutzerin seine sie umgezogen und
    cliente el es ha mi mudado nueva su usuaria usuario y
    a cliente elle est et il l le ma nouvelle sa son utilisateur utilisatrice
    """.split()  # noqa: SIM905 - reads as a list of words does
)
"""Words before a verb that leave its subject the user."""

_RECURS_ON: Final = re.compile(
    r"\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days|(?:montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag)s"
    r"|los (?:lunes|martes|miercoles|jueves|viernes|sabados|domingos)|(?:lun|mar|mercre|jeu|vendre|same)dis)\b"
)
_SEMICOLON: Final = re.compile(";\\s+|\uff1b")
_BETWEEN: Final = " ;\uff1b"
_STOPS: Final = (".", "!", "\u3002")
_NAME: Final = re.compile(r"(?<=[\w,;:] )[^\W\d_a-z]\w*")
_CODE: Final = re.compile(r"[^\W\d_]+[\w:./-]*\d[\w:./-]*")
_BEFORE_VALUES: Final = frozenset(
    """
    about after are around at be before by costs equals expires for from is least most of on over port runs since takes
    than to took under until version was within now jetzt betragt von de ahora maintenant desormais um ab bis ist auf
    kostet seit nach vor unter es son cuesta hasta desde a las est coute jusqu depuis
    """.split()  # noqa: SIM905 - reads as a list of words does
)
"""After one of these words a bare number is a value; elsewhere it is a name, as in "service 5"."""


def find_conflicts(memories: Sequence[Digest]) -> list[Contradiction]:
    """Return the pairs that contradict each other, oldest first."""
    found: list[Contradiction] = []
    for older, newer in combinations(sorted(memories, key=lambda memory: (memory.updated_at, memory.id)), 2):
        if told := disagreement(older.content, newer.content):
            found.append(Contradiction(older=older, newer=newer, sentence=told[0], reason=told[1]))
    return found


def disagreement(older: str, newer: str) -> tuple[str, str] | None:
    """Return the statement of an older text that a newer text outdates, and the reason; ``None`` if there is none."""
    for said in statements(older):
        for says in statements(newer):
            if reason := _compare(said, says):
                return said, reason
    return None


def statements(text: str) -> list[str]:
    """Return the statements of a memory: its sentences, and their parts between semicolons, as digests join them."""
    told = text.removeprefix(SPEAKER)
    parts = [part.strip() for one in split_sentences(told) for part in _SEMICOLON.split(one)]
    return [part for part in parts if part]


def without(text: str, statement: str) -> str:
    """Return a memory without one of its :func:`statements`; empty if it has no other."""
    speaker = SPEAKER if text.startswith(SPEAKER) else ""
    before, _, after = text.removeprefix(SPEAKER).partition(statement)
    before, after = before.rstrip(_BETWEEN), after.lstrip(_BETWEEN)
    is_whole = before.endswith(_STOPS)
    if after in {"", *_STOPS}:
        rest = before if is_whole or not before else f"{before}{after or '.'}"
    else:
        rest = f"{before}{' ' if is_whole else '; '}{after}" if before else after
    return f"{speaker}{rest}" if rest else ""


def _compare(older: str, newer: str) -> str | None:
    """Return the reason why a newer sentence contradicts an older one; ``None`` if it does not."""
    changed = bool(_CHANGE.search(plain(newer)))
    if changed and _tells(_LIVES, older) and (_tells(_LIVES, newer) or _tells(_MOVED, newer)):
        return f"another address: {quoted(older)}, {quoted(newer)}"
    matters = _matter(older), _matter(newer)
    if changed and _is_other_week(older, newer, *matters):
        return f"other days: {quoted(older)}, {quoted(newer)}"
    if _names(older) != _names(newer) or not _same_matter(*matters, changed=changed):
        return None
    apart = _are_named_apart(older, newer)
    opposes = _opposition(older, newer) if not apart and (changed or matters[0] == matters[1]) else None
    how = opposes or _other_value(older, newer, changed=changed, apart=apart)
    return f"{how}: {quoted(older)}, {quoted(newer)}" if how else None


def _tells(verb: re.Pattern[str], text: str) -> bool:
    """Return whether a text uses a verb of its main subject, and not of someone else by name or kinship."""
    found = verb.search(plain(text))
    return found is not None and set(_words(plain(text)[: found.start()])) <= _SUBJECTS


def _is_other_week(older: str, newer: str, matter: frozenset[str], other: frozenset[str]) -> bool:
    """Return whether two texts about one matter name different weekdays on which it recurs."""
    if _are_named_apart(older, newer):
        return False
    recur = all(_RECURS_ON.search(plain(text)) for text in (older, newer))
    days = [{value for value in values(text) if kind_of(value) == "day"} for text in (older, newer)]
    return recur and not days[0] & days[1] and share(matter, other) >= LEAST_SHARE_OF_WEEKLY


def _opposition(older: str, newer: str) -> str | None:
    """Return the reason why two sentences deny or oppose each other; ``None`` if they do not."""
    if denies(older) != denies(newer):
        return "one sentence denies the other"
    left, right = set(tokens(_undated(older))), set(tokens(_undated(newer)))
    for pair in _OPPOSITES:
        mine, theirs = pair & left, pair & right
        if len(mine) == len(theirs) == 1 and mine != theirs:
            return f"{quoted(min(mine))} against {quoted(min(theirs))}"
    return None


def _other_value(older: str, newer: str, *, changed: bool, apart: bool) -> str | None:
    """Return the value or name of an older sentence and the one that replaces it; ``None`` if there is none."""
    if differing := _differing(older, newer):
        is_event = all(kind_of(value) in ("date", "day") for pair in differing for value in pair)
        holds = changed or not is_event or all(_STATES.search(plain(text)) for text in (older, newer))
        mine, theirs = (value.partition(":")[2] for value in differing[0])
        return f"{mine} against {theirs}" if holds and not apart else None
    gone, come = capitalised(older) - concepts(newer), capitalised(newer) - concepts(older)
    return f"{quoted(min(gone))} against {quoted(min(come))}" if changed and gone and come else None


def _are_named_apart(older: str, newer: str) -> bool:
    """Return whether each of two texts has a name, other than a date, that the other lacks."""
    dates = concepts(" ".join(DATE.findall(plain(f"{older} {newer}"))))
    return bool(capitalised(older) - concepts(newer) - dates) and bool(
        capitalised(newer) - concepts(older) - dates
    )


def _same_matter(older: frozenset[str], newer: frozenset[str], *, changed: bool) -> bool:
    if changed and older == newer:
        return bool(older)
    shared = len(older & newer)
    if shared < LEAST_SHARED_WORDS:
        return False
    return shared == min(len(older), len(newer)) or (
        changed and share(older, newer) >= LEAST_SHARE and share(newer, older) >= LEAST_SHARE_OF_NEWER
    )


def _matter(text: str) -> frozenset[str]:
    """Return the words that name the matter, without words of change, negation and opposition."""
    words = " ".join(
        word for word in tokens(_CHANGE.sub(" ", _undated(text))) if word not in _NEGATIONS | _OPPOSITE_WORDS
    )
    return frozenset(word for word in concepts(words) if not word[0].isdigit())


def capitalised(text: str) -> frozenset[str]:
    """Return the capitalised words of a text, except its first word."""
    return concepts(" ".join(_NAME.findall(text)))


def _undated(text: str) -> str:
    return TIME.sub(" ", DATE.sub(" ", plain(text)))


def _differing(older: str, newer: str) -> list[tuple[str, str]]:
    """Return pairs of values of one kind if two texts have no value of that kind in common."""
    mine, theirs = values(older), values(newer)
    pairs: list[tuple[str, str]] = []
    for kind in sorted({kind_of(value) for value in mine} - {"code"}):
        left = {value for value in mine if kind_of(value) == kind}
        right = {value for value in theirs if kind_of(value) == kind}
        if left and right and not left & right:
            pairs.append((min(left), min(right)))
    return pairs


def _words(text: str) -> tuple[str, ...]:
    return tuple(map(plain, tokens(text)))


def denies(text: str) -> bool:
    """Return whether a text is negated: two negations cancel each other."""
    return sum(word in _NEGATIONS for word in _words(text)) % 2 == 1


def _names(text: str) -> frozenset[str]:
    """Return codes, and bare numbers that are names: without a unit, and not after a word that announces a value."""
    words = tokens(_undated(text))
    return frozenset(
        word
        for before, word in zip(("", *words), words, strict=False)
        if (word.isdecimal() and before not in _BEFORE_VALUES) or _CODE.fullmatch(word)
    )
