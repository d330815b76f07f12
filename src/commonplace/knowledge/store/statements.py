"""The named statements of knowledge memory; `make statements` writes their types into the stub beside this file."""

from commonplace.storage.database import Statements


class KnowledgeStatements(Statements):
    """Statements of knowledge memory, in a transaction of one tenant."""


class KindStatements(Statements):
    """Statements that are written once for several kinds of memory, for one kind."""


class MoveStatements(Statements):
    """Statements of a move to another embedding model that are written once, for one table."""


class SearchStatements(Statements):
    """Statements of a search, made for the tables and conditions of the search."""


class QueueStatements(Statements):
    """Statements of the workers' queue, on one connection."""
