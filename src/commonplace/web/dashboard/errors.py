"""Errors on the dashboard: shown where they happen, in words, never as JSON.

A page that cannot be shown becomes a page that says why. A part that HTMX asked for becomes one line, which
``app.js`` puts next to what asked for it. What is wrong with a form is the route's own business: it shows the form
again, with the error at the field.
"""

import logging
from collections.abc import Callable, Coroutine
from http import HTTPStatus
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from commonplace.core.errors import CommonplaceError, InvalidInputError
from commonplace.web.dashboard.rendering import render, wants_fragment
from commonplace.web.problems import FAULT, UNAUTHENTICATED, Problem, ProblemError, problem_of

log = logging.getLogger(__name__)

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class PageRoute(APIRoute):
    """A route whose errors are pages: ``APIRouter(route_class=PageRoute)``."""

    def get_route_handler(self) -> Handler:
        """Return the handler, with errors turned into pages."""
        handler = super().get_route_handler()

        async def answer(request: Request) -> Response:
            try:
                return await handler(request)
            except ProblemError as error:
                if error.kind is UNAUTHENTICATED:
                    raise  # the service leads to the login
                return error_page(request, error.kind.problem(str(error)))
            except CommonplaceError as error:
                problem = problem_of(error)
                if problem.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                    log.error("%s: %s", request.url.path, error)  # noqa: TRY400 - a line is enough
                return error_page(request, problem)
            except RequestValidationError as error:
                fault = error.errors()[0]
                _, field, *_ = *fault["loc"], "request"
                return error_page(
                    request, problem_of(InvalidInputError(field, fault["msg"], fault.get("input")))
                )
            except HTTPException:
                raise
            except Exception:
                log.exception("%s %s failed", request.method, request.url.path)
                return error_page(request, FAULT.problem("the log of the service has the details"))

        return answer


def error_page(request: Request, problem: Problem) -> HTMLResponse:
    """Answer with a page that says what went wrong, or with one line of text where HTMX asks."""
    if wants_fragment(request):
        return HTMLResponse(
            f"{problem.title}: {problem.detail}", status_code=problem.status, media_type="text/plain"
        )
    return render(request, "error.html", http_status=problem.status, problem=problem)


def message_of(error: InvalidInputError) -> str:
    """Return what to write at the field that an error is about, whose label names it already."""
    return str(error).removeprefix(f"{error.field}: ").capitalize()
