"""Parameters of a tool or command that a function turns into one value.

A door shows the parameters of the function; the tool or command takes the value::

    def narrowing(*, scope: str | None = None, since: str | None = None) -> Narrowing: ...


    async def search(query: str, *, narrowing: Annotated[Narrowing, BuiltBy(narrowing)]) -> Results: ...
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class BuiltBy:
    """The annotation of a parameter that is built from other parameters.

    Attributes:
        build: Returns the value; its keyword-only parameters are those that a door shows.
    """

    build: Callable[..., Any]


def flat_parameters(function: Callable[..., object]) -> list[inspect.Parameter]:
    """Return the parameters of a function; those of a builder stand in place of the value that it builds."""
    groups = _groups(function)
    return [
        shown
        for each in inspect.signature(function).parameters.values()
        for shown in (_keywords(groups[each.name]) if each.name in groups else [each])
    ]


async def gathered(
    function: Callable[..., object], values: Mapping[str, Any], *context: object
) -> dict[str, Any]:
    """Return the arguments of a function from the values of its :func:`flat_parameters`.

    The value of a group is what its builder returns, which takes ``context`` first and may be a coroutine function.
    """
    groups = _groups(function)
    taken = {each.name for build in groups.values() for each in _keywords(build)}
    arguments = {name: value for name, value in values.items() if name not in taken}
    for name, build in groups.items():
        built = build(*context, **{each.name: values[each.name] for each in _keywords(build)})
        arguments[name] = await built if inspect.isawaitable(built) else built
    return arguments


def _groups(function: Callable[..., object]) -> dict[str, Callable[..., Any]]:
    return {
        each.name: mark.build
        for each in inspect.signature(function).parameters.values()
        for mark in getattr(each.annotation, "__metadata__", ())
        if isinstance(mark, BuiltBy)
    }


def _keywords(build: Callable[..., Any]) -> list[inspect.Parameter]:
    parameters = inspect.signature(build).parameters.values()
    return [each for each in parameters if each.kind is inspect.Parameter.KEYWORD_ONLY]
