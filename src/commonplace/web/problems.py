"""Errors as every route tells them: one shape, problem details, and a page for browsers. Source: RFC 9457.

What a client did wrong names the field, what was expected and what came. What the service could not do says whether
asking again may help: 503 may, 500 will not.
"""

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final, cast
from urllib.parse import urlencode

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse, Response
from fastapi.routing import iter_route_contexts
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection
from starlette.routing import compile_path

from commonplace.core.errors import (
    CommonplaceError,
    EmbeddingError,
    InvalidInputError,
    ModelError,
    NotFoundError,
    SecretRefusedError,
    StorageUnavailableError,
)
from commonplace.core.text import visible
from commonplace.web.client_urls import split_url
from commonplace.web.plain_pages import plain_page

MEDIA_TYPE: Final = "application/problem+json"
LOGIN: Final = "/login"
"""Where people give their token."""

log = logging.getLogger(__name__)


class Problem(BaseModel):
    """What went wrong with a request."""

    type: str = Field(description="which kind of problem, as a place on /docs that explains it")
    title: str = Field(description="the kind of problem in words; always the same for one type")
    status: int = Field(description="the HTTP status, once more")
    detail: str = Field(description="what went wrong this time, in one sentence")
    field: str | None = Field(default=None, description="the parameter or field that was not acceptable")
    expected: str | None = Field(default=None, description="what it would have accepted")
    got: str | None = Field(default=None, description="what came, shortened")


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of problem; ``meaning`` is what the documentation says of it."""

    name: str
    title: str
    status: HTTPStatus
    meaning: str

    @property
    def type(self) -> str:
        """Its URI: a place on the documentation's page."""
        return f"/docs#{self.name}"

    def problem(self, detail: str) -> Problem:
        """Return a problem of this kind."""
        return Problem(type=self.type, title=self.title, status=self.status, detail=detail)


NOT_FOUND: Final = Kind(
    name="not-found",
    title="There is no such thing",
    status=HTTPStatus.NOT_FOUND,
    meaning="The path, or an id in it, names nothing.",
)
INVALID_INPUT: Final = Kind(
    name="invalid-input",
    title="The request is not acceptable",
    status=HTTPStatus.UNPROCESSABLE_ENTITY,
    meaning="A parameter or the body is not of its form; `field`, `expected` and `got` say which one and how. "
    "Nothing was written.",
)
SECRET_REFUSED: Final = Kind(
    name="secret-refused",
    title="The text looks like it holds a secret",
    status=HTTPStatus.UNPROCESSABLE_ENTITY,
    meaning="Secrets are not stored. Nothing was written.",
)
TOO_LARGE: Final = Kind(
    name="too-large",
    title="The body is too large",
    status=HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    meaning="Nothing was written. Send less at once.",
)
FOREIGN_HOST: Final = Kind(
    name="foreign-host",
    title="The request is for another host",
    status=HTTPStatus.MISDIRECTED_REQUEST,
    meaning="The Host header is neither localhost nor a loopback address. A web page elsewhere may be trying to reach "
    "this service under a name of its own.",
)
UNAUTHENTICATED: Final = Kind(
    name="unauthenticated",
    title="It is not known who asks",
    status=HTTPStatus.UNAUTHORIZED,
    meaning="The request carries no token, or one that is unknown, expired or revoked. Send "
    "`Authorization: Bearer cpl_…`; `commonplace token create` makes one.",
)
FORBIDDEN: Final = Kind(
    name="forbidden",
    title="The token does not allow this",
    status=HTTPStatus.FORBIDDEN,
    meaning="The role of the token does not reach as far, or the memory belongs to another tenant.",
)
FORGED: Final = Kind(
    name="forged",
    title="The request may come from another site",
    status=HTTPStatus.FORBIDDEN,
    meaning="A browser sent it, and it does not come from a page of this service, or not from a current one. Nothing "
    "was written.",
)
TOO_MANY: Final = Kind(
    name="too-many",
    title="Too many requests",
    status=HTTPStatus.TOO_MANY_REQUESTS,
    meaning="`Retry-After` says in how many seconds there is room again.",
)
STORAGE_UNAVAILABLE: Final = Kind(
    name="storage-unavailable",
    title="Storage cannot be reached",
    status=HTTPStatus.SERVICE_UNAVAILABLE,
    meaning="The database does not answer, or cannot be written. Nothing was written; asking again later may help.",
)
UNHEALTHY: Final = Kind(
    name="unhealthy",
    title="A part of the service is down",
    status=HTTPStatus.SERVICE_UNAVAILABLE,
    meaning="The health check found something that is needed and does not work; `detail` names it.",
)
MODEL_UNAVAILABLE: Final = Kind(
    name="model-unavailable",
    title="A model cannot answer",
    status=HTTPStatus.SERVICE_UNAVAILABLE,
    meaning="The embedding model or the language model that this needs cannot be used; `commonplace doctor` says why.",
)
FAULT: Final = Kind(
    name="fault",
    title="The service failed",
    status=HTTPStatus.INTERNAL_SERVER_ERROR,
    meaning="A fault of the service, or of its database; its log has the details. Asking again will not help.",
)
REFUSED: Final = Kind(
    name="refused",
    title="The request was refused",
    status=HTTPStatus.BAD_REQUEST,
    meaning="HTTP itself says what is wrong, by the status: 400 the request cannot be read, 405 the path knows other "
    "methods.",
)
KINDS: Final = (
    NOT_FOUND,
    INVALID_INPUT,
    SECRET_REFUSED,
    TOO_LARGE,
    FOREIGN_HOST,
    UNAUTHENTICATED,
    FORBIDDEN,
    FORGED,
    TOO_MANY,
    STORAGE_UNAVAILABLE,
    UNHEALTHY,
    MODEL_UNAVAILABLE,
    FAULT,
    REFUSED,
)
"""Every kind that a client may meet."""


