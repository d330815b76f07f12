"""Stems of English words."""

from functools import lru_cache
from typing import Final

from snowballstemmer.english_stemmer import EnglishStemmer  # pyright: ignore[reportMissingTypeStubs]

_LONGEST_STEMMED: Final = 40
"""The length of the longest English word; longer runs of letters are not stemmed."""

_FORMS: Final = """
    keep kept | lose lost losing loss | run ran running | take took taken | break broke broken
    grow grew grown growth | rise rose risen | fall fell fallen | freeze froze frozen | hold held | send sent
    leave left | make made | find found | build built | rebuild rebuilt | write wrote written
    respond response responses | begin began begun | get got gotten | go went gone | come came
    hang hung hanging | stick stuck | die dead died dies dying | eat ate eaten | know knew known | see saw seen
    shrink shrank shrunk | mean meant | drop dropped drops dropping | fail failure failures failing
    renew renewal renewals | remove removal removals | require requirement requirements | survive survival
    depend dependency dependencies dependent depends | recover recovery recoveries | deliver delivery deliveries
    deny denied denies denial | refuse refusal | deploy deployment deployments | arrive arrival
    succeed success successes successful successfully | expire expiry expiration | migrate migration migrations
    allocate alloc allocs allocation allocations | resolve resolution resolves | configure configuration
    exceed exceeds exceeded | feed fed | read reads | speak spoke spoken | hear heard | bring brought
    buy bought | choose chose chosen | draw drew drawn | drive drove driven | forget forgot forgotten | sell sold
    tell told | think thought | forbid forbade forbidden | hide hid hidden | give gave given | show shown
    set sets | shut shuts | steal stole stolen | throw threw thrown | withdraw withdrew withdrawn
    overwrite overwrote overwritten | lead led | spend spent | sleep slept | split splits
"""
"""Forms that a stemmer does not reduce to their base; the base stands first in each row."""

_IRREGULAR: Final = {
    form: base
    for row in _FORMS.replace("\n", "|").split("|")
    if row.strip()
    for base, *forms in [row.split()]
    for form in forms
}


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """Return the English stem of a lower-case word (Snowball); a run of more than 40 letters is not changed."""
    base = _IRREGULAR.get(word, word)
    if len(base) > _LONGEST_STEMMED:
        return base
    # A stemmer holds its word as state, so threads cannot share one.
    stemmed = str(EnglishStemmer().stemWord(base))  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
    return _IRREGULAR.get(stemmed, stemmed)
