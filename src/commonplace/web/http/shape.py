"""JSON objects of the API: base classes, and shapes that take their fields from a dataclass of a memory."""

import dataclasses
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.alias_generators import to_camel

from commonplace.core.docstrings import documented


def _document(schema: dict[str, Any], shape: type[BaseModel]) -> None:
    """Describe an object and its fields as the docstrings of its class and of its bases do."""
    schema["description"], _ = documented(shape)
    fields: dict[str, dict[str, Any]] = schema["properties"]
    for base in shape.__mro__:
        if issubclass(base, Shape):
            for name, description in documented(base)[1].items():
                alias = shape.model_fields[name].alias or name
                fields[alias if alias in fields else name].setdefault("description", description)


class Shape(BaseModel):
    """A JSON object in a response: names in camel case, built from the attributes of a memory's value.

    The section ``Attributes:`` of a docstring describes the fields in the documentation of the API.
    """

    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        from_attributes=True,
        json_schema_extra=_document,
    )


class RequestShape(Shape):
    """A JSON object in a request: names in camel case; unknown names are refused."""

    model_config = ConfigDict(extra="forbid")


SHAPES: Final[dict[object, type[Shape]]] = {}
"""The shape of each noun (dataclass of a memory); a route that returns a noun answers with its shape."""

_Shape = TypeVar("_Shape", bound=Shape)


def shows(
    noun: Any,  # noqa: ANN401 - a dataclass or a union of them
    *,
    without: Collection[str] = (),
) -> Callable[[type[_Shape]], type[_Shape]]:
    """Return a class decorator that gives a shape the fields of a noun.

    A field that the class declares itself replaces the noun's field. In the shape of a union, a field that only some
    of the nouns have is null for the others, and its description begins with the nouns that have it.

    Args:
        noun: A dataclass or a union of dataclasses. Routes that return it answer with the shape.
        without: Fields that the API does not show.
    """
    nouns: tuple[Any, ...] = get_args(noun) or (noun,)
    owners: dict[str, list[Any]] = {}
    for one in nouns:
        for each in dataclasses.fields(one):
            owners.setdefault(each.name, []).append(one)

    def fill(shape: type[_Shape]) -> type[_Shape]:
        _, descriptions = documented(shape)

        def field(name: str) -> tuple[Any, Any]:
            types: dict[str, Any] = {each.name: each.type for each in dataclasses.fields(owners[name][0])}
            if len(owners[name]) == len(nouns):
                return types[name], ...
            of_nouns = _of([one.__name__.lower() for one in owners[name]])
            described = ": ".join((of_nouns, *filter(None, [descriptions.get(name)])))
            return types[name] | None, Field(default=None, description=described)

        fields: dict[str, Any] = {name: field(name) for name in owners if name not in without}
        fields |= {name: (declared.annotation, declared) for name, declared in shape.model_fields.items()}
        filled = create_model(
            shape.__name__, __base__=shape, __doc__=shape.__doc__, __module__=shape.__module__, **fields
        )
        for one in nouns:
            SHAPES.setdefault(one, filled)
        SHAPES[noun] = filled
        return filled

    return fill


def _of(nouns: Sequence[str]) -> str:
    if len(nouns) > 1:
        return "of " + " and ".join(f"{noun}s" for noun in nouns)
    return f"of {'an' if nouns[0][0] in 'aeiou' else 'a'} {nouns[0]}"
