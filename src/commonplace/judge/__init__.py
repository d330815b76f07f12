"""Judge: compares a newer text with an older one, for all four memories.

`comparing` gives verdicts with the `network`, `stances` finds the texts that a rule or a note repeats or opposes. The
network learned from the pairs in `training/judge`. Import from here: the names below are public, and each one loads
when it is first used.
"""

from commonplace.core.public_names import public_names

__all__, __getattr__ = public_names(__name__, __path__[0])
