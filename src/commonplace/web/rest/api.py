"""Routes of the REST API, which document themselves."""

import inspect
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, TypeVar

from fastapi import APIRouter, Depends, Request
from fastapi.dependencies.utils import get_flat_params
from fastapi.params import Query

from commonplace.core.docstrings import documented
from commonplace.core.errors import InvalidInputError
from commonplace.web.http.problems import (
    INVALID_INPUT,
    REFUSED,
    SECRET_REFUSED,
    TOO_LARGE,
    ProblemKind,
    camel_case,
    may_answer,
)
from commonplace.web.http.shape import SHAPES

if TYPE_CHECKING:
    from fastapi.routing import APIRoute

BODY: Final = (REFUSED, INVALID_INPUT, SECRET_REFUSED, TOO_LARGE)
"""The problems of a route that stores text of its body."""

PARAMETERS: Final[dict[str, dict[str, str]]] = {}
"""The descriptions of parameters by operation; the body of a request has the name ``body``."""


_query_parameters: dict[str, tuple[str, ...]] = {}
"""The names of the query parameters of each operation that was called, in their order."""


async def refuse_unknown_parameters(request: Request) -> None:
    """Dependency of every route: refuse a query parameter that the route does not have, such as a misspelt filter.

    Raises:
        InvalidInputError: The route has no parameter of this name.
    """
    if not request.query_params:
        return
    route: APIRoute = request.scope["route"]
    known = _query_parameters.get(route.unique_id)
    if known is None:
        fields = get_flat_params(route.dependant)
        known = tuple(field.alias for field in fields if isinstance(field.field_info, Query))
        _query_parameters[route.unique_id] = known
    for name, value in request.query_params.items():
        if name not in known:
            expected = f"one of the query parameters {', '.join(known)}" if known else "no query parameter"
            if camel_case(name) in known:
                expected = "this spelling of the query parameter"
            raise InvalidInputError(name, expected, f"{name}={value}")


_Route = TypeVar("_Route", bound=Callable[..., object])


class Api:
    """A part of the REST API; calling it returns a decorator that adds a route to :attr:`router`.

    The documentation of a route is its function: the name is the operation's id, the first line of the docstring is
    the summary, its section ``Parameters:`` describes the parameters and the body of a request, and the rest of the
    docstring is the description. A route that returns a noun of a memory answers with the shape of the noun
    (:func:`commonplace.web.http.shape.shows`).

    Args:
        prefix: The beginning of all paths.
        tag: The heading in the documentation.
        problems: Problems that all routes may answer.
    """

    def __init__(self, prefix: str, tag: str, *problems: ProblemKind) -> None:
        self.router = APIRouter(
            prefix=prefix,
            tags=[tag],
            responses=may_answer(INVALID_INPUT, *problems),
            dependencies=[Depends(refuse_unknown_parameters)],
        )

    def __call__(
        self,
        request: str,
        role: Callable[..., object],
        result: str,
        *problems: ProblemKind,
        status: int = HTTPStatus.OK,
        also: Mapping[int, str] | None = None,
    ) -> Callable[[_Route], _Route]:
        """Return the decorator for a route.

        Args:
            request: The method and the path, such as ``GET /memories``.
            role: The dependency of :mod:`commonplace.web.http.access` that names the required role.
            result: The content of the answer, for the documentation.
            problems: Problems that the route may answer.
            status: The status of the answer.
            also: Further statuses with the same content, and when they are answered.
        """
        method, _, path = request.partition(" ")

        def add(route: _Route) -> _Route:
            text, parameters = documented(route)
            summary, _, description = text.partition("\n")
            operation = camel_case(route.__name__)
            PARAMETERS[operation] = parameters
            returned: Any = inspect.signature(route).return_annotation
            shape = SHAPES.get(returned, returned)
            others = {code: {"model": shape, "description": when} for code, when in (also or {}).items()}
            self.router.add_api_route(
                path,
                route,
                methods=[method],
                status_code=status,
                response_model=shape,
                dependencies=[Depends(role)],
                operation_id=operation,
                summary=summary.removesuffix("."),
                description=description.strip(),
                response_description=result,
                responses=may_answer(*problems) | others,
            )
            return route

        return add
