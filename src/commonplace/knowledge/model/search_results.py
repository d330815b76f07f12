"""A memory that a search found, with its scores and an optional explanation."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, Final
from uuid import UUID

from commonplace.core.json_values import json_safe
from commonplace.core.text import trim_to
from commonplace.knowledge.model.kinds import Episode, Fact, Memory
from commonplace.knowledge.model.short_ids import short_id
from commonplace.storage.database import Columns

BESIDE_CHARS: Final = 1_000
"""The maximum length of the text of a memory that a result carries along; its id leads to the whole text."""

STALE: Final = (
    "It is stale: a memory that it is derived from was superseded or forgotten after its last confirmation."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """The scores of a found memory; ``None`` for a score that the search does not compute.

    Attributes:
        similarity: Cosine of the vectors of the memory and the query, -1.0 to 1.0.
        rank: ``ts_rank`` of the words.
        semantic_rank: Place in the list by meaning, from 1.
        keyword_rank: Place in the list by words, from 1.
        rrf_score: Reciprocal Rank Fusion of both places.
        contextual_score: Score of a search by context.
        likeness: The likeness of a memory and the topic of a recall, which decides whether it is shown: 0.0 is none,
            1.0 the same topic, more with rare words in common.
        composite_score: Score of a recall: relevance, importance, recency and confidence.
    """

    similarity: float | None = None
    rank: float | None = None
    semantic_rank: int | None = None
    keyword_rank: int | None = None
    rrf_score: float | None = None
    contextual_score: float | None = None
    likeness: float | None = None
    composite_score: float | None = None

    @classmethod
    def from_row(cls, row: Columns) -> "Scores":
        """Return the scores that a statement selected."""
        return cls(**{each.name: row.get(each.name) for each in fields(cls)})


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextParts:
    """The parts of a contextual score, and the words of the query in the memory and near it."""

    words: float
    meaning: float
    context: float
    form: float
    matched_words: tuple[str, ...]
    nearby_words: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """One of the four parts of a composite score; the contribution is the value times the weight."""

    value: float
    weight: float
    contribution: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Decay:
    """The decay of a confidence; ``days_since_confirmed`` is ``None`` if the memory was never confirmed."""

    confidence: float
    decay_rate: float
    days_since_confirmed: float | None
    effective_confidence: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The reasons why a memory was found.

    Attributes:
        why: Sentences for a person.
        scores: The scores of the memory, rounded.
        parts: The parts of a contextual score.
        components: The components of a recall score, by name.
        min_relevance: The minimum likeness of the best memory of a recall.
        decay: The decay of a fact or rule.
    """

    why: str
    scores: Scores
    parts: ContextParts | None = None
    components: Mapping[str, Component] | None = None
    min_relevance: float | None = None
    decay: Decay | None = None

    def to_json(self) -> Mapping[str, object]:
        """Return everything in one JSON object."""
        parts = {} if self.parts is None else json_fields(self.parts)
        others = {
            "components": self.components,
            "min_relevance": self.min_relevance,
            "decay": self.decay,
            "why": self.why,
        }
        return {
            **present(self.scores),
            **parts,
            **{name: json_safe(value) for name, value in others.items() if value is not None},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """A memory that a search or a recall found.

    Attributes:
        is_stale: Whether a memory that it is derived from or supported by was superseded or forgotten after the last
            confirmation; a recall ranks it down.
        related_by: The fact that mentions the entity of this fact, if the query did not find this fact directly.
        until_then: The superseded fact that holds until this fact begins, if this fact begins in the future.
        stands_for: The memories that say the same, or are another value of the same key, and have no result of their
            own.
    """

    memory: Memory
    scores: Scores
    explanation: Explanation | None = None
    is_stale: bool = False
    related_by: UUID | None = None
    until_then: Fact | None = None
    stands_for: tuple[Memory, ...] = ()

    def marked(self, *, is_stale: bool) -> "SearchResult":
        """Return the result, marked as stale if it is; the explanation says so too."""
        if not is_stale:
            return self
        return replace(self, is_stale=True, explanation=_longer(self.explanation, STALE))

    def standing_for(self, memories: Iterable[Memory]) -> "SearchResult":
        """Return the result with more memories that it stands for; the explanation names them."""
        known = {each.id: each for each in (*self.stands_for, *memories) if each.id != self.memory.id}
        more = list(known.values())[len(self.stands_for) :]
        if not more:
            return self
        named = ", ".join(f"{short_id(each.memory_type, each.id)} ({_place(each)})" for each in more)
        explanation = _longer(self.explanation, f"It stands for {named}.")
        return replace(self, stands_for=tuple(known.values()), explanation=explanation)

    def to_json(self) -> Mapping[str, object]:
        """Return the fields of the memory, its scores and its explanation in one JSON object."""
        explained = {} if self.explanation is None else {"explanation": json_safe(self.explanation)}
        stale = {"is_stale": True} if self.is_stale else {}
        related = {} if self.related_by is None else {"related_by": str(self.related_by)}
        until = {} if self.until_then is None else {"until_then": _held(self.until_then)}
        folded = {"stands_for": [_beside(each) for each in self.stands_for]} if self.stands_for else {}
        return {
            **json_fields(self.memory),
            **present(self.scores),
            **stale,
            **related,
            **until,
            **folded,
            **explained,
        }


def _longer(explanation: Explanation | None, sentence: str) -> Explanation | None:
    return None if explanation is None else replace(explanation, why=f"{explanation.why} {sentence}")


def _place(memory: Memory) -> str:
    return memory.butler if isinstance(memory, Episode) else memory.scope


def _held(fact: Fact) -> dict[str, object]:
    content = trim_to(fact.content, BESIDE_CHARS)
    return {"id": str(fact.id), "content": content, "valid_to": json_safe(fact.valid_to)}


def _beside(memory: Memory) -> dict[str, object]:
    content = trim_to(memory.content, BESIDE_CHARS)
    return {"id": str(memory.id), "scope": _place(memory), "content": content}


def json_fields(noun: object) -> dict[str, object]:
    """Return the fields of a dataclass as JSON."""
    return {name: json_safe(getattr(noun, name)) for name in _names(type(noun))}


def present(noun: object) -> dict[str, object]:
    """Return the fields of a dataclass as JSON, without those that are ``None``."""
    return {name: value for name, value in json_fields(noun).items() if value is not None}


@cache
def _names(noun: type[Any]) -> tuple[str, ...]:
    return tuple(each.name for each in fields(noun))
