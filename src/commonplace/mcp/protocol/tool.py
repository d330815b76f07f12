"""Tools of a memory over MCP: arguments are checked, results are JSON, and errors say what to do.

A tool is a function of the memory and its parameters. The types and descriptions of the parameters become the schema,
the docstring becomes the description, and the result becomes JSON. A ``str`` stays text, because clients that get JSON
show a model no text.
"""

import asyncio
import inspect
import itertools
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Annotated, Any, Final, cast

from fastmcp.server.dependencies import get_context
from fastmcp.tools import Tool, ToolResult
from fastmcp.utilities.json_schema import dereference_refs
from mcp_types import ToolAnnotations
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError, create_model
from pydantic.fields import FieldInfo

from commonplace.access import Role
from commonplace.core.bounds import bounds_of
from commonplace.core.docstrings import documented
from commonplace.core.errors import (
    ConflictError,
    EmbeddingError,
    InvalidInputError,
    NotFoundError,
    SecretRefusedError,
    SettingsError,
    StorageError,
)
from commonplace.core.faults import invalid_input
from commonplace.core.json_values import json_safe
from commonplace.core.parameter_groups import flat_parameters, gathered
from commonplace.mcp.protocol.outputs import output_schema
from commonplace.mcp.protocol.profiles import Profile, ToolNames

ToolFunction = Callable[..., Awaitable[object]]

SECRET_HINT: Final = "Leave the secret out; store only that it exists and where it is kept."  # noqa: S105 - advice
OUTAGE_HINT: Final = (
    "Nothing is wrong with the call. Continue without memory, and try again later, not at once."
)
REPEAT_HINT: Final = "Correct this parameter and call again; the same call will be refused again."
STATE_HINT: Final = "Nothing was changed; the same call will be refused again until the state changes."

PROGRESS_S: Final = 5.0
"""The time between two progress reports. Clients give up on a call after a minute without a report."""

NO_DEFAULTS: Final[Mapping[str, object]] = MappingProxyType({})

BOUNDS: Final = frozenset({"greater_than_equal", "less_than_equal", "string_too_short", "string_too_long"})
"""The faults of a value that is out of bounds."""

Notice = Callable[[Mapping[str, Any]], str | None]
"""Returns a hint for the answer to a call with some arguments, or ``None``."""

_log = logging.getLogger(__name__)


def no_notice(given: Mapping[str, Any]) -> None:
    """Return no hint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool to register: its function, which names the tool, and its effects.

    Attributes:
        run: Takes the memory, then the tool's parameters as keywords.
        title: For people.
        reads_only: Whether the tool changes no memory.
        destroys: Whether the tool takes memories out of searches.
        repeatable: Whether a second call with the same arguments changes nothing.
        needs: The role that the tool requires over HTTP; by default a reader's if it only reads, else a writer's.
        agent: The parameters that :attr:`.Profile.AGENT` shows; ``None`` if it leaves the tool out.
        is_long: Whether a call may take longer than clients wait for an answer.
    """

    run: ToolFunction
    title: str
    reads_only: bool = False
    destroys: bool = False
    repeatable: bool = False
    needs: Role | None = None
    agent: tuple[str, ...] | None = None
    is_long: bool = False

    @property
    def name(self) -> str:
        """The name of the tool without a prefix."""
        return self.run.__name__

    @property
    def role(self) -> Role:
        """The role that the tool requires over HTTP."""
        return self.needs or (Role.READER if self.reads_only else Role.WRITER)


