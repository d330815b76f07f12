"""The occasions of a rule: words at its end that say when it is needed, for searches and not for readers. Pure.

"No fish on Fridays (When: booking a table, cooking for guests)" is found by a prompt about a restaurant, which has no
word of the rule. The vector, the words of a search and the reranker read the whole text; a line of a block and a
comparison with other rules have the rule alone.

Source: SHW-11, ADR 0036.
"""

import re
from typing import Final

_OCCASIONS: Final = re.compile(r"\s*\(When: [^()]*\)\.?\s*$")


def without_occasions(text: str) -> str:
    """Return the text of a rule without its occasions; a text that has nothing else stays."""
    return _OCCASIONS.sub("", text) or text
