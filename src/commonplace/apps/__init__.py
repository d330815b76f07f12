"""App memory: at most ten digests per space, made from an app's ended conversations.

A model sees them when a conversation of the app is in focus again. Rules are pure functions. The digest worker
makes memories, and the compactor keeps ten of them. Import from this package: each public name loads at its first use.
"""

from commonplace.core.public_names import public_names

__all__, __getattr__ = public_names(__name__, __path__[0])
