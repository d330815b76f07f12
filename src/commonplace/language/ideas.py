"""Ideas: synonyms, opposites, and words with little meaning, in the English of operators.

The data lists base forms; words are stemmed before a lookup.
"""

from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final

from commonplace.language.stems import stem

LIGHT_WEIGHT: Final = 0.25
WORD_WEIGHT: Final = 1.0
NAME_WEIGHT: Final = 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Idea:
    """The meaning of a word: a concept, the pole that the word names (1 or -1), and its weight (0.25 to 1.5)."""

    concept: str
    pole: int = 1
    weight: float = WORD_WEIGHT


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(text.split())


NEGATORS: Final = word_set(
    "insteadof "
    "not no never without cannot cant dont doesnt didnt isnt arent wasnt werent wont wouldnt shouldnt couldnt "
    "mustnt hasnt havent aint nothing nobody none neither nor avoid hardly rarely seldom barely lacking lack lacks "
    "unless refrain",
)
"""Words that negate their clause."""

STOPWORDS: Final = word_set(
    "after afterwards until unless then "
    "a about above actually again against all already also always am among an and any anyway apart are around "
    "as at be because become becomes becoming been before being below between both but by can could d did do "
    "does done during e each either else entire even ever every except for from g generally get gets getting "
    "got had has have having he hence here how however i if in indeed into is it its just later ll may might "
    "mostly never no normally not note noted now of off often on once only onto or otherwise our out over own "
    "per please quite re really s shall she simply since so some sometime still such t than that the their "
    "them there therefore these they thing things this those through thus till to too typically under up upon "
    "usually ve very via was we were what when whenever where whether which while who whole whom whose why "
    "will with within would yet you your",
)
"""Words without a meaning of their own."""

LIGHT: Final = word_set(
    "stand according app appear application attempt call case cause change changing cleanly complete container "
    "correctly current default execute fully give go gracefully happen have instance item job let limit "
    "main make mistaken must name need new noted occur order perform place process properly "
    "reported require result run see service set should show sometimes sure system take talk time "
    "together use value wait want way",
)
"""Words with little meaning: two texts do not differ if only one of them has such a word."""

SAME: Final = """
    restart reboot relaunch bounce recycle | start startup boot launch begin commence
    stop shutdown halt terminate end finish cease | take lasts lasting last duration
    ready initialise initialize answer respond reply return | crash segfault abort panic die
    check probe verify test look | remove delete erase purge prune | certificate cert | database db
    postgres postgresql pg pgsql | directory dir folder | config configure conf cfg configuration
    environment env | kubernetes k8s | repository repo | authentication auth login | memory ram mem
    cpu processor | message msg | error exception fault | sometimes occasionally intermittently sporadically
    renew renewal reissue | update upgrade patch | refresh reload | request query | connection conn
    reindex index | scan rescan | fill exhaust | hang freeze stick stall | drive disk disc | volume share
    log logging logger | setting option parameter | notify alert notification | clock ntp | user account
    password passphrase | replica standby | primary master | interval period | page site | ui dashboard gui
    vpn tunnel | cleanup clean | clear flush | watch monitor | issue problem | mail email | leak leakage
    delay latency | redirect redirection | slot spot | outgoing outbound egress | incoming inbound ingress
    cap limit capped | use consume occupy | backup dump | run live reside sit stand hosted | release unlock
    store save keep | send deliver ship | get receive obtain | oom outofmemory | exceed beyond | build compile
    vm virtualmachine | happen occur | max maximum | min minimum | everybody everyone | suffice enough
    mute silent | connect join link
"""
"""Rows of words with one meaning; the first word names the concept."""

