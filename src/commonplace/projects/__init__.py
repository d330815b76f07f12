"""Projects and their identities.

Two projects never share an identity, even if they have the same name. The id of a project is its butler and its scope
in knowledge memory. Import from here: the names below are public, and each one loads when it is first used.
"""

from commonplace.core.public_names import public_names

__all__, __getattr__ = public_names(__name__, __path__[0])
