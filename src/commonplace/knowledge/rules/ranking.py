"""Rank candidates by their words, their meaning, and both of what was said around them in a session. Pure.

A turn of a conversation is often found by its neighbours: the question names what the answer leaves out. So a word
counts in part where a turn up to two places away holds it, a vector counts alone and together with those around it,
and the words of an episode's date count as if they stood in the text. Long texts hold many words: what they hold
counts less, unless the question is about an answer or asks for a summary. A long question does not make its words
outweigh its meaning.

Source: the constants were chosen on two thirds of the conversations of four sets and confirmed on the others
(ADR 0010).
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Final

import numpy as np
from numpy.typing import NDArray

from commonplace.knowledge.model.candidates import Array, Candidates
from commonplace.knowledge.model.kinds import MemoryType

NEIGHBOUR_WEIGHT: Final = 0.4
WINDOW: Final = 2
"""Turns on either side that count as around."""

SATURATION: Final = 0.9
WORDS_CAP: Final = 3.0
"""The summed rarity of a question beyond which its words are scaled down, by the power below."""

CAP_POWER: Final = 0.75
COSINE_WEIGHT: Final = 0.6
CONTEXT_WEIGHT: Final = 0.7
LENGTH_WEIGHT: Final = 0.08
LENGTH_CAP: Final = 20
"""Different words beyond which a text does not gain by its length."""

QUESTION_PENALTY: Final = 0.05
LONG_PENALTY: Final = 0.2
LONG_FROM: Final = 40
"""Different words beyond which a text loses by its length."""

TEXT_OCTETS: Final = 300
"""A longer text counts each of its words in proportion less, and lends less to its neighbours."""

REPLY_OCTETS: Final = 1500
"""In its place for a question about an answer or a summary."""

TYPE_WEIGHT: Final = {MemoryType.EPISODE: 0.0, MemoryType.FACT: 0.25, MemoryType.RULE: 0.3}
"""Facts and rules were chosen to be kept, and a rule rarely names its topic."""

MONTH_STEMS: Final = (
    *("januari", "februari", "march", "april", "may", "june"),
    *("juli", "august", "septemb", "octob", "novemb", "decemb"),
)
"""The months as PostgreSQL's English configuration writes them."""

