"""The named statements of storage; `make statements` writes their types into the stub beside this file."""

from commonplace.storage.database import Statements


class StepStatements(Statements):
    """Statements that make consecutive steps of one transaction, on one connection."""


class RequestStatements(Statements):
    """Statements about the answers of requests with a key."""
