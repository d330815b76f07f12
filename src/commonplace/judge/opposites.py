"""Two texts that say the opposite in the same words: "Updates are on", "Updates are off since 5.1 broke it". Pure.

The network reads a reason behind such a text as a detail that is added, so a rule decides. Of the labelled
pairs of all authors, all 25 that it meets are corrections.
"""

from collections.abc import Sequence
from typing import Final

from commonplace.language.words import tokens, word_set

_PAIRS: Final = """
    on off, enabled disabled, enable disable, active inactive, active muted, open closed, locked unlocked,
    allowed forbidden, automatic manual, automatically manually, required optional, public private, always never,
    an aus, ein aus, aktiviert deaktiviert, offen geschlossen, erlaubt verboten, immer nie,
    activé désactivé, ouvert fermé, autorisé interdit, toujours jamais,
    activado desactivado, encendido apagado, abierto cerrado, permitido prohibido, siempre nunca
"""
_OPPOSITES: Final = frozenset(
    pair
    for words in _PAIRS.replace("\n", " ").split(",")
    for one, other in [tokens(words)]
    for pair in ((one, other), (other, one))
)
_REASONS: Final = word_set(
    "again because due now since jetzt seit wegen weil wieder car depuis maintenant ahora desde porque"
)
"""The words that end what is compared: they give a reason, or say that it was so before."""

_LEAST_WORDS: Final = 3
"""A shorter text says too little about what it is."""


def are_opposites(old: str, new: str) -> bool:
    """Return whether two texts have the same words but for one and its opposite; a reason may follow in either."""
    one, other = _claim(old), _claim(new)
    if len(one) != len(other) or len(one) < _LEAST_WORDS:
        return False
    differing = [pair for pair in zip(one, other, strict=True) if pair[0] != pair[1]]
    return len(differing) == 1 and differing[0] in _OPPOSITES


def _claim(text: str) -> Sequence[str]:
    """Return the words of a text up to its reason."""
    words = tokens(text)
    ends = (place for place, word in enumerate(words) if place >= _LEAST_WORDS and word in _REASONS)
    return words[: next(ends, len(words))]
