"""Judge: compares a new text with an old one.

`verdicts` decides by `features`; the other modules read and compare texts. Import what `__all__` lists.
"""

from commonplace.judge.verdicts import Judgement, Verdict, joined, judge, tokens_of

__all__ = ["Judgement", "Verdict", "joined", "judge", "tokens_of"]
