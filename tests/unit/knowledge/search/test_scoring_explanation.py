"""Why a memory was found, in numbers and words."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from commonplace.core.json_values import json_safe
from commonplace.knowledge.model.config import ScoreWeights
from commonplace.knowledge.model.kinds import Fact
from commonplace.knowledge.model.search_results import Scores
from commonplace.knowledge.rules.explanation import explain_context, explain_recall, explain_search
from commonplace.knowledge.rules.ranking import rank_by_context
from commonplace.knowledge.rules.scoring import score
from support.candidates import candidates
from support.memories import NOW, a_fact

LIMIT = 10


FUSED = 1 / 61 + 1 / 63


def found(**changed: object) -> tuple[Fact, Scores]:
    """A fact with its scores, as a hybrid search returns them."""
    scores = {"similarity": 0.61, "rank": 0.0607, "semantic_rank": 1, "keyword_rank": 3, "rrf_score": FUSED}
    scores |= {name: changed.pop(name) for name in scores.keys() & changed.keys()}
    row = {
        "importance": 8.0,
        "decay_rate": 0.008,
        "last_confirmed_at": NOW - timedelta(days=20),
        "last_referenced_at": None,
    }
    return a_fact(**row | changed), Scores.from_row(scores)


def test_a_search_explains_both_ranks_and_the_decay() -> None:
    """The sentence says where it stood and what is left of its confidence."""
    explanation = explain_search(*found(), limit=LIMIT, now=NOW)

    assert explanation.why == (
        "It is number 1 by meaning and number 3 by words. "
        "Its confidence of 1.00 has become 0.85 in 20 days without confirmation. Its source is an agent."
    )
    assert explanation.decay is not None
    assert explanation.decay.days_since_confirmed == 20.0


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"keyword_rank": LIMIT + 1}, "It is number 1 by meaning, and not among the first 10 by words."),
        ({"semantic_rank": LIMIT + 1}, "It is number 3 by words, and not among the first 10 by meaning."),
        ({"decay_rate": 0.0}, "Its confidence of 1.00 does not decay."),
        ({"last_confirmed_at": None}, "It was never confirmed, so nothing is left of its confidence."),
        ({"last_confirmed_at": NOW}, "Its confidence is 1.00, confirmed within a day."),
    ],
)
def test_the_sentence_says_what_is_so(changed: dict[str, Any], sentence: str) -> None:
    """Each case in words."""
    assert sentence in explain_search(*found(**changed), limit=LIMIT, now=NOW).why


@pytest.mark.parametrize(
    ("kept", "sentence"),
    [
        ("similarity", "Its meaning is 0.61 like the query"),
        ("rank", "It contains words of the query (rank 0.0607)"),
    ],
)
def test_a_search_of_one_kind_explains_its_only_list(kept: str, sentence: str) -> None:
    """Semantic and keyword results have no ranks of two lists."""
    memory, scores = found()
    explanation = explain_search(memory, Scores.from_row({kept: getattr(scores, kept)}), limit=LIMIT, now=NOW)

    assert sentence in explanation.why


def test_a_recall_shows_parts_that_sum_to_the_score() -> None:
    """Value times weight is the contribution, and the contributions are the score."""
    weights = ScoreWeights()
    memory, scores = found()
    scored = score(memory, 0.9, weights, NOW)

    explanation = explain_recall(
        memory, replace(scores, likeness=1.09), scored, weights, min_relevance=0.58, limit=LIMIT, now=NOW
    )

    assert explanation.components is not None
    total = sum(part.contribution for part in explanation.components.values())
    assert total == pytest.approx(scored.composite, abs=1e-5)
    assert explanation.why.startswith(f"It scores {scored.composite:.3f}, most of it for relevance")
    assert (
        "Its match with the topic is 1.09: up to 1 for the meaning, more for rare shared words. "
        "The best result needs 0.58, or nothing is shown." in explanation.why
    )
    assert explanation.min_relevance == 0.58
    assert ", never used before, confidence" in explanation.why
    used, _ = found(last_referenced_at=NOW)
    again = explain_recall(
        used, scores, score(used, 0.9, weights, NOW), weights, min_relevance=0.58, limit=LIMIT, now=NOW
    )
    assert ", recency 1.00 times 0.2, confidence" in again.why


def test_a_contextual_result_names_words_in_it_and_around_it() -> None:
    """A reader sees what the turn itself holds and what its neighbours lend it."""
    turns = candidates([{"present": (1, 0)}, {"present": (0, 1)}], words=("databas", "stage"))
    memory, _ = found()
    (best,) = rank_by_context(turns, "the Databases of staging", limit=1, shown={0})

    scores = Scores(contextual_score=best.score)
    explanation = explain_context(memory, scores, best, query="the Databases of staging", now=NOW)

    assert "It contains “databases”; “staging” is near it or in its date." in explanation.why
    assert explanation.parts is not None
    assert explanation.parts.matched_words == ("databases",)


def test_every_explanation_is_json() -> None:
    """No ids, moments or numbers of numpy."""
    weights = ScoreWeights()
    memory, scores = found()
    explanations = json_safe(
        [
            explain_search(memory, scores, limit=LIMIT, now=NOW),
            explain_search(*found(similarity=None, semantic_rank=LIMIT + 1), limit=LIMIT, now=NOW),
            explain_recall(
                memory,
                scores,
                score(memory, 0.9, weights, NOW),
                weights,
                min_relevance=0.58,
                limit=LIMIT,
                now=NOW,
            ),
        ]
    )

    assert json.loads(json.dumps(explanations, allow_nan=False)) == explanations
