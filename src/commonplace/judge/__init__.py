"""Judge: compares a new text with an old one.

`stances` compares rules and notes, `verdicts` compares the observations of operational memory, by `features`. The other
modules read texts. Import from here: the names below are public, and each one loads when it is first used.
"""

from commonplace.core.public_names import public_names

__all__, __getattr__ = public_names(__name__, __path__[0])
