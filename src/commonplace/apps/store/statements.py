"""The named statements of app memory; `make statements` writes their types into the stub beside this file."""

from commonplace.storage.database import Statements


class AppStatements(Statements):
    """Statements of app memory, on one connection."""
