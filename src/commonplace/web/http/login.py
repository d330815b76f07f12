"""Browser login: a page that exchanges a token for a cookie, and the logout."""

from http import HTTPStatus
from importlib.resources import files
from typing import Annotated, Final, cast

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from commonplace.access import LIFETIME, Logins
from commonplace.web.http.access import known_caller
from commonplace.web.http.authentication import COOKIE, login_in
from commonplace.web.http.client_urls import split_url
from commonplace.web.http.plain_pages import plain_page
from commonplace.web.http.problems import LOGIN, ProblemError
from commonplace.web.http.rate_limits import Credential, Limiter, address_of

MAX_PATH_CHARS: Final = 8_000
"""The longest path to redirect to: longer than our links, and short enough for proxy headers."""
WRONG: Final = "This token is unknown, expired or revoked."

router = APIRouter(include_in_schema=False)


@router.get(LOGIN)
async def login_page(request: Request, *, following: Annotated[str, Query(alias="next")] = "/") -> Response:
    """Show the login form, or redirect a caller who is logged in."""
    if known_caller(request) is not None:
        return RedirectResponse(own_page(following), HTTPStatus.SEE_OTHER)
    return _page(following)


@router.post(LOGIN)
async def log_in(
    request: Request,
    *,
    token: Annotated[str, Form()] = "",
    following: Annotated[str, Form(alias="next")] = "/",
) -> Response:
    """Exchange a token for a login cookie; an earlier login of the browser ends."""
    logins = cast("Logins", request.app.state.logins)
    login = await logins.begin(token.strip())
    if login is None:
        return await _refused(request, following)
    before = login_in(request)
    if before is not None:
        await logins.end(before)
    answer = RedirectResponse(own_page(following), HTTPStatus.SEE_OTHER)
    answer.set_cookie(
        COOKIE,
        login.secret,
        max_age=int(LIFETIME.total_seconds()),
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return answer


@router.post("/logout")
async def log_out(request: Request) -> Response:
    """End the login of this browser."""
    secret = login_in(request)
    if secret is not None:
        await cast("Logins", request.app.state.logins).end(secret)
    answer = RedirectResponse(LOGIN, HTTPStatus.SEE_OTHER)
    answer.delete_cookie(COOKIE, httponly=True, samesite="strict", secure=request.url.scheme == "https")
    return answer


@router.get("/docs.css")
async def style() -> Response:
    """Return the style sheet of the login and the documentation."""
    text = files("commonplace.web.http").joinpath("templates/plain.css").read_text(encoding="utf-8")
    return Response(text, media_type="text/css", headers={"Cache-Control": "max-age=3600"})


def own_page(following: str) -> str:
    r"""Return a path of this service to redirect to; anything else becomes the front page.

    Browsers read ``//host`` and ``/\host`` as addresses of another site.
    """
    split = split_url(following)
    if split is None or len(following) > MAX_PATH_CHARS or not following.isprintable():
        return "/"
    outside = split.scheme or split.netloc or not following.startswith("/") or following[1:2] in {"/", "\\"}
    return "/" if outside or "\\" in following else following


async def _refused(request: Request, following: str) -> HTMLResponse:
    try:
        await cast("Limiter", request.app.state.limiter).count_failure(
            Credential.LOGIN, address_of(request.scope)
        )
    except ProblemError as refusal:
        wait = refusal.headers["Retry-After"]
        answer = _page(
            following, f"{WRONG} Too many failed attempts: try again in {wait} s.", refusal.kind.status
        )
        answer.headers["Retry-After"] = wait
        return answer
    return _page(following, WRONG, HTTPStatus.UNAUTHORIZED)


def _page(following: str, error: str = "", http_status: int = HTTPStatus.OK) -> HTMLResponse:
    return plain_page("login.html", http_status=http_status, following=own_page(following), error=error)
