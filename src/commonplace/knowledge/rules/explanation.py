"""Explanations of results: ranks, scores and decay, and sentences for a person. Pure."""

from collections.abc import Iterable
from dataclasses import fields, replace
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from commonplace.core.instructions import in_words
from commonplace.core.sources import Source
from commonplace.knowledge.model.config import ScoreWeights
from commonplace.knowledge.model.kinds import Episode, Fact, Memory, Rule
from commonplace.knowledge.model.search_results import Component, ContextParts, Decay, Explanation, Scores
from commonplace.knowledge.rules.ranking import ContextualScore
from commonplace.knowledge.rules.scoring import Score
from commonplace.language.words import tokens

_DAY_S: Final = 86_400.0
_PLACES: Final = 6
SOURCE_NAMES: Final = {
    Source.PERSON: "a person",
    Source.AGENT: "an agent",
    Source.IMPORT: "an import",
    Source.DOCUMENT: "a document",
    Source.TOOL: "a tool",
    Source.WEB: "the web",
}


def explain_search(memory: Memory, scores: Scores, *, limit: int, now: datetime) -> Explanation:
    """Explain a result of a semantic, keyword or hybrid search.

    Args:
        memory: The memory that was found.
        scores: Its scores.
        limit: The limit of the search; a higher rank means that the memory is not in the list.
        now: The present (aware).
    """
    decay = _decay(memory, now)
    return Explanation(
        why=_sentences(_found(scores, limit), decay, memory), scores=_rounded_scores(scores), decay=decay
    )


def explain_context(
    memory: Memory, scores: Scores, ranked: ContextualScore, *, query: str, now: datetime
) -> Explanation:
    """Explain a result of a search by context.

    Args:
        memory: The memory that was found.
        scores: Its scores.
        ranked: Its score by context; its words are stems.
        query: The query, whose words the explanation shows in place of the stems.
        now: The present (aware).
    """
    matched, nearby = (_as_asked(stems, query) for stems in (ranked.matched, ranked.nearby))
    parts = ContextParts(
        words=_rounded(ranked.words),
        meaning=_rounded(ranked.meaning),
        context=_rounded(ranked.context),
        form=_rounded(ranked.form),
        matched_words=matched,
        nearby_words=nearby,
    )
    holds = f"It contains {_listed(matched)}" if matched else "It contains no word of the query"
    around = f"; {_listed(nearby)} is near it or in its date" if nearby else ""
    alike = f"Its meaning counts {ranked.meaning:.2f}"
    alike += (
        f" alone and {ranked.context:.2f} with the turns around it." if isinstance(memory, Episode) else "."
    )
    decay = _decay(memory, now)
    return Explanation(
        why=_sentences(f"{holds}{around}. {alike}", decay, memory),
        scores=_rounded_scores(scores),
        parts=parts,
        decay=decay,
    )


def explain_recall(
    memory: Fact | Rule,
    scores: Scores,
    score: Score,
    weights: ScoreWeights,
    *,
    min_relevance: float,
    limit: int,
    now: datetime,
) -> Explanation:
    """Explain a recalled fact or rule; the contributions of the four components sum to the composite score."""
    parts = [
        (name, getattr(score, name), getattr(weights, name))
        for name in ("relevance", "importance", "recency", "confidence")
    ]
    most, _, _ = max(parts, key=lambda part: part[1] * part[2])
    sums = ", ".join(
        "never used before" if name == "recency" and not value else f"{name} {value:.2f} times {weight:g}"
        for name, value, weight in parts
    )
    scored = f"It scores {score.composite:.3f}, most of it for {most}: {sums}."
    matches = _match_sentence(scores.likeness or 0.0, floor=min_relevance)
    decay = _decay(memory, now)
    return Explanation(
        why=_sentences(f"{scored} {matches} {_found(scores, limit)}", decay, memory),
        scores=_rounded_scores(scores),
        components={
            name: Component(value=_rounded(value), weight=weight, contribution=_rounded(value * weight))
            for name, value, weight in parts
        },
        min_relevance=min_relevance,
        decay=decay,
    )


