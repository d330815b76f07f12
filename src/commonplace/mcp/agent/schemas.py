"""Schemas of parameters in few words: a model needs neither bounds, nor ``null``, nor defaults that change nothing.

Calls are checked against the whole schema all the same, and a refusal names the bounds.
"""

from collections.abc import Mapping
from typing import Any, Final, cast

_LEFT_OUT: Final = frozenset(
    {"additionalProperties", "maxLength", "minLength", "maxItems", "maximum", "minimum", "title"}
)


def terse_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of some parameters without what only a validator needs."""
    shown: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "anyOf":
            shown |= _only_choice(value)
        elif key == "properties":
            shown[key] = {name: terse_schema(each) for name, each in cast("dict[str, Any]", value).items()}
        elif key == "items":
            shown[key] = terse_schema(value)
        elif key not in _LEFT_OUT and (key != "default" or value not in (None, False)):
            shown[key] = value
    return shown


def _only_choice(choices: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the one schema beside ``null``; several schemas stay a choice."""
    real = [terse_schema(each) for each in choices if each.get("type") != "null"]
    return real[0] if len(real) == 1 else {"anyOf": real}
