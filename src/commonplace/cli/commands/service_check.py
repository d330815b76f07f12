"""A check of a team's services: whether each one answers, and how many episodes wait for it."""

from commonplace.core.clock import format_timestamp
from commonplace.core.errors import CommonplaceError, StorageUnavailableError
from commonplace.core.settings import Settings
from commonplace.core.text import plural
from commonplace.hosts.hooks.outbox import Queue, list_queues
from commonplace.hosts.hooks.sessions import SessionRecords
from commonplace.services.team_client import TeamClient


async def check_service(settings: Settings) -> str:
    """Check each service that recent sessions used, and count the episodes that wait for it.

    Raises:
        StorageUnavailableError: A service cannot be reached, or it refuses the token.
    """
    queues = {queue.server: queue for queue in list_queues(settings.home)}
    tokens = _token_files(settings)
    problems: list[str] = []
    found: list[str] = []
    for server in sorted({*tokens, *queues}):
        said, ok = await _state(server, tokens.get(server))
        (found if ok else problems).append(f"{said}{_waiting(queues.get(server))}")
    if problems:
        raise StorageUnavailableError("; ".join([*problems, *found]))
    return "; ".join(found) or "no session uses a service; knowledge memory is in this home"


def _token_files(settings: Settings) -> dict[str, str]:
    """Return the services of the latest session of each project, with their token files."""
    latest = {record.transcript.parent: record for record in reversed(SessionRecords(settings.home).latest())}
    return {record.server: record.token_file for record in latest.values() if record.server}


async def _state(server: str, token_file: str | None) -> tuple[str, bool]:
    if token_file is None:
        return f"no current session uses {server}", True
    try:
        await TeamClient.at(server, token_file).sections(["knowledge"])
    except CommonplaceError as error:
        return str(error), False
    return f"{server} answers", True


def _waiting(queue: Queue | None) -> str:
    if queue is None:
        return ""
    verb = "waits" if queue.episodes == 1 else "wait"
    since = format_timestamp(queue.since, precision="seconds")
    return f" ({plural(queue.episodes, 'episode')} {verb} for it since {since})"
