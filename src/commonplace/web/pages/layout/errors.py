"""Errors on the dashboard, shown as text where they happen.

A failed page becomes an error page. A failed part that HTMX requested becomes one line, which ``app.js`` shows next to
the control. Routes handle form errors themselves: they show the form again with the error at its field.
"""

import logging
from collections.abc import Awaitable, Callable, Coroutine
from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, Depends, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from commonplace.access import Principal
from commonplace.core.errors import CommonplaceError, ConflictError, InvalidInputError
from commonplace.web.http.problems import (
    FAULT,
    STATE_CONFLICT,
    UNAUTHENTICATED,
    Problem,
    ProblemError,
    problem_of,
)
from commonplace.web.http.refusals import first_fault
from commonplace.web.pages.layout.rendering import render, wants_fragment
from commonplace.web.pages.layout.waiting_counts import total_waiting

log = logging.getLogger(__name__)

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class PageRoute(APIRoute):
    """A route whose errors are pages; :func:`pages` makes routers of such routes."""

    def get_route_handler(self) -> Handler:
        """Return the handler, with errors turned into pages."""
        handler = super().get_route_handler()

        async def answer(request: Request) -> Response:
            try:
                return await handler(request)
            except ProblemError as error:
                if error.kind is UNAUTHENTICATED:
                    raise  # The service redirects to the login.
                return error_page(request, error.kind.problem(str(error)))
            except CommonplaceError as error:
                problem = problem_of(error, of_page=True)
                if problem.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                    log.error("%s: %s", request.url.path, error)  # noqa: TRY400 - a line is enough
                return error_page(request, problem)
            except RequestValidationError as error:
                return error_page(request, problem_of(first_fault(error), of_page=True))
            except HTTPException:
                raise
            except Exception:
                log.exception("%s %s failed", request.method, request.url.path)
                return error_page(request, FAULT.problem("the log of the service has the details"))

        return answer


async def count_waiting(request: Request) -> None:
    """Dependency of pages: set the number of items that wait for a review, for the sidebar of a whole page."""
    if not wants_fragment(request):
        request.state.waiting_reviews = await total_waiting(request)


def pages(path: str, role: Callable[[Request], Awaitable[Principal]]) -> APIRouter:
    """Return a router for pages below a path.

    Args:
        path: The beginning of all paths.
        role: The dependency of :mod:`commonplace.web.http.access` that names the role that all pages require.
    """
    dependencies = [Depends(role), Depends(count_waiting)]
    return APIRouter(prefix=path, route_class=PageRoute, include_in_schema=False, dependencies=dependencies)


def error_page(request: Request, problem: Problem) -> HTMLResponse:
    """Return an error page, or one line of text for HTMX."""
    if wants_fragment(request):
        # A conflict is told in whole sentences.
        is_conflict = problem.title == STATE_CONFLICT.title
        text = problem.detail if is_conflict else f"{problem.title}: {problem.detail}"
        return HTMLResponse(text, status_code=problem.status, media_type="text/plain")
    return render(request, "error.html", http_status=problem.status, problem=problem)


def message_of(error: InvalidInputError) -> str:
    """Return the message for the field of an error, without the name of the field."""
    if isinstance(error, ConflictError):
        return str(error)  # Sentences, without the name of the field.
    return str(error).removeprefix(f"{error.field}: ").capitalize()