OPPOSED: Final = """
    NEED: must need require depend mandatory necessary should rely want | independent optional unnecessary neednot
    SAFE: safe ok okay recommend advisable | unsafe dangerous risky harmful inadvisable destructive
    POSSIBLE: possible able can could | impossible unable
    SUCCESS: succeed work pass fine | fail break unsuccessful
    HELP: help useful effective fix resolve solve repair cure remedy effect | useless ineffective pointless futile
    HEALTH: healthy | unhealthy sick
    AVAILABLE: available reachable online accessible reach | unavailable unreachable offline inaccessible down
    ENABLE: enable activate | disable deactivate
    ALLOW: allow permit accept | block deny forbid reject refuse prohibit disallow
    INCREASE: increase raise grow rise extend enlarge | decrease lower reduce shrink drop lessen
    SPEED: fast quick quickly rapid instant faster | slow sluggish slower slowly
    LEVEL: high higher many more | low few fewer less
    SIZE: large big huge larger bigger | small tiny smaller little ; LENGTH: long longer | short shorter brief
    EARLY: early earlier | late ; SYNC: synchronous | asynchronous async
    AUTOMATIC: automatic automatically auto unattended | manual manually interactive
    PUBLIC: public external | private internal ; OPEN: open | close closed shut
    LOCK: lock locked | unlock unlocked ; MOUNT: mount | unmount umount ; CONNECT: connect | disconnect
    ENCRYPT: encrypt encrypted encryption | unencrypted plaintext cleartext
    WRITABLE: writable writeable | readonly immutable ; PRESENT: present exist | missing absent
    VALID: valid | invalid ; COMPATIBLE: compatible | incompatible ; SUPPORT: support supported | unsupported
    RELIABLE: reliable stable dependable | unreliable unstable flaky
    SUFFICIENT: sufficient enough adequate | insufficient inadequate ; CORRECT: correct right | incorrect wrong
    TRUTH: true | false ; KEEP: keep retain preserve survive persist retention | lose discard forget wipe
    INCLUDE: include | exclude omit skip ; IMPROVE: improve better | degrade worsen worse
    STATIC: static | dynamic ; SAME: same identical | different
    PERSISTENT: persistent permanent | ephemeral temporary volatile
    COMMON: common frequent | rare uncommon infrequent ; EXPECTED: expected normal | unexpected abnormal
    FULL: full | empty ; CONSISTENT: consistent | inconsistent ; ACTIVE: active | inactive idle
    HONOUR: honour honor respect obey | ignore disregard ; COUNT: single | multi multiple several
    LOCAL: local | remote
"""
"""Concepts with two poles: "fails" is the negative pole of SUCCESS."""

_LIGHT_IDEAS: Final = frozenset({"NEED", "SAFE", "POSSIBLE", "LEVEL", "AVAILABLE", "SUCCESS"})


@cache
def _vocabulary() -> dict[str, Idea]:
    """Return the ideas by word and by stem; if two words share a stem, the shorter word's idea counts."""
    words = {word: Idea(concept=stem(word), weight=LIGHT_WEIGHT) for word in LIGHT}
    light = {idea.concept for idea in words.values()}
    for row in SAME.strip().replace("\n", "|").split("|"):
        concept = stem(row.split()[0])
        idea = Idea(concept=concept, weight=LIGHT_WEIGHT if concept in light else WORD_WEIGHT)
        words |= dict.fromkeys(row.split(), idea)
    for row in OPPOSED.strip().replace("\n", ";").split(";"):
        concept, _, poles = row.strip().partition(":")
        weight = LIGHT_WEIGHT if concept in _LIGHT_IDEAS else WORD_WEIGHT
        for pole, names in zip((1, -1), poles.split("|"), strict=True):
            words |= dict.fromkeys(names.split(), Idea(concept=concept, pole=pole, weight=weight))
    return {stem(word): words[word] for word in sorted(words, key=len, reverse=True)} | words


@lru_cache(maxsize=8192)
def idea_of(token: str) -> Idea | None:
    """Return the idea of a lower-case token; ``None`` for punctuation, stopwords and negators."""
    known = _vocabulary().get(token)
    if token in STOPWORDS or not token[0].isalnum() or (token in NEGATORS and known is None):
        return None
    known = known or _vocabulary().get(stem(token))
    if known is not None:
        return known
    is_name = any(char in "_./" or char.isdigit() for char in token)
    return Idea(concept=token if is_name else stem(token), weight=NAME_WEIGHT if is_name else WORD_WEIGHT)