def explain_related(memory: Fact, scores: Scores, told_id: UUID, *, now: datetime) -> Explanation:
    """Explain a fact that was found because another fact, ``told_id``, mentions its entity."""
    decay = _decay(memory, now)
    told = f"The fact {told_id} names {memory.subject}, and this fact is about it. {_found(scores, 0)}"
    return Explanation(why=_sentences(told, decay, memory), scores=_rounded_scores(scores), decay=decay)


def _match_sentence(likeness: float, *, floor: float) -> str:
    """Return the sentence about the likeness of a memory and a topic, which may be above 1 because words add to it."""
    needed = f" The best result needs {floor:.2f}, or nothing is shown." if floor > 0 else ""
    return f"Its match with the topic is {likeness:.2f}: up to 1 for the meaning, more for rare shared words.{needed}"


def _sentences(found: str, decay: Decay | None, memory: Memory) -> str:
    parts = [found] if decay is None else [found, _decay_sentence(decay)]
    return " ".join([*parts, _source_sentence(memory)])


def _source_sentence(memory: Memory) -> str:
    confirmed = memory.trust is Source.PERSON is not memory.source
    told = f"Its source is {SOURCE_NAMES[memory.source]}"
    told += ", and a person confirmed it." if confirmed else "."
    return f"{told} It looks like an instruction ({in_words(memory.flags)})." if memory.flags else told


def _found(scores: Scores, limit: int) -> str:
    by_meaning, by_words = scores.semantic_rank, scores.keyword_rank
    if by_meaning is None or by_words is None:
        if scores.similarity is not None:
            return f"Its meaning is {scores.similarity:.2f} like the query (1 is the same)."
        return f"It contains words of the query (rank {scores.rank or 0.0:.4f})."
    if by_meaning > limit and by_words > limit:
        return f"It is not among the first {limit} by meaning or by words."
    if by_words > limit:
        return f"It is number {by_meaning} by meaning, and not among the first {limit} by words."
    if by_meaning > limit:
        return f"It is number {by_words} by words, and not among the first {limit} by meaning."
    return f"It is number {by_meaning} by meaning and number {by_words} by words."


def _decay(memory: Memory, now: datetime) -> Decay | None:
    if isinstance(memory, Episode):
        return None
    confirmed_at = memory.last_confirmed_at
    days = None if confirmed_at is None else max(0.0, (now - confirmed_at).total_seconds() / _DAY_S)
    return Decay(
        confidence=memory.confidence,
        decay_rate=memory.decay_rate,
        days_since_confirmed=None if days is None else round(days, 2),
        effective_confidence=_rounded(memory.effective_confidence),
    )


def _decay_sentence(decay: Decay) -> str:
    if decay.decay_rate == 0.0:
        return f"Its confidence of {decay.confidence:.2f} does not decay."
    if decay.days_since_confirmed is None:
        return "It was never confirmed, so nothing is left of its confidence."
    if decay.days_since_confirmed < 1.0:
        return f"Its confidence is {decay.effective_confidence:.2f}, confirmed within a day."
    days = f"{decay.days_since_confirmed:.0f}"
    return (
        f"Its confidence of {decay.confidence:.2f} has become {decay.effective_confidence:.2f} "
        f"in {days} {'day' if days == '1' else 'days'} without confirmation."
    )


def _rounded(value: float) -> float:
    return round(value, _PLACES)


def _rounded_scores(scores: Scores) -> Scores:
    changes: dict[str, Any] = {
        each.name: _rounded(value)
        for each in fields(scores)
        if isinstance(value := getattr(scores, each.name), float)
    }
    return replace(scores, **changes)


def _as_asked(stems: Iterable[str], query: str) -> tuple[str, ...]:
    """Return the words of a query from which stems come."""
    asked = tokens(query)

    def word_of(stem: str) -> str:
        # The stem of "library" is "librari".
        held = (word for start in (stem, stem[:-1]) for word in asked if word.startswith(start))
        return next(held, stem)

    return tuple(map(word_of, stems))


def _listed(words: tuple[str, ...]) -> str:
    return ", ".join(f"“{word}”" for word in words)
