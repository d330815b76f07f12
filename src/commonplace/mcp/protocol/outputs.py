"""The output schemas of tools, made from the types that their functions return.

A refused call answers with ``{"error": …}``. Some clients check this answer too, so every schema allows it.
"""

import inspect
from collections.abc import Awaitable, Callable
from functools import cache
from typing import Any, Final, cast

from fastmcp.utilities.json_schema import dereference_refs
from pydantic import TypeAdapter

REFUSAL: Final = {
    "type": "object",
    "description": "Why the call was refused, and what to do.",
    "properties": {name: {"type": "string"} for name in ("message", "field", "expected", "got", "hint")},
    "required": ["message", "hint"],
}


@cache
def output_schema(run: Callable[..., Awaitable[object]]) -> dict[str, Any] | None:
    """Return the JSON Schema of what a function of a tool answers; ``None`` if it answers with text.

    The library would resolve references at each list of the tools, for which every session waits.
    """
    result = inspect.signature(run).return_annotation
    if result is str:
        return None
    schema = _summarised(dereference_refs(TypeAdapter(result).json_schema(mode="serialization")))
    answers = schema.pop("anyOf", None) or [{"required": schema.pop("required", [])}]
    for named in ("title", "description"):
        schema.pop(named, None)
    return {
        **schema,
        "type": "object",
        "properties": {**schema.get("properties", {}), "error": REFUSAL},
        "anyOf": [*answers, {"required": ["error"]}],
    }


def _summarised(schema: Any) -> Any:  # noqa: ANN401 - JSON
    """Return a schema with the first paragraph of each description: the rest of a docstring is for developers."""
    if isinstance(schema, list):
        return [_summarised(each) for each in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    shown = {key: _summarised(value) for key, value in cast("dict[str, Any]", schema).items()}
    if isinstance(text := shown.get("description"), str):
        shown["description"] = text.partition("\n\n")[0]
    return shown
