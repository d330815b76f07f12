"""The definitions of our tools in the request of an agent host to its model, whatever the host wraps them in."""

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any, Final

from commonplace.core.budgets import estimate_tokens
from commonplace.mcp.agent.server import INSTRUCTIONS
from commonplace.mcp.agent.tools import TOOLS

MOST_TOOLS: Final = 8
MOST_TOKENS: Final = 1_500
NAMES: Final = frozenset(spec.name for spec in TOOLS)


def definitions(tools: object) -> list[dict[str, Any]]:
    """Return the definitions of our tools in the list of tools of a request."""
    return [each for each in _objects(tools) if str(each.get("name", "")).endswith(tuple(NAMES))]


def cost(found: list[dict[str, Any]]) -> int:
    """Return the tokens of definitions, as the host sends them, with the instructions of the server."""
    ours = [_without_additions(each) for each in found]
    return estimate_tokens(json.dumps(ours, ensure_ascii=False, separators=(",", ":")) + INSTRUCTIONS)


def _without_additions(definition: dict[str, Any]) -> dict[str, Any]:
    """Return a definition without the parameter that Gemini CLI adds to each tool."""
    copy = deepcopy(definition)
    copy.get("parametersJsonSchema", {}).get("properties", {}).pop("wait_for_previous", None)
    return copy


def _objects(value: object) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _objects(each)
