"""The dashboard: pages for operators, rendered on the server and made live by HTMX.

How to add a page:

1. A router file named by its noun, for example ``facts.py``. A route reads with one or two functions of a memory, then
   calls :func:`.rendering.render` with a template. A dependency of :mod:`commonplace.web.access` names the required
   role; :class:`.errors.PageRoute` turns errors into pages::

       router = APIRouter(prefix="/knowledge/facts", route_class=PageRoute, include_in_schema=False,
                          dependencies=[Depends(reader)])

       @router.get("")
       async def facts_page(request: Request, knowledge: KnowledgeOfCaller) -> HTMLResponse:
           return render(request, "facts/list.html", facts=await knowledge.…)

2. A line in ``ROUTERS`` of :mod:`.routes` and one in ``SIDEBAR`` of :mod:`.navigation`, with ``of_installation`` if
   other tenants have no access. Icons are in ``icons.html``.

3. A template in ``templates/`` that extends ``layout``. The block ``fragment`` is the part that HTMX replaces: HTMX
   gets this block, the others get the whole page::

       {% extends layout %}
       {% import "ui.html" as ui with context %}
       {% block title %}Facts{% endblock %}
       {% block main %}
       {{ ui.page_header("Facts", "Facts with their history.") }}
       {% call ui.filters("/knowledge/facts", "#facts") %}{{ ui.search("search", "Words", words) }}{% endcall %}
       {% block fragment %}
       <section id="facts" aria-label="Facts" {{ ui.live(pager.url, on="facts-changed") }}>…</section>
       {% endblock %}
       {% endblock %}

The macros of ``ui.html`` are the building blocks, each with a comment; :class:`.paging.Pager` goes with ``pagination``.
Classes are in ``static/app.css``: ``card``, ``columns``, ``table stacks`` with ``data-label`` on cells, ``items``,
``facts``, ``actions``, ``form``. No page has its own CSS.

A change: a link with ``ui.opens(url)`` to a route that returns :func:`.rendering.render_dialog` with a template of the
blocks ``title`` and ``body``; its form has ``ui.posts(url)`` and ``ui.csrf()``. The POST route returns
:func:`.rendering.done`, or the dialog with status 422 and the error at its field (:func:`.errors.message_of`). See
``memory_changes.py`` with ``templates/memories/new.html``.

The content security policy is ``default-src 'self'``: no ``style=`` attribute, no inline script, no ``on…=`` handler. A
script of one page goes into ``static/`` and the block ``scripts``. Without scripts, all links and forms work; HTMX
attributes only extend ``href`` and ``action``. Text of memories passes ``| visible``. Controls of changes are hidden
if ``may_write`` is false.

A card of the overview: a :class:`.cards.Card` in ``CARDS`` of :mod:`.overview` and a template in ``templates/cards/``.

Tests: ``tests/browser/`` with the fixtures of ``tests/support/browser.py``.
"""
