"""The question of an installation whether a folder or file of a host is followed as a source."""

import asyncio
from pathlib import Path
from typing import Final

from commonplace.cli.frame.question import confirmed
from commonplace.core.errors import CommonplaceError
from commonplace.core.quoting import quoted
from commonplace.core.settings import load_settings
from commonplace.core.text import collapse_whitespace, plural, trim_to, visible
from commonplace.hosts.install.offers import offered
from commonplace.hosts.install.registry import AgentHost
from commonplace.knowledge import GLOBAL_SCOPE
from commonplace.projects import Projects
from commonplace.services.sources.files import texts_in
from commonplace.services.sources.registry import SourceRegistry
from commonplace.services.transfer.importers import ImportSource, source_of

MAX_SAMPLE_CHARS: Final = 80


def not_followed(host: AgentHost, home: Path) -> list[Path]:
    """Return the folders and files of a host that are there and not followed yet."""
    followed = {source.path for source in SourceRegistry(home).list()}
    return [path for path in offered(host.name, Path.cwd(), Path.home()) if path not in followed]


async def offer_source(path: Path, *, asks: bool) -> str:
    """Ask whether to follow a folder or file of a host, with what would be stored; return a line for the user."""
    chosen = load_settings(read_current_directory=False).settings
    hint = (
        f"{path} can be followed, so that other hosts know it too: commonplace sources add {path} --dry-run"
    )
    try:
        kind = source_of(path)
        texts = await asyncio.to_thread(texts_in, kind, path, chosen.zone) if asks else []
    except CommonplaceError:
        return hint
    if not texts:
        return hint
    first = trim_to(collapse_whitespace(visible(texts[0])), MAX_SAMPLE_CHARS)
    question = (
        f"Follow {path}, with {plural(len(texts), 'memory', 'memories')} such as {quoted(first)}? "
        "It is read when it changes, and never written."
    )
    if not await confirmed(question):
        return hint
    is_of_user = kind is ImportSource.CODEX_MEMORY
    scope = GLOBAL_SCOPE if is_of_user else Projects(chosen.home).butler_at(Path.cwd())
    source = SourceRegistry(chosen.home).add(path, kind, scope)
    return f"{path} is followed from the next session on. To stop: commonplace sources remove {source.id}"
