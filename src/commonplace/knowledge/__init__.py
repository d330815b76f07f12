"""Knowledge memory: episodes, facts, rules and entities of many tenants, on PostgreSQL.

:class:`KnowledgeMemory` is the way in. Import from here: the names below are public, and each one loads when it is
first used. The rooms of the package are private to it.
"""

from commonplace.core.public_names import public_names

__all__, __getattr__ = public_names(__name__, __path__[0])
