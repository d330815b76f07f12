"""The JSON objects of the API: base classes, and shapes that take their fields from a noun of a memory."""

import dataclasses
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.alias_generators import to_camel


class Shape(BaseModel):
    """An object in an answer: names in camel case, built from the attributes of a memory's value."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, from_attributes=True)


class Wanted(Shape):
    """An object in a request: names in camel case, and no unknown names."""

    model_config = ConfigDict(extra="forbid")


SHAPES: Final[dict[object, type[Shape]]] = {}
"""The shape of each noun; a route that returns a noun answers with its shape."""

_Shape = TypeVar("_Shape", bound=Shape)


def shows(
    noun: Any,  # noqa: ANN401 - a dataclass or a union of them
    *,
    without: Collection[str] = (),
    **descriptions: str,
) -> Callable[[type[_Shape]], type[_Shape]]:
    """Return a class decorator that gives a shape the fields of a noun.

    A field that the class declares itself replaces the noun's field. In the shape of a union, a field that only some
    of the nouns have is null for the others, and its description begins with the nouns that have it.

    Args:
        noun: A dataclass or a union of dataclasses. Routes that return it answer with the shape.
        without: Fields that the API does not show.
        descriptions: Descriptions of fields in the documentation.
    """
    nouns: tuple[Any, ...] = get_args(noun) or (noun,)
    owners: dict[str, list[Any]] = {}
    for one in nouns:
        for each in dataclasses.fields(one):
            owners.setdefault(each.name, []).append(one)

    def field(name: str) -> tuple[Any, Any]:
        types: dict[str, Any] = {each.name: each.type for each in dataclasses.fields(owners[name][0])}
        description = descriptions.get(name)
        if len(owners[name]) == len(nouns):
            return types[name], Field(description=description)
        of_nouns = _of([one.__name__.lower() for one in owners[name]])
        described = f"{of_nouns}: {description}" if description else of_nouns
        return types[name] | None, Field(default=None, description=described)

    def fill(shape: type[_Shape]) -> type[_Shape]:
        fields: dict[str, Any] = {name: field(name) for name in owners if name not in without}
        fields |= {name: (declared.annotation, declared) for name, declared in shape.model_fields.items()}
        filled = create_model(
            shape.__name__, __base__=shape, __doc__=shape.__doc__, __module__=shape.__module__, **fields
        )
        SHAPES.update(dict.fromkeys((noun, *nouns), filled))
        return filled

    return fill


def _of(nouns: Sequence[str]) -> str:
    if len(nouns) > 1:
        return "of " + " and ".join(f"{noun}s" for noun in nouns)
    return f"of {'an' if nouns[0][0] in 'aeiou' else 'a'} {nouns[0]}"
