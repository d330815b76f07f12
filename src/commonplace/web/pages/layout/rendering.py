"""Rendering of templates, and the three kinds of responses of a route.

:func:`render` returns a page, or its fragment for HTMX. :func:`render_dialog` returns a dialog, or a page that holds
it. :func:`done` answers an accepted form.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from http import HTTPStatus
from typing import Any, Final, cast
from urllib.parse import urlencode

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from jinja2 import Environment, PackageLoader, StrictUndefined

from commonplace.access import Role
from commonplace.core.errors import InvalidInputError
from commonplace.core.text import plural, visible
from commonplace.services.memory_ids import parse_memory_id
from commonplace.services.sync.actors import actor_in_words
from commonplace.web.http.access import AuthenticationMethod, caller_of, csrf_token
from commonplace.web.http.client_urls import split_url
from commonplace.web.pages.layout import assets, wording
from commonplace.web.pages.layout.memory_links import memory_link, verbs_for
from commonplace.web.pages.layout.navigation import sidebar
from commonplace.web.pages.layout.notices import COOKIE, MemoryNotice, Undo
from commonplace.web.pages.layout.waiting_counts import is_waiting_old

_GLOBALS: Final[dict[str, object]] = {
    "asset": assets.asset,
    "has_asset": assets.has_asset,
    "is_complete": assets.is_complete,
    "memory_link": memory_link,
    "verbs_for": verbs_for,
}
_FILTERS: Final[dict[str, Callable[..., str]]] = {"actor": actor_in_words} | {
    each.__name__: each
    for each in (
        *(wording.ago, wording.until, wording.day, wording.stamp, wording.iso),
        *(wording.event, wording.relation, wording.sentence, wording.commands),
        *(wording.number, wording.decimal, wording.percent, wording.money, wording.duration),
        *(plural, visible),
    )
}


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("commonplace.web.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # Jinja's types leave the values of these dictionaries open.
    cast("Any", environment).globals.update(_GLOBALS)
    cast("Any", environment).filters.update(_FILTERS)
    return environment


ENVIRONMENT: Final = _environment()


def compile_templates() -> Iterator[str]:
    """Compile the templates, those of every page first, and yield the name of each."""
    names = ENVIRONMENT.list_templates(extensions=["html"])
    for name in sorted(
        names, key=lambda name: (name.count("/") > 0 and not name.startswith("layouts/"), name)
    ):
        ENVIRONMENT.get_template(name)
        yield name


INVALID: Final = HTTPStatus.UNPROCESSABLE_ENTITY
"""The status of a form that is shown again with errors."""

NOT_KEPT: Final = {"Cache-Control": "no-store", "Vary": "HX-Request"}
"""Caches must not store memories, and a cached fragment must not replace a page."""


ACTED_IN: Final = (
    *("/search", "/briefing", "/sessions", "/reviews", "/week"),
    *("/knowledge", "/knowledge/runs", "/knowledge/facts", "/knowledge/rules"),
)
"""Pages whose forms change memories in place, even if another page shows the result."""


def wants_fragment(request: Request) -> bool:
    """Return whether HTMX requests a part of a page; a history restore needs the whole page."""
    headers = request.headers
    return "hx-request" in headers and "hx-history-restore-request" not in headers


def render(
    request: Request,
    template: str,
    *,
    http_status: int | None = None,
    headers: Mapping[str, str] | None = None,
    **values: object,
) -> HTMLResponse:
    """Return a page, or only its block ``fragment`` for HTMX.

    Args:
        request: Its path marks the entry of the sidebar.
        template: A template that extends ``layout``.
        http_status: The HTTP status. By default 422 if the values ``error`` or ``errors`` are not empty, because a form
            is shown again, else 200. HTMX shows the content of 422, and treats other statuses from 400 on as errors.
        headers: Further headers.
        values: The values for the template.
    """
    layout = "layouts/fragment.html" if wants_fragment(request) else "layouts/page.html"
    return _answer(request, template, layout, http_status=http_status, headers=headers, values=values)


def render_dialog(request: Request, template: str, **values: object) -> HTMLResponse:
    """Return the content of a dialog, or a page with the dialog without HTMX; see :func:`render` for the status."""
    layout = "layouts/dialog.html" if wants_fragment(request) else "layouts/dialog_page.html"
    return _answer(request, template, layout, values=values)


def done(
    request: Request,
    notice: str,
    *,
    changed: str,
    location: str | None = None,
    undo: Undo | None = None,
    carried: MemoryNotice | None = None,
    stays: bool = True,
) -> Response:
    """Answer an accepted form.

    Args:
        request: The request of the form.
        notice: The result in one sentence; shown for some seconds, or with an undo until the next change.
        changed: The event on which parts of the page with the result refresh: ``hx-trigger="… from:body"``.
        location: The page with the result, by default the page above the form's address. A browser that is on that
            page, or on a page with several kinds of memories, stays there; other browsers are redirected.
        undo: Offers to undo the change, if the browser stays.
        carried: The notice for the page to which the browser goes.
        stays: Whether a browser may stay, because the page refreshes itself.
    """
    location = location or page_above(request)
    is_scripted = wants_fragment(request)
    if not is_scripted or not stays or shown_page(request) not in (location.partition("?")[0], *ACTED_IN):
        leaving = (
            Response(status_code=204, headers={"HX-Redirect": location} | NOT_KEPT)
            if is_scripted
            else RedirectResponse(location, status_code=303)
        )
        if carried is not None:
            carried.carry(request, leaving)
        return leaving
    if undo is None:
        # The toast replaces an offer to undo. If the form of that offer sent the request, it can no longer send events.
        raised = events({"close-dialog": None, changed: None, "toast": notice})
        return Response(status_code=204, headers=raised | NOT_KEPT)
    part = ENVIRONMENT.get_template("undo.html").render(
        undo=undo, notice=notice, csrf_token=csrf_token(request)
    )
    raised = events({"close-dialog": None, changed: None})
    place = {"HX-Retarget": "#undo", "HX-Reswap": "outerHTML"}
    return HTMLResponse(part, headers={**raised, **NOT_KEPT, **place})


def events(names: Mapping[str, object]) -> dict[str, str]:
    """Return the header that triggers events in the page; a ``toast`` is shown to the operator."""
    return {"HX-Trigger": json.dumps(names)}


def _answer(
    request: Request,
    template: str,
    layout: str,
    *,
    http_status: int | None = None,
    headers: Mapping[str, str] | None = None,
    values: Mapping[str, Any],
) -> HTMLResponse:
    caller = caller_of(request)
    notice = None if wants_fragment(request) else MemoryNotice.in_request(request)
    sections = sidebar(of_installation=caller.principal.of_installation)
    page = ENVIRONMENT.get_template(template).render(
        values,
        layout=layout,
        path=request.url.path,
        sidebar=sections,
        front_page=sections[0].entries[0],
        csrf_token=csrf_token(request),
        may_write=caller.principal.role.includes(Role.WRITER),
        may_admin=caller.principal.role.includes(Role.ADMIN),
        login=caller.principal if caller.means is AuthenticationMethod.LOGIN else None,
        waiting_reviews=getattr(request.state, "waiting_reviews", 0),
        waiting_is_old=is_waiting_old(request),
        now=wording.now(),
        carried=notice,
        instead_of=_instead_of(request),
    )
    if http_status is None:
        http_status = INVALID if values.get("error") or values.get("errors") else HTTPStatus.OK
    answer = HTMLResponse(page, status_code=http_status, headers={**NOT_KEPT, **(headers or {})})
    if notice is not None:
        answer.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return answer


def _instead_of(request: Request) -> str:
    """Return the id of the replaced memory that led to this page; empty if there is none."""
    text = request.query_params.get("instead_of", "")
    try:
        return str(parse_memory_id(text)) if text else ""
    except InvalidInputError:
        return ""


def came_from(request: Request) -> str | None:
    """Return the path and query of the page that sent a form; ``None`` if the browser does not say."""
    sent = request.headers.get("hx-current-url") or request.headers.get("referer", "")
    shown = split_url(sent)
    if shown is None or not shown.path.startswith("/") or shown.path[1:2] in {"/", "\\"}:
        return None
    return f"{shown.path}?{shown.query}" if shown.query else shown.path


def shown_page(request: Request) -> str | None:
    """Return the path of the page from which HTMX sends the request; ``None`` if it is unknown."""
    shown = split_url(request.headers.get("hx-current-url", ""))
    return shown.path if shown else None


def page_above(request: Request) -> str:
    """Return the path of a form without its last part: the page that the form belongs to."""
    return request.url.path.rpartition("/")[0]


def link(path: str, **query: object) -> str:
    """Return a URL with a query; ``None`` and empty values are left out."""
    kept = {name: value for name, value in query.items() if value not in (None, "")}
    return f"{path}?{urlencode(kept, doseq=True)}" if kept else path
