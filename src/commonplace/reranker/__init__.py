"""Reranker: does a memory help with a prompt?

A network reads a prompt and a memory together. It learned from prompts whose helpful memories people named
(`training/reranker`); a cross-encoder of the hub may take its place. Import from here: the names below are public, and
each one loads when it is first used.
"""

from commonplace.core.public_names import public_names

__all__, __getattr__ = public_names(__name__, __path__[0])
