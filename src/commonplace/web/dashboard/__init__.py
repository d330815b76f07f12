"""The dashboard: pages for operators, rendered on the server, made live by HTMX.

How to add a page:

1. A router file, named by its noun, for example ``facts.py``. Routes are thin: read with one or two functions of a
   memory, then :func:`.rendering.render` a template. Say who may see it with a dependency of
   :mod:`commonplace.web.access`, and let errors become pages with :class:`.errors.PageRoute`::

       router = APIRouter(prefix="/knowledge/facts", route_class=PageRoute, include_in_schema=False,
                          dependencies=[Depends(reader)])

       @router.get("")
       async def facts_page(request: Request, knowledge: KnowledgeOfCaller) -> HTMLResponse:
           return render(request, "facts/list.html", facts=await knowledge.…)

2. A line for it in ``ROUTERS`` of :mod:`.routes`, and one in ``SIDEBAR`` of :mod:`.navigation`, with
   ``of_installation`` where other tenants are refused; icons are in ``icons.html``.

3. A template in ``templates/``. It extends ``layout``, imports the pieces, and puts what HTMX replaces into the block
   ``fragment``: a request of HTMX gets that block alone, everybody else the whole page::

       {% extends layout %}
       {% import "ui.html" as ui with context %}
       {% block title %}Facts{% endblock %}
       {% block main %}
       {{ ui.page_header("Facts", "What is known.") }}
       {% call ui.filters("/knowledge/facts", "#facts") %}{{ ui.search("search", "Words", words) }}{% endcall %}
       {% block fragment %}
       <section id="facts" aria-label="Facts" {{ ui.live(pager.url, on="facts-changed") }}>…</section>
       {% endblock %}
       {% endblock %}

The pieces (macros of ``ui.html``): ``page_header``, ``filters`` with ``search`` and ``choice``, ``tabs``, ``sortable``,
``pagination`` (with :class:`.paging.Pager`), ``badge``, ``kind``, ``service``, ``confidence``, ``time``, ``figure``,
``chart``, ``empty``, ``error_line``, ``field`` with ``described`` and ``slider``; as attributes ``live`` (reads itself
anew), ``swaps`` (a link inside a live part), ``opens`` (a link to a dialog), ``posts`` (a form in a dialog), ``csrf``
(in every form that posts). Classes for the rest are in ``static/app.css``: ``card``, ``columns``, ``table stacks`` with
``data-label`` on cells, ``items``, ``facts``, ``actions``, ``form``. No page has its own CSS or script.

A change: a link with ``ui.opens(url)`` to a route that answers :func:`.rendering.render_dialog` with a template of the
blocks ``title`` and ``body``; its form has ``ui.posts(url)`` and ``ui.csrf()``. The POST answers
:func:`.rendering.done`, or the same dialog with status 422 and the error at its field (:func:`.errors.message_of`).
``memory_changes.py`` with ``templates/memories/new.html`` is the example.

The policy of the pages is ``default-src 'self'``: no ``style=`` attribute, no inline script, no ``on…=`` handler. A
script of one page goes into ``static/`` and its block ``scripts``. Without scripts every link and form works; HTMX
attributes only add to ``href`` and ``action``. Text of memories passes ``| visible``. Where ``may_write`` is
false, what changes something is left out.

A card of the overview: a :class:`.cards.Card` in ``CARDS`` of :mod:`.overview`, and a template in ``templates/cards/``.

Tests: ``tests/browser/`` with the fixtures of ``tests/support/browser.py``.
"""
