"""Tools of a memory over MCP: arguments are checked, results are JSON, and errors say what to do.

A tool is a function of the memory and its parameters. The types and descriptions of the parameters become the schema,
the docstring becomes the description, and the result becomes JSON. A ``str`` stays text, because clients that get JSON
show a model no text.
"""

import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Annotated, Any, Final, get_type_hints

from fastmcp.tools import Tool, ToolResult
from mcp_types import ToolAnnotations
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError, create_model

from commonplace.access import Role
from commonplace.core.docstrings import documented
from commonplace.core.errors import (
    EmbeddingError,
    InvalidInputError,
    NotFoundError,
    SecretRefusedError,
    SettingsError,
    StorageError,
)
from commonplace.core.text import trim_to
from commonplace.knowledge import json_safe

ToolFunction = Callable[..., Awaitable[object]]

SECRET_HINT: Final = "Leave the secret out and store only that it exists and where it is kept."  # noqa: S105 - advice
OUTAGE_HINT: Final = "Nothing is wrong with the call. Go on without memory, and try again later, not at once."
REPEAT_HINT: Final = "Correct this one parameter and call again; the same call will be refused again."

NO_DEFAULTS: Final[Mapping[str, object]] = MappingProxyType({})

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A tool to register: its function, which names the tool, and its effects.

    Attributes:
        run: Takes the memory, then the tool's parameters as keywords.
        title: For people.
        reads_only: Whether the tool changes no memory.
        destroys: Whether the tool takes memories out of searches.
        repeatable: Whether a second call with the same arguments changes nothing.
        needs: The role that the tool requires over HTTP; by default a reader's if it only reads, else a writer's.
    """

    run: ToolFunction
    title: str
    reads_only: bool = False
    destroys: bool = False
    repeatable: bool = False
    needs: Role | None = None

    @property
    def role(self) -> Role:
        """The role that the tool requires over HTTP."""
        return self.needs or (Role.READER if self.reads_only else Role.WRITER)


class MemoryTool(Tool):
    """One tool on the memory of the caller."""

    _offer: Offer = PrivateAttr()
    _arguments: type[BaseModel] = PrivateAttr()
    _caller: Callable[[], Awaitable[object]] = PrivateAttr()
    _hints: Mapping[str, str] = PrivateAttr()

    @classmethod
    def make(
        cls,
        offer: Offer,
        caller: Callable[[], Awaitable[object]],
        *,
        hints: Mapping[str, str],
        defaults: Mapping[str, object] = NO_DEFAULTS,
    ) -> "MemoryTool":
        """Return the tool of an offer.

        Args:
            offer: The function of the tool and its effects.
            caller: Returns the memory of the caller; called for each call of the tool.
            hints: Hints for a parameter that was refused.
            defaults: Values that replace the defaults of the function.
        """
        arguments, schema = _form(offer.run, frozenset(defaults.items()))
        tool = cls(
            name=offer.run.__name__,
            title=offer.title,
            description=documented(offer.run)[0],
            parameters=schema,
            annotations=ToolAnnotations(
                read_only_hint=offer.reads_only,
                destructive_hint=offer.destroys,
                idempotent_hint=offer.repeatable,
                open_world_hint=False,
            ),
        )
        tool._offer, tool._arguments, tool._caller, tool._hints = offer, arguments, caller, hints
        return tool

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        """Check the arguments, call the function, and return its result, or an error that says what to do."""
        try:
            memory = await self._caller()
            checked = self._arguments.model_validate(arguments)
            # Models send null for a parameter that they mean to leave out.
            given = {
                name: field.default if getattr(checked, name) is None else getattr(checked, name)
                for name, field in type(checked).model_fields.items()
            }
            if "tenant_id" in given and "tenant_id" not in checked.model_fields_set:
                given["tenant_id"] = getattr(memory, "tenant_id", None)
            result = await self._offer.run(memory, **given)
        except Exception as error:  # noqa: BLE001 - an outer door: whatever it was, the model gets an answer
            return self._refused(error)
        return (
            ToolResult(content=result)
            if isinstance(result, str)
            else ToolResult(structured_content=json_safe(result))
        )

    def _refused(self, error: Exception) -> ToolResult:
        match error:
            case ValidationError():
                return _refused_arguments(error, list(self._arguments.model_fields), self._hints)
            case InvalidInputError():
                own_hint = self._hints.get(error.field.partition(".")[0], REPEAT_HINT)
                hint = SECRET_HINT if isinstance(error, SecretRefusedError) else own_hint
                return refusal(
                    str(error), field=error.field, expected=error.expected, got=error.got, hint=hint
                )
            case NotFoundError():
                own = f"{error.kind}_id"
                field = own if own in self._arguments.model_fields else "memory_id"
                expected = f"the id of an existing {error.kind}"
                return refusal(
                    str(error),
                    field=field,
                    expected=expected,
                    got=str(error.key),
                    hint=self._hints.get(field, REPEAT_HINT),
                )
            case StorageError() | EmbeddingError() | SettingsError():
                message = f"memory is out of reach: {error}"
            case _:
                message = "memory failed in a way that is not the call's fault"
        _log.error("%s failed", self.name, exc_info=error)
        return refusal(message, hint=OUTAGE_HINT)


def refusal(message: str, *, hint: str, **details: str) -> ToolResult:
    """Return an error that a model can act on, as text and as JSON."""
    fault = {"message": message, **details, "hint": hint}
    return ToolResult(content=f"{message}. {hint}", structured_content={"error": fault}, is_error=True)


@cache
def _form(
    run: ToolFunction, defaults: frozenset[tuple[str, object]]
) -> tuple[type[BaseModel], dict[str, Any]]:
    """Return the pydantic model of a function's parameters, and its JSON schema."""
    arguments = arguments_of(run, dict(defaults))
    schema = arguments.model_json_schema()
    schema.pop("title")
    for each in schema["properties"].values():
        each.pop("title", None)
    return arguments, schema


def arguments_of(run: ToolFunction, defaults: Mapping[str, object]) -> type[BaseModel]:
    """Return the pydantic model of a function's parameters, described by its docstring, without the memory."""
    hints, (_, descriptions) = get_type_hints(run, include_extras=True), documented(run)
    _, *parameters = inspect.signature(run).parameters.values()
    fields: dict[str, Any] = {}
    for each in parameters:
        default = defaults.get(each.name, ... if each.default is inspect.Parameter.empty else each.default)
        hint = hints[each.name]
        described = each.name in descriptions
        fields[each.name] = (
            Annotated[hint, Field(description=descriptions[each.name])] if described else hint,
            default,
        )
    config = ConfigDict(extra="forbid")
    return create_model(run.__name__, __config__=config, **fields)


def _refused_arguments(error: ValidationError, known: list[str], hints: Mapping[str, str]) -> ToolResult:
    """Return the error about the first invalid argument."""
    fault = error.errors(include_url=False)[0]
    field = ".".join(str(part) for part in fault["loc"]) or "arguments"
    match fault["type"]:
        case "missing":
            expected, got = "a value, for it is required", "nothing"
        case "extra_forbidden":
            expected, got = f"no such parameter; there are {', '.join(known)}", _shorten(fault["input"])
        case _:
            expected = fault["msg"].removeprefix("Input should be ")
            got = _shorten(fault["input"])
    hint = hints.get(field.partition(".")[0], REPEAT_HINT)
    return refusal(
        f"{field}: expected {expected}, got {got}", field=field, expected=expected, got=got, hint=hint
    )


def _shorten(value: object) -> str:
    return trim_to(repr(value), InvalidInputError.SHOWN_CHARS)