class ProblemError(Exception):
    """A request that is refused with a problem; for what no memory has to say.

    Args:
        kind: Which one.
        detail: What went wrong this time.
        headers: Of the answer.
    """

    def __init__(self, kind: Kind, detail: str, *, headers: Mapping[str, str] | None = None) -> None:
        self.kind = kind
        self.headers = headers
        super().__init__(detail)


def problem_response(problem: Problem, *, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """Return a problem as a response; fields that it does not have are left out."""
    content = problem.model_dump(exclude_none=True)
    return JSONResponse(content, status_code=problem.status, media_type=MEDIA_TYPE, headers=headers)


def problem_of(error: CommonplaceError) -> Problem:
    """Return what a client is told about an error of a memory."""
    match error:
        case SecretRefusedError():
            kind = SECRET_REFUSED
        case InvalidInputError():
            kind = INVALID_INPUT
        case NotFoundError():
            kind = NOT_FOUND
        case StorageUnavailableError():
            kind = STORAGE_UNAVAILABLE
        case EmbeddingError() | ModelError():
            kind = MODEL_UNAVAILABLE
        case _:
            kind = FAULT
    problem = kind.problem(_encodable(str(error)))
    if isinstance(error, InvalidInputError):
        problem.field = camel_case(error.field)
        problem.expected, problem.got = error.expected, _encodable(error.got)
    return problem


def camel_case(name: str) -> str:
    """Return the name of a field as the API spells it."""
    return re.sub(r"_([a-z])", lambda found: found[1].upper(), name)


def _encodable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


def _invalid(error: RequestValidationError) -> Problem:
    """Return the first fault that the framework found in a request."""
    fault = cast("dict[str, Any]", error.errors()[0])
    where, *path = fault["loc"]
    if fault["type"] == "json_invalid":
        form = f"JSON ({fault['ctx']['error']} at character {path[0]})"
        return problem_of(InvalidInputError(str(where), form, error.body))
    field = ".".join(str(part) for part in path) or str(where)
    if fault["type"] == "missing":
        return problem_of(InvalidInputError(field, "a value", None))
    if isinstance(fault["input"], bytes):
        form = "JSON, with the header Content-Type: application/json"
        return problem_of(InvalidInputError(field, form, fault["input"]))
    cause = fault.get("ctx", {}).get("error")
    form = cause.expected if isinstance(cause, InvalidInputError) else _form(str(fault["msg"]))
    return problem_of(InvalidInputError(field, form, fault.get("input")))


def _form(message: str) -> str:
    """Return what pydantic says that a value should be, as it reads behind the word "expected"."""
    said = (
        message.removeprefix("Input should be ")
        .removeprefix("Value error, ")
        .replace(" should have ", " with ")
    )
    return said[:1].lower() + said[1:]


async def _on_commonplace_error(request: Request, error: Exception) -> Response:
    problem = problem_of(cast("CommonplaceError", error))
    if problem.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        log.error("%s: %s", problem.title, error)
    return answer(request, problem)


async def _on_problem(request: Request, error: Exception) -> Response:
    refusal = cast("ProblemError", error)
    return refusal_response(request, refusal.kind, str(refusal), headers=refusal.headers)


def answer(
    connection: HTTPConnection, problem: Problem, *, headers: Mapping[str, str] | None = None
) -> Response:
    """Return a problem as a response: a page where a person with a browser waits for it, else problem details."""
    if not _a_person_waits(connection):
        return problem_response(problem, headers=headers)
    shown = problem.model_copy(update={"detail": visible(problem.detail)})
    page = plain_page("problem.html", http_status=problem.status, problem=shown)
    page.headers.update(headers or {})
    return page


def refusal_response(
    connection: HTTPConnection, kind: Kind, detail: str, *, headers: Mapping[str, str] | None = None
) -> Response:
    """Return a refusal as a response; who opens a page, or sends a form, without a login is led to the login instead.

    A part of a page that is asked for by a script (HTMX) leads the whole page there.
    """
    if kind is not UNAUTHENTICATED:
        return answer(connection, kind.problem(detail), headers=headers)
    where = f"{LOGIN}?{urlencode({'next': _page_to_return_to(connection)})}"
    if "hx-request" in connection.headers:
        return problem_response(kind.problem(detail), headers={**(headers or {}), "HX-Redirect": where})
    has_tried = "authorization" in connection.headers or connection.scope["path"] == LOGIN
    if _a_person_waits(connection) and not has_tried:
        return RedirectResponse(where, HTTPStatus.SEE_OTHER)
    return answer(connection, kind.problem(detail), headers=headers)


def _a_person_waits(connection: HTTPConnection) -> bool:
    """Tell whether the answer takes the place of a page in a browser; scripts and programs do not ask for HTML."""
    return (
        "text/html" in connection.headers.get("accept", "")
        and "hx-request" not in connection.headers
        and not connection.scope["path"].startswith(("/api/", "/mcp/"))
    )


def _page_to_return_to(connection: HTTPConnection) -> str:
    """Return the path of the page that somebody looked at: for a form the one that it stood on."""
    opens = connection.scope.get("method") in {"GET", "HEAD"}
    elsewhere = str(connection.url) if opens else connection.headers.get("referer")
    url = split_url(connection.headers.get("hx-current-url") or elsewhere or "/")
    if url is None:
        return "/"
    return f"{url.path}?{url.query}" if url.query else url.path


async def _on_invalid_request(request: Request, error: Exception) -> Response:
    return answer(request, _invalid(cast("RequestValidationError", error)))


async def _on_http_error(request: Request, error: Exception) -> Response:
    refusal = cast("HTTPException", error)
    if refusal.status_code == NOT_FOUND.status:
        return answer(request, NOT_FOUND.problem(f"nothing is at {_encodable(request.url.path)}"))
    kind = TOO_LARGE if refusal.status_code == TOO_LARGE.status else REFUSED
    problem = kind.problem(str(refusal.detail))
    problem.status = refusal.status_code
    if refusal.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        return answer(request, problem, headers={"Allow": _allowed(request)})
    return answer(request, problem, headers=refusal.headers)


def _allowed(request: Request) -> str:
    """Return the methods that a path knows; the framework tells those of its first route only."""
    routes = iter_route_contexts(cast("FastAPI", request.app).routes)
    path = request.scope["path"]
    matching = [route for route in routes if compile_path(route.path or "")[0].match(path)]
    return ", ".join(sorted({method for route in matching for method in route.methods or ()}))


async def _on_fault(request: Request, _error: Exception) -> Response:
    # The server logs the traceback.
    return answer(request, FAULT.problem("an unexpected fault; the log of the service has the details"))


def tell_problems(app: FastAPI) -> None:
    """Make an application answer every error as a problem."""
    app.add_exception_handler(CommonplaceError, _on_commonplace_error)
    app.add_exception_handler(ProblemError, _on_problem)
    app.add_exception_handler(RequestValidationError, _on_invalid_request)
    app.add_exception_handler(HTTPException, _on_http_error)
    app.add_exception_handler(Exception, _on_fault)


def may_answer(*kinds: Kind) -> dict[int | str, dict[str, Any]]:
    """Return for the documentation of a route what else than success it may answer."""
    by_status: dict[int, list[str]] = {}
    for kind in kinds:
        by_status.setdefault(kind.status.value, []).append(kind.title)
    return {
        status: {"model": Problem, "description": ", or: ".join(titles)}
        for status, titles in by_status.items()
    }
