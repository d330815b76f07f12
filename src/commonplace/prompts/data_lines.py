"""Text of memories as lines of data in a prompt: a line that cannot open or close any structure around it.

A memory can contain text by an attacker: a tag that ends its fence, a heading, the mark of another role, characters
that hide or reverse text. Only the text in the prompt changes; the stored text stays the same.
Source: R-OPS-2, R-WSP-4, HRD-02.
"""

import re
from typing import Final

from commonplace.core.text import collapse_whitespace

OPENERS: Final = (
    "<\uff1c\ufe64\u2039\u3008\u2329\u27e8\u276e\u2770\u29fc\u1438\u02c2\u227a\u226a\u226e\u00ab\u300a"
)
"""Characters that read as the beginning of a tag."""
SLASHES: Final = "/\\\\\uff0f\uff3c\ufe68\u2044\u2215\u2216\u29f8\u29f5\u2571\u2572\u1735"
UNSEEN: Final = (
    r"\s\x00-\x1f\x7f-\xa0\xad\u034f\u0300-\u036f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    r"\u2028-\u202f\u205f-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff"
)
"""Blanks, controls, joiners, variation selectors and marks, which are invisible between two characters."""
ESCAPED_OPENER: Final = "&lt;"

_HARMLESS: Final = re.compile(r"[\w .,;'\"()!?/_=+*%&@$\n\t-]*", re.ASCII)
"""Texts that no other pattern of this module changes; most memories are such texts."""

_HIDDEN: Final = re.compile(
    r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff"
    r"\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
"""Controls that are not blanks, direction marks, and characters without a shape. Joiners stay: emoji, Persian and
Hindi need them."""
_TAG: Final = re.compile(
    rf"[{OPENERS}](?=[{UNSEEN}]*(?:[{SLASHES}]|[|\uff5c]|<SYS|(?:start|end)_of_|function_|invoke\b|antml"
    r"|(?:system|user|assistant|human|developer|operational|memor(?:y|ies))[\w -]*>))",
    re.IGNORECASE,
)
_ROLE: Final = re.compile(
    r"\b((?:[Hh]uman|HUMAN|A(?:ssistant|SSISTANT)|S(?:ystem|YSTEM)|U(?:ser|SER)|D(?:eveloper|EVELOPER)))\s?:"
)
_HEADING: Final = re.compile(r"(?<!\S)#{1,6}(?=\s|\Z)")
_INSTRUCTION: Final = re.compile(r"\[(/?INST)\]")
_CODE_FENCE: Final = re.compile(r"`{3,}|~{3,}")


def data_line(text: str) -> str:
    """Return a text as one line that is safe in a block of memories.

    Line breaks become blanks, and hidden characters and direction marks are removed. The rest stays readable:

    - ``<`` of a closing tag, of a role's tag and of ``<|`` becomes ``&lt;``
    - ``##`` in front of a blank becomes full-width, as does the colon of ``Human:`` and other roles
    - ``[INST]`` gets braces, a fence of backticks becomes apostrophes
    """
    if _HARMLESS.fullmatch(text):
        return collapse_whitespace(text)
    line = collapse_whitespace(_HIDDEN.sub("", text))
    line = _TAG.sub(ESCAPED_OPENER, line)
    line = _ROLE.sub("\\1\uff1a", line)
    line = _HEADING.sub(lambda found: "\uff03" * len(found[0]), line)
    return _CODE_FENCE.sub("'''", _INSTRUCTION.sub(r"{\1}", line))
