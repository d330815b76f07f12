"""Shapes that take their fields from nouns, and routes that document themselves."""

from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from fastapi import FastAPI, Query
from fastapi.testclient import TestClient

from commonplace.web.http.problems import NOT_FOUND
from commonplace.web.http.shape import RequestShape, Shape, shows
from commonplace.web.rest.api import BODY, Api
from commonplace.web.rest.documentation import describe


@dataclass(frozen=True, slots=True, kw_only=True)
class Apple:
    """A fruit."""

    name: str
    worm_count: int
    price_cents: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Pear:
    """Another fruit."""

    name: str
    ripe: bool


@shows(Apple, without={"price_cents"})
class AppleShape(Shape):
    """An apple.

    Attributes:
        worm_count: the number of
            inhabitants
    """


@shows(Apple | Pear, without={"price_cents"})
class FruitShape(Shape):
    """A fruit.

    Attributes:
        ripe: whether it is sweet
    """


class NewApple(RequestShape):
    """An apple to add."""

    name: str


def everybody() -> None:
    """Let everybody in."""


api = Api("/fruits", "fruits")


@api("GET /apples/{name}", everybody, "The apple", NOT_FOUND)
async def get_apple(name: str, worms: Annotated[int, Query(alias="wormCount", ge=0)] = 0) -> Apple:
    """Read one apple.

    It may have worms.

    Parameters:
        name: its name
        wormCount: how many worms to add
    """
    return Apple(name=name, worm_count=worms, price_cents=5)


@api("POST /apples", everybody, "The apple", *BODY, status=201)
async def add_apple(wanted: NewApple) -> Apple:
    """Add an apple.

    Parameters:
        body: the apple
    """
    return Apple(name=wanted.name, worm_count=0)


@pytest.fixture(scope="module")
def service() -> FastAPI:
    """A service with the routes above."""
    app = FastAPI()
    app.include_router(api.router)
    return app


def test_a_route_that_returns_a_noun_answers_with_its_shape(service: FastAPI) -> None:
    """In camel case, without fields that are left out."""
    client = TestClient(service)
    assert client.get("/fruits/apples/cox?wormCount=2").json() == {"name": "cox", "wormCount": 2}
    made = client.post("/fruits/apples", json={"name": "cox"})
    assert (made.status_code, made.json()) == (201, {"name": "cox", "wormCount": 0})


def test_a_route_documents_itself(service: FastAPI) -> None:
    """Its name, its docstring, its problems and its parameters."""
    paths: dict[str, Any] = describe(service)["paths"]
    shown = paths["/fruits/apples/{name}"]["get"]
    assert shown["operationId"] == "getApple"
    assert (shown["summary"], shown["description"]) == ("Read one apple", "It may have worms.")
    assert [each["description"] for each in shown["parameters"]] == ["its name", "how many worms to add"]
    assert {"200", "404", "422"} == shown["responses"].keys()
    body = paths["/fruits/apples"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert body["description"] == "the apple"


def test_a_shape_describes_its_fields() -> None:
    """As its docstring does; its own description is without them."""
    schema = AppleShape.model_json_schema()
    assert schema["description"] == "An apple."
    assert schema["properties"]["wormCount"]["description"] == "the number of inhabitants"


def test_a_shape_of_several_nouns_says_which_have_a_field() -> None:
    """A field of some of them is null for the others."""
    fields = FruitShape.model_json_schema()["properties"]
    assert fields["wormCount"]["description"] == "of an apple"
    assert fields["ripe"]["description"] == "of a pear: whether it is sweet"
    shown = FruitShape.model_validate(Pear(name="abate", ripe=True))
    assert shown.model_dump() == {"name": "abate", "worm_count": None, "ripe": True}
