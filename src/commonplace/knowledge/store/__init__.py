"""Storage: the open database, the acting tenant and actor, transactions, outages, and the statements in ``sql/``.

Nothing here decides what a memory says; see ``rules/``.
"""
