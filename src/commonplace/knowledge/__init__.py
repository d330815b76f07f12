"""Knowledge memory: episodes, facts, rules and entities of many tenants, on PostgreSQL.

The entry point is :class:`KnowledgeMemory`. Import from here: the names below are public, and each one loads when it is
first used. The subpackages are private.
"""

from commonplace.core.public_names import public_names

__all__, __getattr__ = public_names(__name__, __path__[0])
