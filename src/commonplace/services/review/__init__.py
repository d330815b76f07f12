"""Review: the items of all memories that wait for a person, and the decisions about them.

:class:`~.queue.ReviewQueue` lists, decides and undoes. :mod:`.items` holds its nouns, :mod:`.ids` the grammar of its
ids. :mod:`.observations`, :mod:`.notes`, :mod:`.knowledge` and :mod:`.quarantine` each read and decide the items of
their memories.
"""
