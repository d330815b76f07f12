"""Access: the tokens that let people and programs in, the logins of browsers, and roles.

Import from here: the names below are public, and each one loads when it is first used.
"""

from typing import TYPE_CHECKING

from commonplace.core.public_names import lazy_names

if TYPE_CHECKING:
    from commonplace.access.logins import LIFETIME, Login, Logins, Visitor
    from commonplace.access.roles import LOCAL, Principal, Role
    from commonplace.access.tokens import PREFIX, IssuedToken, Token, Tokens, TokenState

__all__ = [
    "LIFETIME",
    "LOCAL",
    "PREFIX",
    "IssuedToken",
    "Login",
    "Logins",
    "Principal",
    "Role",
    "Token",
    "TokenState",
    "Tokens",
    "Visitor",
]

__getattr__ = lazy_names(
    __name__,
    {
        "logins": "LIFETIME Login Logins Visitor",
        "roles": "LOCAL Principal Role",
        "tokens": "PREFIX IssuedToken Token TokenState Tokens",
    },
)
