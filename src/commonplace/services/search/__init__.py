"""One search over all four memories, and lists of their newest items.

:mod:`.searching` has :func:`~.searching.search_all` and :func:`~.searching.search_home`. :mod:`.items` holds the items
and what may narrow a search; :mod:`.reading` reads them from each memory; :mod:`.ranking` makes one list of them.
"""
