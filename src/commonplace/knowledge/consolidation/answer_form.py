"""The form of an answer as a JSON schema, for models whose server can enforce one (CNS-04).

The schema only guides the model. The parser reads the answer entry by entry, so a malformed entry does not affect the
others.
"""

from typing import Annotated, Any, Final

from pydantic import BaseModel, Field, WithJsonSchema

from commonplace.knowledge.model.permanence import Permanence

_TEXT: Final = {"type": "string"}
_TEXTS: Final = {"type": "array", "items": _TEXT}
_DAY: Final = {"type": "string", "description": "a day, such as 2026-03-31"}
_PERIOD: Final = {"valid_from": _DAY, "valid_to": _DAY}
_FACT: Final = {
    "subject": _TEXT,
    "predicate": _TEXT,
    "content": _TEXT,
    **_PERIOD,
    "was": {
        "type": "array",
        "items": {"type": "object", "properties": {"content": _TEXT} | _PERIOD, "required": ["content"]},
    },
    "permanence": {"enum": [str(each) for each in Permanence]},
    "importance": {"type": "number", "minimum": 1, "maximum": 10},
}
_MORE: Final = {"tags": _TEXTS, "evidence": _TEXTS}


def _entries(properties: dict[str, Any], *required: str) -> WithJsonSchema:
    entry = {"type": "object", "properties": properties, "required": list(required)}
    return WithJsonSchema({"type": "array", "items": entry})


_KEY: Final = ("subject", "predicate", "content")
_NewFacts = Annotated[Any, _entries(_FACT | _MORE, *_KEY)]
_UpdatedFacts = Annotated[Any, _entries({"target_id": _TEXT} | _FACT | _MORE, "target_id", *_KEY)]
_Retractions = Annotated[Any, _entries({"target_id": _TEXT, "evidence": _TEXTS}, "target_id")]
_NewRules = Annotated[Any, _entries({"content": _TEXT} | _MORE, "content")]
_UpdatedRules = Annotated[
    Any, _entries({"target_id": _TEXT, "content": _TEXT} | _MORE, "target_id", "content")
]


class ConsolidationAnswer(BaseModel):
    """The actions of an answer."""

    new_facts: _NewFacts = Field(default_factory=list)
    updated_facts: _UpdatedFacts = Field(default_factory=list)
    retractions: _Retractions = Field(default_factory=list)
    new_rules: _NewRules = Field(default_factory=list)
    updated_rules: _UpdatedRules = Field(default_factory=list)
    confirmations: Annotated[Any, WithJsonSchema(_TEXTS)] = Field(default_factory=list)
