"""Annotations of parameters that tools of several memories share.

Models send lists and objects as JSON in a string about as often as they send the real thing; both are accepted.
"""

import json
from enum import StrEnum
from typing import Any

from pydantic import BeforeValidator, Field


def _from_json(value: object) -> object:
    """Read a list or object that came as JSON in a string; return every other value unchanged."""
    if not isinstance(value, str) or not value.strip().startswith(("[", "{", "null")):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def one_of(known: type[StrEnum]) -> Any:  # noqa: ANN401 - pydantic's own annotation
    """Show a closed set in a schema. The memory checks the value, and its message lists the accepted words."""
    return Field(json_schema_extra={"enum": [*known]})


JSON = BeforeValidator(_from_json)
