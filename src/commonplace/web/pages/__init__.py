"""The dashboard: pages for operators, rendered on the server and made live by HTMX.

How to add a page:

1. A file named by its noun, for example ``facts.py``, with a router of :func:`.errors.pages`, which names the required
   role and turns errors into pages. A route reads with one or two functions of a memory, then calls
   :func:`.rendering.render` with a template. The filters of a list are a :class:`.paging.Filters`::

       router = pages("/knowledge/facts", reader)

       class FactFilters(Filters):
           scope: Name = ""

       @router.get("")
       async def facts_page(
           request: Request, knowledge: KnowledgeOfCaller, wanted: Annotated[FactFilters, Query()]
       ) -> HTMLResponse:
           facts, pager = await cut_page(request, wanted, knowledge.list_facts)
           return render(request, "facts/list.html", facts=facts, pager=pager)

2. A name in ``PAGES`` of :mod:`.routes` and a line in ``SIDEBAR`` of :mod:`.navigation`, with ``of_installation`` if
   other tenants have no access. Icons are in ``icons.html``.

3. A template in ``templates/`` that extends ``layout``. The block ``fragment`` is the part that HTMX replaces: HTMX
   gets this block, the others get the whole page::

       {% extends layout %}
       {% import "ui.html" as ui with context %}
       {% block title %}Facts{% endblock %}
       {% block main %}
       {{ ui.page_header("Facts", "Facts with their history.") }}
       {% call ui.filters("/knowledge/facts", "#facts") %}
       {{ ui.search("scope", "Scope", pager.query.scope) }}
       {% endcall %}
       {% block fragment %}
       <section id="facts" aria-label="Facts" {{ ui.live(pager.url, on="facts-changed") }}>…</section>
       {% endblock %}
       {% endblock %}

The macros of ``ui.html`` are the building blocks, each with a comment; :class:`.paging.Pager` goes with ``pagination``.
Classes are in ``static/app.css``: ``card``, ``columns``, ``table stacks`` with ``data-label`` on cells, ``items``,
``facts``, ``actions``, ``form``. No page has its own CSS.

A change: a link with ``ui.opens(url)`` to a route that returns :func:`.rendering.render_dialog` with a template of the
blocks ``title`` and ``body``; its form has ``ui.posts(url)`` and ``ui.csrf()``. The POST route takes the values of the
form as a model and returns :func:`.rendering.done`, or the dialog with the error at its field
(:func:`.errors.message_of`). See ``memory_changes.py`` with ``templates/memories/new.html``. A change that needs only a
confirmation asks with :func:`.questions.ask`.

The content security policy is ``default-src 'self'``: no ``style=`` attribute, no inline script, no ``on…=`` handler. A
script of one page goes into ``static/`` and the block ``scripts``. Without scripts, all links and forms work; HTMX
attributes only extend ``href`` and ``action``. Text of memories passes ``| visible``. Controls of changes are hidden
if ``may_write`` is false.

A row or page of a memory has ``ui.memory_id(kind, key)`` and ``ui.verbs(kind, key, …)``, whose forms post to the verbs
of :mod:`.catalog.verbs`; the notice about the change comes from :class:`.notices.MemoryNotice`.

A card of the overview: a :class:`.cards.Card` in ``CARDS`` of :mod:`.overview` and a template in ``templates/cards/``.

Tests: ``tests/browser/`` with the fixtures of ``tests/support/browser.py``.
"""
