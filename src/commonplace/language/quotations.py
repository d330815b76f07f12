"""Quoted words and code in a text. Pure."""

import re
from typing import Final

_QUOTED: Final = re.compile(
    r"```.*?```|`[^`]*`|\"[^\"]*\"|\u201c[^\u201d\u201c]*[\u201d\u201c]|\u201e[^\u201c\u201d]*[\u201c\u201d]|\u00ab[^\u00bb]*\u00bb"
    r"|\u00bb[^\u00ab]*\u00ab|(?<!\w)'[^']+'(?!\w)|\u2039[^\u203a]*\u203a|https?://\S+",
    re.DOTALL,
)


def without_quotations(text: str) -> str:
    """Return a text of the same length with ``~`` for each character of quotations, code and addresses."""
    return _QUOTED.sub(lambda match: "~" * len(match[0]), text)
