"""SQL scripts of revisions: each lies beside its revision, under the same name."""

import re
from pathlib import Path
from typing import Final

from alembic import op

_STATEMENT: Final = re.compile(r"\s*((?:--[^\n]*|\$\$.*?\$\$|[^;$])++);", re.DOTALL)
"""A statement up to its semicolon, with its comment; the body of a function stands in dollar quotes."""


def run_script(revision_file: str) -> None:
    """Run the statements of a revision's script.

    ``revision_file`` is the ``__file__`` of the revision.
    """
    for statement in _STATEMENT.findall(Path(revision_file).with_suffix(".sql").read_text(encoding="utf-8")):
        op.execute(statement)
