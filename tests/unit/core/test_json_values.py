"""Results in the form that JSON can say."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

import pytest

from commonplace.core.json_values import json_safe
from commonplace.knowledge.model.permanence import Permanence


@dataclass(frozen=True, slots=True)
class Receipt:
    """A result with an id."""

    id: UUID
    links: tuple[UUID, ...]


class Offer:
    """A value with a JSON form of its own."""

    def to_json(self) -> dict[str, object]:
        """Return the form."""
        return {"id": KEY, "permanence": Permanence.STABLE}


KEY = UUID("6fa459ea-ee8a-3ca4-894e-db77e160355e")


@pytest.mark.requirement("KNW-27.1", "KNW-27.2", "KNW-27", "R-KNW-9")
def test_rows_become_json_without_vectors() -> None:
    """At every depth."""
    row = {
        "id": KEY,
        "created_at": datetime(2026, 3, 1, 12, 30, tzinfo=UTC),
        "last_referenced_at": None,
        "embedding": [0.1] * 384,
        "search_vector": "'a':1",
        "permanence": Permanence.STABLE,
        "tags": ["a"],
        "metadata": {"deep": [{"id": KEY}], "n": 1.5},
    }
    safe = json_safe([row, Receipt(id=KEY, links=(KEY,))])
    assert json.loads(json.dumps(safe)) == [
        {
            "id": str(KEY),
            "created_at": "2026-03-01T12:30:00.000000Z",
            "last_referenced_at": None,
            "permanence": "stable",
            "tags": ["a"],
            "metadata": {"deep": [{"id": str(KEY)}], "n": 1.5},
        },
        {"id": str(KEY), "links": [str(KEY)]},
    ]


def test_a_form_of_its_own_comes_before_all_others() -> None:
    """A member of an enumeration of texts is a plain text after that."""
    assert json_safe([Offer()]) == [{"id": str(KEY), "permanence": "stable"}]
    assert type(json_safe(Permanence.STABLE)) is str
