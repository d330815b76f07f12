"""Why a memory was found: its ranks and scores as JSON-safe values, and a sentence for a person. Pure."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from commonplace.knowledge.config import ScoreWeights
from commonplace.knowledge.search.ranking import ContextualScore
from commonplace.knowledge.search.scoring import Score

_DAY_S: Final = 86_400.0
_PLACES: Final = 6


def explain_search(memory: Mapping[str, Any], *, limit: int, now: datetime) -> dict[str, Any]:
    """Explain a result of a semantic, keyword or hybrid search.

    Args:
        memory: A result, with the fields that the search gave it.
        limit: The search's own: a rank beyond it means that the list lacks the memory.
        now: The present (aware).

    Returns:
        ``similarity``, ``rank``, ``semantic_rank``, ``keyword_rank`` and ``rrf_score`` as far as there are any,
        ``decay`` for facts and rules, and ``why``.
    """
    names = ("similarity", "rank", "semantic_rank", "keyword_rank", "rrf_score")
    parts: dict[str, Any] = {name: _rounded(memory[name]) for name in names if name in memory}
    sentences = [_found(memory, limit)]
    return _finished(parts, sentences, memory, now)


def explain_context(memory: Mapping[str, Any], ranked: ContextualScore, *, now: datetime) -> dict[str, Any]:
    """Explain a result of a search by context.

    Returns:
        ``contextual_score`` and its parts ``words``, ``meaning``, ``context`` and ``form``, ``matched_words``,
        ``nearby_words`` and ``why``.
    """
    parts: dict[str, Any] = {
        "contextual_score": _rounded(ranked.score),
        "words": _rounded(ranked.words),
        "meaning": _rounded(ranked.meaning),
        "context": _rounded(ranked.context),
        "form": _rounded(ranked.form),
        "matched_words": list(ranked.matched),
        "nearby_words": list(ranked.nearby),
    }
    holds = f"It holds {_listed(ranked.matched)}" if ranked.matched else "It holds no word of the query"
    around = f"; {_listed(ranked.nearby)} stood around it or in its date" if ranked.nearby else ""
    alike = (
        f"Its meaning counts {ranked.meaning:.2f} alone and {ranked.context:.2f} with the turns around it."
    )
    return _finished(parts, [f"{holds}{around}.", alike], memory, now)


def explain_recall(
    memory: Mapping[str, Any], score: Score, weights: ScoreWeights, *, limit: int, now: datetime
) -> dict[str, Any]:
    """Explain a recalled fact or rule.

    Returns:
        What :func:`explain_search` gives, ``composite_score``, and ``components``: for each of the four parts its
        ``value``, ``weight`` and ``contribution``, which sum to the score.
    """
    explained = explain_search(memory, limit=limit, now=now)
    parts = [
        (name, getattr(score, name), getattr(weights, name))
        for name in ("relevance", "importance", "recency", "confidence")
    ]
    components = {
        name: {"value": _rounded(value), "weight": weight, "contribution": _rounded(value * weight)}
        for name, value, weight in parts
    }
    most, _, _ = max(parts, key=lambda part: part[1] * part[2])
    sums = ", ".join(f"{name} {value:.2f} times {weight:g}" for name, value, weight in parts)
    why = f"It scores {score.composite:.3f}, most of it for {most}: {sums}. {explained['why']}"
    return explained | {"composite_score": _rounded(score.composite), "components": components, "why": why}


def _finished(
    parts: dict[str, Any], sentences: list[str], memory: Mapping[str, Any], now: datetime
) -> dict[str, Any]:
    if "effective_confidence" in memory:
        parts["decay"] = decay = _decay(memory, now)
        sentences.append(_decay_sentence(decay))
    return parts | {"why": " ".join(sentences)}


def _found(memory: Mapping[str, Any], limit: int) -> str:
    if "rrf_score" not in memory:
        if "similarity" in memory:
            return f"Its meaning is {memory['similarity']:.2f} like the query (1 is the same)."
        return f"It holds words of the query (rank {memory['rank']:.4f})."
    by_meaning, by_words = memory["semantic_rank"], memory["keyword_rank"]
    if by_words > limit:
        return f"It is number {by_meaning} by meaning, and not among the first {limit} by words."
    if by_meaning > limit:
        return f"It is number {by_words} by words, and not among the first {limit} by meaning."
    return f"It is number {by_meaning} by meaning and number {by_words} by words."


def _decay(memory: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    confirmed_at: datetime | None = memory["last_confirmed_at"]
    days = None if confirmed_at is None else max(0.0, (now - confirmed_at).total_seconds() / _DAY_S)
    return {
        "confidence": memory["confidence"],
        "decay_rate": memory["decay_rate"],
        "days_since_confirmed": None if days is None else round(days, 2),
        "effective_confidence": _rounded(memory["effective_confidence"]),
    }


def _decay_sentence(decay: Mapping[str, Any]) -> str:
    if decay["decay_rate"] == 0.0:
        return f"Its confidence of {decay['confidence']:.2f} does not decay."
    if decay["days_since_confirmed"] is None:
        return "It was never confirmed, so nothing is left of its confidence."
    if decay["days_since_confirmed"] < 1.0:
        return f"Its confidence is {decay['effective_confidence']:.2f}, confirmed within a day."
    return (
        f"Its confidence of {decay['confidence']:.2f} has become {decay['effective_confidence']:.2f} "
        f"in {decay['days_since_confirmed']:.0f} days without confirmation."
    )


def _rounded(value: float | None) -> float | None:
    return value if value is None or isinstance(value, int) else round(value, _PLACES)


def _listed(words: tuple[str, ...]) -> str:
    return ", ".join(f"“{word}”" for word in words)
