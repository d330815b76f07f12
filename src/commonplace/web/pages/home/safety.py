"""Keep safe: tokens, backups, exports and erasure, with the commands that do them.

A browser that somebody left open must not make tokens, copy all memories or delete them permanently, so the page says
the commands, which only the owner of the home can run.
"""

from dataclasses import dataclass
from typing import Final

from fastapi import Request
from fastapi.responses import HTMLResponse

from commonplace.web.http.access import OpenMemories, installation_reader
from commonplace.web.pages.layout.errors import pages
from commonplace.web.pages.layout.rendering import render

router = pages("/safe", installation_reader)


@dataclass(frozen=True, slots=True, kw_only=True)
class SafetyTask:
    """A task with its commands.

    Attributes:
        text: What the task does and what it leaves out, in sentences.
        steps: What each command does, and the command.
    """

    title: str
    text: str
    steps: tuple[tuple[str, str], ...]


TASKS: Final = (
    SafetyTask(
        title="Backup",
        text="A backup is one file with all memories, tokens and transcripts of this home, verified before it gets "
        "its name. Keep it on another disk.",
        steps=(
            ("Write a backup", "commonplace backup /mnt/disk/commonplace.tar.gz"),
            ("Restore it, for example on a new laptop", "commonplace restore /mnt/disk/commonplace.tar.gz"),
        ),
    ),
    SafetyTask(
        title="Export",
        text="An export is text that people and other programs can read.",
        steps=(
            ("Write JSON Lines", "commonplace export memories.jsonl"),
            ("Write a folder of Markdown", "commonplace export memories/"),
        ),
    ),
    SafetyTask(
        title="Tokens",
        text="A token lets a program or a person on another machine in. The secret is shown once, to the terminal "
        "that made it.",
        steps=(
            ("List the tokens", "commonplace token list"),
            ("Create a token that may only read", "commonplace token create --role reader"),
            ("Revoke a token, and end its logins", "commonplace token revoke ID"),
        ),
    ),
    SafetyTask(
        title="Erase",
        text="Forgetting hides a memory and can be undone. Erasing deletes it from every table and file of the home, "
        "and cannot be undone.",
        steps=(
            ("Show what would be deleted", 'commonplace erase --subject "Ada" --dry-run'),
            ("Delete everything about a subject", 'commonplace erase --subject "Ada"'),
        ),
    ),
)


@router.get("")
async def safety(request: Request, memories: OpenMemories) -> HTMLResponse:
    """Show the tasks with their commands, and where the home is."""
    home = memories.knowledge.database.settings.home
    return render(request, "safety.html", tasks=TASKS, home=home)
