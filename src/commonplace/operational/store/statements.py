"""The named statements of operational memory; `make statements` writes their types into the stub beside this file."""

from commonplace.storage.database import Statements


class OperationalStatements(Statements):
    """Statements of operational memory, on one connection."""
