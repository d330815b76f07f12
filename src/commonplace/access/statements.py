"""The named statements of tokens and logins; `make statements` writes their types into the stub beside this file."""

from commonplace.storage.database import Statements


class AccessStatements(Statements):
    """Statements of tokens and logins, on one connection."""
