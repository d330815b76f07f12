"""Console blocks of a page: commands after ``$``, each with the output that a reader will see."""

import re
from collections.abc import Callable
from pathlib import Path

PROMPT = "$ "
BLOCK = re.compile(r"(?<=```console\n).*?(?=```)", re.DOTALL)
CHANGING = (
    (re.compile(r"\b([fren]):[0-9a-hjkmnp-tv-z]{5}\b"), r"\1:....."),
    (re.compile(r"\b\d{4}-\d\d-\d\d(?: \d\d:\d\d)?"), "a date"),
    (re.compile(r"[ \t]+$", re.MULTILINE), ""),
)
"""What is another in each run: ids that are drawn, and the time."""


def has_console(page: Path) -> bool:
    """Return whether a page has console blocks."""
    return BLOCK.search(page.read_text(encoding="utf-8")) is not None


def steady(output: str) -> str:
    """Return an output without what is another in each run."""
    for form, put in CHANGING:
        output = form.sub(put, output)
    return output.strip()


def replayed(text: str, run: Callable[[str], str]) -> str:
    """Return a page with the outputs of its commands; an output stays where only ids or times differ."""
    return BLOCK.sub(lambda block: _block(block[0], run), text)


def _block(block: str, run: Callable[[str], str]) -> str:
    shown: list[str] = []
    for part in re.split(r"^(?=\$ )", block, flags=re.MULTILINE):
        if not part.startswith(PROMPT):
            shown.append(part)
            continue
        command, _, old = part.removeprefix(PROMPT).partition("\n")
        new = run(command).strip("\n")
        kept = old if steady(old) == steady(new) else f"{new}\n" if new else ""
        shown.append(f"{PROMPT}{command}\n{kept}")
    return "".join(shown)
