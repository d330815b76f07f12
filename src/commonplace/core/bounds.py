"""Bounds of values, each declared once as an annotated type.

pydantic, FastAPI and MCP tools read a type such as :data:`Share` as it is. Checks of a memory and options of commands
read it through :func:`bounds_of`. A door adds only its words.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any, Final, cast, get_args

from annotated_types import Ge, Le, MaxLen, MinLen

from commonplace.core.errors import InvalidInputError

Share = Annotated[float, Ge(0.0), Le(1.0)]
"""A confidence, a likeness or another share of a whole."""

MAX_BUDGET_TOKENS: Final = 1_000_000
"""Longer than any prompt that a model accepts."""

BudgetTokens = Annotated[int, Ge(0), Le(MAX_BUDGET_TOKENS)]
"""The maximum size of a block in tokens of four characters."""

MomentText = Annotated[str, MaxLen(40)]
"""A date or a time, in ISO 8601 or in words such as "last Friday"."""

Offset = Annotated[int, Ge(0), Le(2**31 - 1)]
"""The number of items before a page; the largest is more than any list has."""

_NOUNS: Final = {int: "a whole number", float: "a number", str: "text of", list: "a list of"}
_UNITS: Final = {str: "characters", list: "items"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The bounds of an annotated type: of the value of a number, or of the length of a text or list.

    Attributes:
        kind: ``int``, ``float``, ``str`` or ``list``.
        least: The smallest value or length; ``None`` if there is none.
        most: The largest value or length; ``None`` if there is none.
    """

    kind: type
    least: float | None = None
    most: float | None = None

    @property
    def expected(self) -> str:
        """The values within the bounds, as they read after the word "expected"."""
        noun, unit = _NOUNS[self.kind], _UNITS.get(self.kind, "")
        if self.least is None and self.most is None:
            return noun
        if self.least is None:
            return f"{noun}{'' if unit else ' of'} at most {self.most} {unit}".rstrip()
        join = "" if unit else " from"
        to = "" if self.most is None else f" to {self.most}"
        return f"{noun}{join} {self.least}{to} {unit}".rstrip()

    def hold(self, value: object) -> bool:
        """Return whether a value is of the kind and within the bounds."""
        if self.kind in _UNITS:
            return isinstance(value, self.kind) and self._within(len(cast("Any", value)))
        numbers = int if self.kind is int else int | float
        is_number = isinstance(value, numbers) and not isinstance(value, bool)
        return is_number and self._within(cast("float", value))

    def _within(self, number: float) -> bool:
        least = -math.inf if self.least is None else self.least
        return least <= number <= (math.inf if self.most is None else self.most)


def bounds_of(annotated: object) -> Bounds:
    """Return the bounds of an annotated type, such as :data:`Share`; a union with ``None`` has those of the type."""
    if not hasattr(annotated, "__metadata__"):
        inner = [each for each in get_args(annotated) if each is not type(None)]
        if len(inner) == 1:
            return bounds_of(inner[0])
    kind: Any = getattr(annotated, "__origin__", annotated)
    least = most = None
    for mark in getattr(annotated, "__metadata__", ()):
        match mark:
            case Ge(ge=bound) | MinLen(min_length=bound):
                least = cast("float", bound)
            case Le(le=bound) | MaxLen(max_length=bound):
                most = cast("float", bound)
            case _:
                continue
    return Bounds(kind=getattr(kind, "__origin__", kind), least=least, most=most)


def require_within(annotated: object, value: object, *, field: str) -> Any:  # noqa: ANN401 - of the annotated type
    """Return a value of an annotated type.

    Raises:
        InvalidInputError: The value is of another type, or outside the bounds.
    """
    bounds = bounds_of(annotated)
    if not bounds.hold(value):
        raise InvalidInputError(field, bounds.expected, value)
    return bounds.kind(value)