class MemoryTool(Tool):
    """One tool on the memory of the caller."""

    _offer: ToolSpec = PrivateAttr()
    _arguments: type[BaseModel] = PrivateAttr()
    _caller: Callable[[], Awaitable[object]] = PrivateAttr()
    _defaults: Mapping[str, object] = PrivateAttr()
    _hints: Mapping[str, str] = PrivateAttr()
    _names: ToolNames = PrivateAttr()
    _notice: Notice = PrivateAttr()

    @classmethod
    def make(
        cls,
        spec: ToolSpec,
        caller: Callable[[], Awaitable[object]],
        *,
        names: ToolNames,
        hints: Mapping[str, str],
        defaults: Mapping[str, object] = NO_DEFAULTS,
        profile: Profile = Profile.FULL,
        notice: Notice = no_notice,
    ) -> "MemoryTool":
        """Return the tool of a specification, on the memory that ``caller`` returns for each call.

        The hints are shown for a refused parameter, the notice about the arguments in the answer. The defaults replace
        those of the function. A call may pass all parameters in any profile.
        """
        arguments, schema = _form(spec.run, frozenset(defaults))
        shown = spec.agent if profile is Profile.AGENT else None
        description = documented(spec.run)[0]
        tool = cls(
            name=names.shown(spec.name),
            title=spec.title,
            description=names.within(
                description.partition("\n\n")[0] if profile is Profile.AGENT else description
            ),
            parameters=_shown_schema(schema, shown, names, defaults),
            output_schema=output_schema(spec.run),
            annotations=ToolAnnotations(
                read_only_hint=spec.reads_only,
                destructive_hint=spec.destroys,
                idempotent_hint=spec.repeatable,
                open_world_hint=False,
            ),
        )
        tool._offer, tool._arguments, tool._caller = spec, arguments, caller
        tool._names, tool._defaults, tool._notice = names, defaults, notice
        tool._hints = {parameter: names.within(hint) for parameter, hint in hints.items()}
        return tool

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        """Check the arguments, call the function, and return its result, or an error that says what to do."""
        try:
            memory = await self._caller()
            checked = self._arguments.model_validate(arguments)
            # Models send null for a parameter that they mean to leave out.
            given = {
                name: self._defaults.get(name, field.default)
                if getattr(checked, name) is None
                else getattr(checked, name)
                for name, field in type(checked).model_fields.items()
            }
            if "tenant_id" in given and "tenant_id" not in checked.model_fields_set:
                given["tenant_id"] = getattr(memory, "tenant_id", None)
            async with _progress(self.title or self.name) if self._offer.is_long else nullcontext():
                arguments = await gathered(self._offer.run, given, memory)
                result = json_safe(await self._offer.run(memory, **arguments))
        except Exception as error:  # noqa: BLE001 - an outer door: whatever it was, the model gets an answer
            return self._refused(error)
        if isinstance(result, str):
            return ToolResult(content=result)
        answer = cast("dict[str, Any]", result)
        if hint := answer.get("hint") or self._notice(given):
            answer["hint"] = self._names.within(hint)
        return ToolResult(structured_content=answer)

    def _refused(self, error: Exception) -> ToolResult:
        if isinstance(error, ValidationError):
            error = _first_fault(error, known=self._arguments.model_fields)
        match error:
            case InvalidInputError():
                hint = self._hint(error)
                return refusal(
                    str(error), field=error.field, expected=error.expected, got=error.got, hint=hint
                )
            case NotFoundError():
                named = (
                    name for name in (f"{error.kind}_id", "item_id") if name in self._arguments.model_fields
                )
                field = next(named, "memory_id")
                expected, hint = f"the id of an existing {error.kind}", self._hints.get(field, REPEAT_HINT)
                return refusal(str(error), field=field, expected=expected, got=str(error.key), hint=hint)
            case StorageError() | EmbeddingError() | SettingsError():
                message = f"memory is out of reach: {error}"
            case _:
                message = "memory failed in a way that is not the call's fault"
        _log.error("%s failed", self.name, exc_info=error)
        return refusal(message, hint=OUTAGE_HINT)

    def _hint(self, error: InvalidInputError) -> str:
        """Return the advice for a refused parameter."""
        if isinstance(error, SecretRefusedError):
            return SECRET_HINT
        if isinstance(error, ConflictError):
            return STATE_HINT
        return self._hints.get(error.field.partition(".")[0], REPEAT_HINT)


def refusal(message: str, *, hint: str, **details: str) -> ToolResult:
    """Return an error that a model can act on, as text and as JSON."""
    message = message.removesuffix(".")
    fault = {"message": message, **details, "hint": hint}
    return ToolResult(content=f"{message}. {hint}", structured_content={"error": fault}, is_error=True)


@cache
def _form(run: ToolFunction, optional: frozenset[str]) -> tuple[type[BaseModel], dict[str, Any]]:
    """Return the pydantic model of a function's parameters, and its JSON schema.

    Both are the same for every project: the defaults of optional parameters are left to the caller.
    """
    arguments = arguments_of(run, dict.fromkeys(optional))
    return arguments, dereference_refs(arguments.model_json_schema())


def arguments_of(run: ToolFunction, defaults: Mapping[str, object]) -> type[BaseModel]:
    """Return the pydantic model of a function's parameters, described by its docstring, without the memory."""
    _, descriptions = documented(run)
    _, *parameters = flat_parameters(run)
    fields: dict[str, Any] = {}
    for each in parameters:
        default = defaults.get(each.name, ... if each.default is inspect.Parameter.empty else each.default)
        hint = each.annotation
        described = each.name in descriptions
        fields[each.name] = (
            Annotated[hint, Field(description=descriptions[each.name])] if described else hint,
            default,
        )
    config = ConfigDict(extra="forbid")
    return create_model(run.__name__, __config__=config, **fields)


def _shown_schema(
    schema: Mapping[str, Any],
    shown: tuple[str, ...] | None,
    names: ToolNames,
    defaults: Mapping[str, object],
) -> dict[str, Any]:
    """Return the JSON Schema of arguments, without titles and without the parameters that are not shown."""

    def as_shown(name: str, key: str, value: Any) -> Any:  # noqa: ANN401 - JSON
        if key == "description":
            return names.within(value)
        return defaults.get(name, value) if key == "default" else value

    properties = {
        name: {key: as_shown(name, key, value) for key, value in each.items() if key != "title"}
        for name, each in schema["properties"].items()
        if shown is None or name in shown
    }
    return {key: value for key, value in schema.items() if key != "title"} | {"properties": properties}


@asynccontextmanager
async def _progress(title: str) -> AsyncGenerator[None]:
    """Report the seconds that a call has taken, until the block ends, to a client that asked for progress."""

    async def report() -> None:
        for tick in itertools.count():
            seconds = tick * PROGRESS_S
            await get_context().report_progress(seconds, message=f"{title}: {seconds:.0f} s")
            await asyncio.sleep(PROGRESS_S)

    reporting = asyncio.create_task(report())
    try:
        yield
    finally:
        reporting.cancel()
        await asyncio.gather(reporting, return_exceptions=True)  # A client that is gone needs no report.


def _first_fault(error: ValidationError, *, known: Mapping[str, FieldInfo]) -> InvalidInputError:
    """Return the error about the first invalid argument; if the value is out of bounds, it names both bounds."""
    fault = error.errors()[0]
    invalid = invalid_input(fault, whole="arguments")
    if fault["type"] in BOUNDS and invalid.field in known:
        expected = bounds_of(known[invalid.field].rebuild_annotation()).expected
        return InvalidInputError(invalid.field, expected, fault["input"])
    if fault["type"] != "extra_forbidden":
        return invalid
    return InvalidInputError(invalid.field, f"one of the parameters {', '.join(known)}", fault["input"])
