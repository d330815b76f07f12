"""A field has the same bounds and the same default at every door: REST, MCP tools and commands."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
import typer.main
from fastapi import FastAPI
from pydantic import TypeAdapter

from commonplace import apps, operational, workspace
from commonplace.cli.main import Commands
from commonplace.core.bounds import BudgetTokens, MomentText, Offset, Share, bounds_of
from commonplace.knowledge import (
    DEFAULT_BUDGET_TOKENS,
    DEFAULT_IMPORTANCE,
    DEFAULT_LIMIT,
    DEFAULT_MIN_CONFIDENCE,
    GLOBAL_SCOPE,
    Content,
    Importance,
    Key,
    Limit,
    MaxEntries,
    Permanence,
    Query,
    Scope,
    Tags,
)
from commonplace.mcp.apps.tools import TOOLS as APP_TOOLS
from commonplace.mcp.knowledge.server import TOOLS
from commonplace.mcp.protocol.tool import arguments_of
from commonplace.web.rest import briefing
from commonplace.web.rest.apps import conversations
from commonplace.web.rest.knowledge import entities, lists, memories, upkeep
from commonplace.web.rest.operational import routes as operational_routes
from commonplace.web.rest.workspace import routes as workspace_routes

DECLARED: Mapping[str, Any] = {
    **dict.fromkeys(("scope", "butler", "learned_by"), Scope),
    **dict.fromkeys(("as_of", "valid_at", "since", "until"), MomentText),
    **dict.fromkeys(("min_confidence", "min_relevance"), Share),
    **dict.fromkeys(("query", "topic"), Query),
    **dict.fromkeys(("subject", "predicate"), Key),
    "tags": Tags,
    "content": Content,
    "importance": Importance,
    "limit": Limit,
    "offset": Offset,
    "budget_tokens": BudgetTokens,
    "max_entries": MaxEntries,
}
"""The type of each field of knowledge memory that has bounds."""

NAMES = {"token_budget": "budget_tokens", "budget": "budget_tokens", "tag": "tags", "entity": "entity_id"}
"""Names that the specification, or the command line, has for a field."""

OPERATIONS = {
    "search": ("searchKnowledge", "memory_search", "search"),
    "recall": ("recallKnowledge", "memory_recall", "recall"),
    "context": ("knowledgeContext", "memory_context", "context"),
    "store_episode": ("storeEpisode", "memory_store_episode", "store-episode"),
    "store_fact": ("storeFact", "memory_store_fact", "store-fact"),
    "store_rule": ("storeRule", "memory_store_rule", "store-rule"),
}
"""The names of each operation at the doors: REST, MCP, the command line."""

DEFAULTS: Mapping[str, Mapping[str, tuple[object, ...]]] = {
    "search": {
        "limit": (None, DEFAULT_LIMIT),
        "min_confidence": (DEFAULT_MIN_CONFIDENCE,),
        "min_relevance": (0.0,),
        "explain": (False,),
    },
    "recall": {
        "limit": (None, DEFAULT_LIMIT),
        "min_confidence": (DEFAULT_MIN_CONFIDENCE,),
        "min_relevance": (None,),
        "explain": (False,),
    },
    "context": {"budget_tokens": (None, DEFAULT_BUDGET_TOKENS), "min_relevance": (None,)},
    "store_episode": {"importance": (DEFAULT_IMPORTANCE,), "metadata": (None, {})},
    "store_fact": {
        "importance": (DEFAULT_IMPORTANCE,),
        "permanence": (Permanence.STANDARD,),
        "scope": (GLOBAL_SCOPE,),
        "metadata": (None, {}),
    },
    "store_rule": {"scope": (GLOBAL_SCOPE,), "metadata": (None, {})},
}
"""The default of each field; ``None`` stands for the configured value, which a tool shows."""

BOUNDS = ("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems")


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A field of an operation at a door, with its JSON schema."""

    operation: str
    name: str
    schema: Mapping[str, Any]

    @property
    def bounds(self) -> dict[str, object]:
        """The bounds of the field, and those of its items."""
        return bounds_in(self.schema)


def bounds_in(schema: Mapping[str, Any]) -> dict[str, object]:
    """Return the bounds of a JSON schema; those of a union with null are those of its other member."""
    for each in schema.get("anyOf", ()):
        if each.get("type") != "null":
            return bounds_in(each)
    inner = bounds_in(schema["items"]) if "items" in schema else {}
    return {name: schema[name] for name in BOUNDS if name in schema} | {
        f"items.{name}": value for name, value in inner.items()
    }


def snake(name: str) -> str:
    """Return the name of a field as the memories spell it."""
    name = re.sub(r"(?<=[a-z])[A-Z]", lambda found: f"_{found[0].lower()}", name).replace("-", "_")
    return NAMES.get(name, name)


def rest_fields(*routers: Any) -> Iterator[Field]:  # noqa: ANN401 - the parts of the API
    """Yield the query parameters and the fields of the bodies of routes."""
    app = FastAPI()
    for part in routers:
        app.include_router(part.api.router)
    document = app.openapi()
    for path in document["paths"].values():
        for operation in path.values():
            name = operation["operationId"]
            for each in operation.get("parameters", ()):
                if each["in"] == "query":
                    yield Field(operation=name, name=snake(each["name"]), schema=each["schema"])
            body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
            shape = body.get("schema", {}).get("$ref", "").rpartition("/")[2]
            if shape:
                properties = document["components"]["schemas"][shape]["properties"]
                for field, schema in properties.items():
                    yield Field(operation=name, name=snake(field), schema=schema)


