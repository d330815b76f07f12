"""Errors as responses: problem details for programs, a page for browsers, a redirect to the login if needed."""

import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, cast
from urllib.parse import urlencode

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse, Response
from fastapi.routing import iter_route_contexts
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection
from starlette.routing import compile_path

from commonplace.core.errors import CommonplaceError, InvalidInputError
from commonplace.core.faults import invalid_input
from commonplace.core.text import visible
from commonplace.web.http.client_urls import split_url
from commonplace.web.http.plain_pages import plain_page
from commonplace.web.http.problems import (
    FAULT,
    LOGIN,
    MEDIA_TYPE,
    NOT_FOUND,
    REFUSED,
    RETRY_AFTER_S,
    TOO_LARGE,
    UNAUTHENTICATED,
    Problem,
    ProblemError,
    encodable,
    problem_of,
)

log = logging.getLogger(__name__)


def problem_response(problem: Problem, *, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """Return a problem as JSON, without empty fields."""
    content = problem.model_dump(exclude_none=True)
    return JSONResponse(content, status_code=problem.status, media_type=MEDIA_TYPE, headers=headers)


def answer(
    connection: HTTPConnection, problem: Problem, *, headers: Mapping[str, str] | None = None
) -> Response:
    """Return a problem as a page if a person waits in a browser, else as JSON."""
    if problem.status == HTTPStatus.SERVICE_UNAVAILABLE:
        headers = {"Retry-After": str(RETRY_AFTER_S), **(headers or {})}
    if not _a_person_waits(connection):
        return problem_response(problem, headers=headers)
    shown = problem.model_copy(update={"detail": visible(problem.detail)})
    page = plain_page("problem.html", http_status=problem.status, problem=shown)
    page.headers.update(headers or {})
    return page


def refusal_response(connection: HTTPConnection, refusal: ProblemError) -> Response:
    """Return a refusal as a response; a browser without a login is redirected to the login.

    HTMX, which requests a part of a page, is told to redirect the whole page.
    """
    problem = refusal.kind.problem(str(refusal))
    if refusal.kind is not UNAUTHENTICATED:
        return answer(connection, problem, headers=refusal.headers)
    where = f"{LOGIN}?{urlencode({'next': _page_to_return_to(connection)})}"
    if "hx-request" in connection.headers:
        return problem_response(problem, headers={**refusal.headers, "HX-Redirect": where})
    has_tried = "authorization" in connection.headers or connection.scope["path"] == LOGIN
    if _a_person_waits(connection) and not has_tried:
        return RedirectResponse(where, HTTPStatus.SEE_OTHER)
    return answer(connection, problem, headers=refusal.headers)


def _a_person_waits(connection: HTTPConnection) -> bool:
    """Return whether a browser shows the response as a page; scripts and programs do not ask for HTML."""
    return (
        "text/html" in connection.headers.get("accept", "")
        and "hx-request" not in connection.headers
        and not connection.scope["path"].startswith(("/api/", "/mcp/"))
    )


def _page_to_return_to(connection: HTTPConnection) -> str:
    """Return the path of the page that the person saw; for a form, the page with the form."""
    opens = connection.scope.get("method") in {"GET", "HEAD"}
    elsewhere = str(connection.url) if opens else connection.headers.get("referer")
    url = split_url(connection.headers.get("hx-current-url") or elsewhere or "/")
    if url is None:
        return "/"
    return f"{url.path}?{url.query}" if url.query else url.path


def first_fault(error: RequestValidationError) -> InvalidInputError:
    """Return the first fault that the framework found in a request."""
    fault = cast("dict[str, Any]", error.errors()[0])
    where, *path = fault["loc"]
    if fault["type"] == "json_invalid":
        cause = fault["ctx"]["error"]
        return InvalidInputError(str(where), f"JSON ({cause} at character {path[0]})", error.body)
    if isinstance(fault.get("input"), bytes):
        return InvalidInputError(
            str(where), "JSON, with the header Content-Type: application/json", fault["input"]
        )
    # Parameters are not nested; further parts of the path name the type that pydantic tried.
    place = path if where == "body" else path[:1]
    return invalid_input({**fault, "loc": place}, whole=str(where))


async def _on_commonplace_error(request: Request, error: Exception) -> Response:
    problem = problem_of(cast("CommonplaceError", error))
    if problem.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        log.error("%s: %s", problem.title, error)
    return answer(request, problem)


async def _on_problem(request: Request, error: Exception) -> Response:
    return refusal_response(request, cast("ProblemError", error))


async def _on_invalid_request(request: Request, error: Exception) -> Response:
    return answer(request, problem_of(first_fault(cast("RequestValidationError", error))))


async def on_http_error(request: Request, error: Exception) -> Response:
    """Return an error of the framework as a problem."""
    refusal = cast("HTTPException", error)
    if refusal.status_code == NOT_FOUND.status:
        return answer(request, NOT_FOUND.problem(f"{encodable(request.url.path)} does not exist"))
    kind = TOO_LARGE if refusal.status_code == TOO_LARGE.status else REFUSED
    problem = kind.problem(str(refusal.detail))
    problem.status = refusal.status_code
    if refusal.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        return answer(request, problem, headers={"Allow": _allowed(request)})
    return answer(request, problem, headers=refusal.headers)


def _allowed(request: Request) -> str:
    """Return the methods of a path; the framework names only the methods of its first route."""
    routes = iter_route_contexts(cast("FastAPI", request.app).routes)
    path = request.scope["path"]
    matching = [route for route in routes if compile_path(route.path or "")[0].match(path)]
    return ", ".join(sorted({method for route in matching for method in route.methods or ()}))


async def _on_fault(request: Request, _error: Exception) -> Response:
    # The server logs the traceback.
    return answer(request, FAULT.problem("an unexpected error; the log of the service has the details"))


def tell_problems(app: FastAPI) -> None:
    """Make an application return every error as a problem."""
    app.add_exception_handler(CommonplaceError, _on_commonplace_error)
    app.add_exception_handler(ProblemError, _on_problem)
    app.add_exception_handler(RequestValidationError, _on_invalid_request)
    app.add_exception_handler(HTTPException, on_http_error)
    app.add_exception_handler(Exception, _on_fault)
