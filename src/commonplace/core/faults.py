"""Faults that pydantic finds, as errors that name the field, the expected value and the value found."""

from collections.abc import Mapping
from typing import Any, Final

from commonplace.core.errors import InvalidInputError
from commonplace.core.text import plural

_NO_FIELD: Final = "no value, because this field does not exist"
_TIME: Final = "such as 2026-11-22T14:05:00Z"

_FORMS: Final[Mapping[str, str]] = {
    "missing": "a value",
    "finite_number": "a finite number",
    "greater_than": "a number greater than {gt}",
    "greater_than_equal": "a number of at least {ge}",
    "less_than": "a number less than {lt}",
    "less_than_equal": "a number of at most {le}",
    "int_from_float": "a whole number",
    "literal_error": "{expected}",
    "enum": "{expected}",
    "string_pattern_mismatch": "text of the form {pattern}",
    "extra_forbidden": _NO_FIELD,
    "unexpected_keyword_argument": _NO_FIELD,
    "timezone_aware": f"a time with its time zone, {_TIME}",
}
_FORMS_OF_TYPES: Final[Mapping[str, str]] = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "string": "text",
    "uuid": "a UUID",
    "datetime": f"a time {_TIME}",
    "date": "a date such as 2026-11-22",
    "list": "a list",
    "tuple": "a list",
    "dict": "an object",
    "mapping": "an object",
    "model": "an object",
    "dataclass": "an object",
    "json": "JSON",
    "path": "a path",
}
"""The forms of all other faults, by the first word of the name of the fault."""
_LENGTHS: Final[Mapping[str, tuple[str, str, str]]] = {
    "string_too_short": ("text of at least", "min_length", "character"),
    "string_too_long": ("text of at most", "max_length", "character"),
    "too_short": ("at least", "min_length", "item"),
    "too_long": ("at most", "max_length", "item"),
}


def expected_by(fault: Mapping[str, Any]) -> str:
    """Return the expected value of a fault, as it reads after the word "expected".

    ``fault`` is one of ``ValidationError.errors()``.
    """
    kind, context = str(fault["type"]), fault.get("ctx", {})
    cause = context.get("error")
    if isinstance(cause, InvalidInputError):
        return cause.expected
    if isinstance(cause, Exception):
        return str(cause).removeprefix("expected ").partition(", got ")[0]
    if kind in _LENGTHS:
        bound, limit, unit = _LENGTHS[kind]
        return f"{bound} {plural(context[limit], unit)}"
    if kind in _FORMS:
        return _FORMS[kind].format_map(context).replace("'", '"')
    message = str(fault["msg"]).removeprefix("Input should be ")
    return _FORMS_OF_TYPES.get(kind.partition("_")[0], message[:1].lower() + message[1:])


def invalid_input(fault: Mapping[str, Any], *, whole: str) -> InvalidInputError:
    """Return the error for a fault.

    ``fault`` is one of ``ValidationError.errors()``. ``whole`` names the whole value, for a fault that belongs to no
    field.
    """
    got = None if fault["type"] == "missing" else fault.get("input")
    return InvalidInputError(field_of(fault) or whole, expected_by(fault), got)


def field_of(fault: Mapping[str, Any]) -> str:
    """Return the field of a fault, with dots between the names of nested fields; empty for the whole value."""
    return ".".join(map(str, fault["loc"]))