def tool_fields(specs: Any) -> Iterator[Field]:  # noqa: ANN401 - tools
    """Yield the parameters of tools."""
    for spec in specs:
        schema = arguments_of(spec.run, {}).model_json_schema()
        for name, each in schema["properties"].items():
            yield Field(operation=spec.run.__name__, name=snake(name), schema=each)


def options(group: str) -> Iterator[tuple[str, str, Any]]:
    """Yield the name of each command of a group, the name of a field and its parameter."""
    for name, command in typer.main.get_command(Commands.entries[group].load()).commands.items():  # type: ignore[attr-defined]
        for each in getattr(command, "params", ()):
            spelt = next((word for word in each.opts if word.startswith("--")), each.name or "")
            yield name, snake(spelt.removeprefix("--")), each


KNOWLEDGE = (memories, lists, entities, upkeep)


@pytest.mark.requirement("FLR-05.1")
def test_a_field_has_its_declared_bounds_in_every_schema() -> None:
    """Of REST and of MCP; a field has the same bounds in each operation."""
    seen: set[str] = set()
    for field in (*rest_fields(*KNOWLEDGE, briefing), *tool_fields(TOOLS)):
        if field.name not in DECLARED or (field.name == "limit" and "maximum" not in field.bounds):
            continue
        seen.add(field.name)
        declared = bounds_in(TypeAdapter(DECLARED[field.name]).json_schema())
        if field.operation == "briefing" and field.name == "butler":
            continue  # A butler that cannot exist has no section; the briefing never fails because of it.
        assert field.bounds == declared, field
    assert seen == set(DECLARED)


@pytest.mark.requirement("FLR-05.1")
def test_an_option_has_the_declared_bounds() -> None:
    """The command line checks numbers; the memory checks texts."""
    checked: set[str] = set()
    for command, name, option in options("knowledge"):
        bounds = bounds_of(DECLARED.get(name))
        if bounds.kind in {int, float} and name not in {"offset", "max_entries"}:
            checked.add(name)
            assert (option.min, option.max) == (bounds.least, bounds.most), (command, name)
    assert checked == {"importance", "limit", "min_confidence", "min_relevance", "budget_tokens"}


@pytest.mark.requirement("FLR-05.1")
@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_field_has_the_same_default_at_every_door(operation: str) -> None:
    """And every door has the field."""
    route, tool, command = OPERATIONS[operation]
    doors: dict[str, dict[str, object]] = {"REST": {}, "MCP": {}, "command": {}}
    for field in rest_fields(memories):
        if field.operation == route:
            doors["REST"][field.name] = field.schema.get("default")
    for field in tool_fields(TOOLS):
        if field.operation == tool:
            doors["MCP"][field.name] = field.schema.get("default")
    for name, field_name, option in options("knowledge"):
        if name == command:
            doors["command"][field_name] = option.default
    for field_name, allowed in DEFAULTS[operation].items():
        for door, defaults in doors.items():
            assert field_name in defaults, (door, field_name)
            assert defaults[field_name] in allowed, (door, field_name)


@pytest.mark.requirement("FLR-05.1")
@pytest.mark.parametrize("operation", ["search", "recall", "context"])
def test_every_door_narrows_a_read_alike(operation: str) -> None:
    """By each field of a narrowing; a block has no scope, because its butler is the scope."""
    route, tool, command = OPERATIONS[operation]
    narrowing = {"as_of", "valid_at", "min_trust", "tags", "since", "until", "learned_by", "entity_id"}
    narrowing |= set() if operation == "context" else {"scope"}
    assert narrowing <= {each.name for each in rest_fields(memories) if each.operation == route}
    assert narrowing <= {each.name for each in tool_fields(TOOLS) if each.operation == tool}
    assert narrowing <= {name for own, name, _ in options("knowledge") if own == command}


@pytest.mark.requirement("FLR-05.1")
def test_the_other_memories_declare_their_bounds_too() -> None:
    """Apps over REST and MCP; lessons and notes over REST."""
    app_fields: Mapping[str, Any] = {
        **dict.fromkeys(("conversation_id", "user_id"), apps.Id),
        "reason": apps.Reason,
        "name": apps.Name,
    }
    for field in (*rest_fields(conversations), *tool_fields(APP_TOOLS)):
        if field.name in app_fields:
            assert field.bounds == bounds_in(TypeAdapter(app_fields[field.name]).json_schema()), field
    lessons = {
        each.name: each.bounds
        for each in rest_fields(operational_routes)
        if each.operation == "addObservation"
    }
    assert lessons["observation"] == bounds_in(TypeAdapter(operational.Observation).json_schema())
    assert lessons["confidence"] == {}  # It is clamped (OPS-08.3).
    notes = {
        each.name: each.bounds for each in rest_fields(workspace_routes) if each.operation == "storeNote"
    }
    assert notes["text"] == bounds_in(TypeAdapter(workspace.Text).json_schema())
    assert notes["tags"] == bounds_in(TypeAdapter(workspace.Tags).json_schema())
