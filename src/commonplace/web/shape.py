"""Base classes of the JSON objects of the API."""

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class Shape(BaseModel):
    """An object in an answer: names in camel case, built from the attributes of a memory's value."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, from_attributes=True)


class Wanted(Shape):
    """An object in a request: names in camel case, and no unknown names."""

    model_config = ConfigDict(extra="forbid")