_SMALLEST_NORM: Final = 1e-9
_ABOUT_REPLIES: Final = re.compile(
    r"\b(?:did|had|have|were) you\b"
    r"|\byou(?:'d|'ve| had| have)? (?:just |also |previously |earlier |originally )?"
    r"(?:recommended|suggested|advised|proposed|said|told|mentioned|explained|gave|listed|showed|described|provided"
    r"|outlined|answered|wrote|offered|helped)\b"
    r"|\byour (?:\w+ )?(?:recommendations?|suggestions?|advice|answers?|repl(?:y|ies)|explanations?|proposals?|tips)\b"
    r"|\b(?:summar\w+|overview|recap)\b"
    # German
    r"|\b(?:hast|hattest) du\b|\bdu (?:\w+ )?(?:hast|hattest|sagtest|meintest|empfahlst|rietst)\b"
    r"|\b(?:haben|hatten) sie (?:mir|uns)\b"
    r"|\bdein(?:e[mnrs]?)? (?:\w+ )?(?:empfehlung|vorschl[aä]g|rat\b|ratschl[aä]g|antwort|erklärung|tipps?\b)"
    r"|\bzusammen(?:fass|gefasst|zufassen)|\bfass(?:e|t)?\b(?: \w+){1,6} zusammen\b|\büberblick\b"
    # Spanish
    r"|\b(?:recomend|aconsej|mencion|explic)aste\b|\b(?:suger|propus|dij|d|describ|respond|escrib|ofrec)iste\b"
    r"|\b(?:has|habías) (?:recomend|aconsej|mencion|explic|d)ado\b"
    r"|\b(?:has|habías) (?:sugerido|propuesto|dicho|descrito|respondido|escrito)\b"
    r"|\btus? (?:\w+ )?(?:recomendaci|sugerencia|consejo|respuesta|explicaci|propuesta)"
    r"|\bres[uú]men(?:es)?\b|\bres[uú]me(?:me|nos)\b|\bresumir"
    # French
    r"|\b(?:as|avais)-tu\b|\b(?:avez|aviez)-vous\b"
    r"|\btu (?:l'|m'|nous )?(?:as|avais)\b|\bvous (?:l'|m'|nous )?(?:avez|aviez)\b"
    r"|\b(?:tes|ta|ton|vos|votre) (?:\w+ )?(?:recommandation|suggestion|conseil|réponse|explication|proposition)"
    r"|\brésum(?:er|ez|e-moi|e-nous)\b|\brécapitul",
    re.IGNORECASE,
)
"""Questions about what an assistant said, in English, German, Spanish and French."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextualScore:
    """The score of a candidate and its parts, weighted: they sum to the score.

    Attributes:
        place: The place among the candidates.
        form: For the length, the kind of memory, and whether the text asks.
        matched: The words of the query in the text.
        nearby: The words of the query only around the text or in its date.
    """

    place: int
    score: float
    words: float
    meaning: float
    context: float
    form: float
    matched: tuple[str, ...]
    nearby: tuple[str, ...]


def rank_by_context(
    candidates: Candidates,
    query: str,
    *,
    limit: int,
    shown: Collection[int] | None = None,
) -> list[ContextualScore]:
    """Rank memories for a query.

    Args:
        candidates: Episodes in the order of their sessions; if ``next_ids`` is not the id of the next, a run ends.
        query: As the caller wrote it.
        limit: How many to return at most.
        shown: The places that may be returned; ``None`` for all.

    Returns:
        The scores of the best, the best first; of equal scores the later memory first, then the lower id.
    """
    about_replies = _ABOUT_REPLIES.search(query.replace("\u2019", "'")) is not None
    linked = np.array(
        [after == id_ for after, id_ in zip(candidates.next_ids, candidates.ids[1:], strict=False)], bool
    )
    octets = candidates.octets
    pivot = REPLY_OCTETS if about_replies else TEXT_OCTETS
    lent = NEIGHBOUR_WEIGHT * pivot / (pivot + octets)
    held = candidates.present / np.maximum(1.0, octets / pivot)[:, None]
    counts = held + _sum_of_neighbours(lent[:, None] * held, linked) + _dated(candidates)
    by_words = _words_score(counts, _rarities(candidates))
    by_meaning = COSINE_WEIGHT * candidates.similarity
    by_context = CONTEXT_WEIGHT * _similarity_in_context(candidates, lent, linked)
    by_form = _form(candidates, about_replies=about_replies)
    # A product of matrices differs in its last digits from row to row, and equal turns must stay equal.
    total = np.round(by_words + by_meaning + by_context + by_form, 9)
    best = best_first(total, candidates)
    return [
        ContextualScore(
            place=at,
            score=float(total[at]),
            words=float(by_words[at]),
            meaning=float(by_meaning[at]),
            context=float(by_context[at]),
            form=float(by_form[at]),
            matched=_named(candidates.words, candidates.present[at] > 0),
            nearby=_named(candidates.words, (counts[at] > 0) & (candidates.present[at] == 0)),
        )
        for at in [place for place in best if shown is None or place in shown][:limit]
    ]


def best_first(scores: Array, candidates: Candidates, *, most: int | None = None) -> list[int]:
    """Return the places of the best candidates, the best first; of equal scores the later first, then the lower id."""
    order = np.argsort(-scores, kind="stable")
    most = len(order) if most is None else most
    places: list[int] = order.tolist()
    start = 0
    for end in [*(np.flatnonzero(np.diff(scores[order])) + 1).tolist(), len(order)]:
        if start >= most:
            break
        if end - start > 1:
            places[start:end] = sorted(
                places[start:end],
                key=lambda at: (-candidates.created_at[at].timestamp(), candidates.ids[at].int),
            )
        start = end
    return places[:most]


def _rarities(candidates: Candidates) -> Array:
    """Return how rare each word of the query is: 0.0 is in every memory, 1.0 in none."""
    total = candidates.total + 1
    return np.log(total / np.minimum(candidates.frequencies + 0.5, total)) / np.log(2 * total)


def _words_score(counts: Array, rarities: Array) -> Array:
    asked = float(rarities.sum())
    scale = (WORDS_CAP / asked) ** CAP_POWER if asked > WORDS_CAP else 1.0
    return scale * ((counts / (counts + SATURATION)) @ rarities)


def _dated(candidates: Candidates) -> Array:
    """Return 1.0 where a word of the query is the day, month or year of an episode."""
    column = {word: place for place, word in enumerate(candidates.words)}
    dated = np.zeros_like(candidates.present)
    if not any(word.isdigit() or word in MONTH_STEMS for word in column):
        return dated
    for row, (memory_type, created_at) in enumerate(
        zip(candidates.types, candidates.created_at, strict=True)
    ):
        if memory_type is MemoryType.EPISODE:
            day = created_at.astimezone(UTC)
            for word in (str(day.day), MONTH_STEMS[day.month - 1], str(day.year)):
                if word in column:
                    dated[row, column[word]] = 1.0
    return dated


def _similarity_in_context(candidates: Candidates, lent: Array, linked: NDArray[np.bool_]) -> Array:
    """Return the cosine of the query and of each vector together with those around it.

    Products of pairs are enough: the product of the query and a sum of vectors is a sum of products, and so is the
    squared length of the sum.
    """
    if not linked.any():
        return candidates.similarity
    count = len(lent)
    weights = {0: np.ones(count)} | {
        distance: np.where(_reaches(linked, distance), _shifted(lent, distance), 0.0)
        for distance in (*range(-WINDOW, 0), *range(1, WINDOW + 1))
    }
    product = np.zeros(count)
    squared = np.zeros(count)
    for distance, weight in weights.items():
        product += weight * _shifted(candidates.similarity, distance)
        for other in range(distance, WINDOW + 1):
            pairs = _shifted(candidates.products[:, other - distance], distance)
            squared += (1 if other == distance else 2) * weight * weights[other] * pairs
    return product / np.sqrt(np.maximum(squared, _SMALLEST_NORM))


def _reaches(linked: NDArray[np.bool_], distance: int) -> NDArray[np.bool_]:
    """Return for each row whether the row at a distance, behind it or before it, is of the same run."""
    count, steps = len(linked) + 1, abs(distance)
    reached = np.zeros(count, bool)
    if count > steps:
        runs = np.lib.stride_tricks.sliding_window_view(linked, steps).all(axis=1)
        reached[: count - steps] = runs
    return reached if distance > 0 else np.roll(reached, steps)


def _shifted(values: Array, distance: int) -> Array:
    """Return for each row the value of the row at a distance; 0.0 beyond both ends."""
    moved = np.roll(values, -distance)
    if distance > 0:
        moved[-distance:] = 0.0
    elif distance < 0:
        moved[:-distance] = 0.0
    return moved


def _sum_of_neighbours(values: Array, linked: NDArray[np.bool_]) -> Array:
    """Sum over the rows up to two links away on either side; no sum reaches over a gap between sessions."""
    total = np.zeros_like(values)
    for distance in range(1, WINDOW + 1):
        (rows,) = np.nonzero(_reaches(linked, distance))
        total[rows] += values[rows + distance]
        total[rows + distance] += values[rows]
    return total


def _form(candidates: Candidates, *, about_replies: bool) -> Array:
    length = LENGTH_WEIGHT * np.log1p(np.minimum(candidates.distinct_words, LENGTH_CAP))
    long = (
        0.0
        if about_replies
        else LONG_PENALTY * np.log(np.maximum(1.0, candidates.distinct_words / LONG_FROM))
    )
    kind = np.array([TYPE_WEIGHT[each] for each in candidates.types])
    return length - QUESTION_PENALTY * candidates.asks - long + kind


def _named(words: Sequence[str], held: NDArray[np.bool_]) -> tuple[str, ...]:
    return tuple(word for word, is_held in zip(words, held, strict=True) if is_held)
