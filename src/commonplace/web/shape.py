"""What every JSON object of the API has in common."""

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class Shape(BaseModel):
    """What the API shows: names in camel case, made of the values of a memory."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, from_attributes=True)


class Wanted(Shape):
    """What the API takes: names in camel case, and no others than those that are known."""

    model_config = ConfigDict(extra="forbid")
