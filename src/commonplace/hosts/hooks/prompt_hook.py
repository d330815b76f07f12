"""Hook for a prompt: returns relevant memories that the conversation does not have yet."""

import asyncio
import logging
from typing import Final

from commonplace.core.budgets import budget_chars, share_budget
from commonplace.core.clock import utc_now
from commonplace.core.errors import CommonplaceError
from commonplace.hosts.hooks.deadlines import LESSONS_TIMEOUT_S, RECALL_TIMEOUT_S
from commonplace.hosts.hooks.hook_input import HookCall
from commonplace.hosts.hooks.loaded_texts import loaded_texts
from commonplace.hosts.hooks.seen_lines import SeenLines
from commonplace.knowledge import MAX_PROMPT_CHARS, KnowledgeMemory
from commonplace.language.relative_days import lines_with_past
from commonplace.operational import OperationalMemory
from commonplace.prompts.injected import BETWEEN, FRAME_CHARS, as_data, cut_lines, framed_data
from commonplace.services.briefing import HOST_STYLE, BriefingPart, sessions_block, with_short_ids
from commonplace.services.code.references import CodeReferences
from commonplace.services.named_services import lessons_for
from commonplace.services.team_client import TeamClient
from commonplace.workspace import HEADER, WorkspaceMemory

MAX_INJECTED_CHARS: Final = 10_000
"""The client replaces longer output by its first 2 KB and the path of a file. Source: measured."""

RECALL_TOKENS: Final = 700
"""The budget of knowledge memory for one prompt; the budget of workspace memory is in ``agent.json``."""

LESSON_TOKENS: Final = 300
"""The budget of the lessons of services that a prompt names."""

LOOKED_THROUGH_TOKENS: Final = 3_000
"""The number of memories to recall before memories that the conversation already has are left out."""

_log = logging.getLogger(__name__)


async def user_prompt(call: HookCall, memory: KnowledgeMemory) -> str:
    """Return the memories that fit a prompt, but none a second time.

    These are memories of the workspace, lessons of services that the prompt names, and facts, rules and sessions above
    the minimum relevance.
    """
    seen = SeenLines(call.settings.home, call.session_id)
    today = utc_now().astimezone(call.settings.zone).date()
    references = CodeReferences(call.settings.workspace, call.settings.home, today=today)
    *blocks, knowledge = await asyncio.gather(_lessons(call), _notes(call), _recalled(call, memory))
    blocks += knowledge
    checked = await asyncio.to_thread(lambda: [references.checked(seen.fresh(block)) for block in blocks])
    lessons, notes, *recalled = [seen.fresh(as_data(lines_with_past(block, today))) for block in checked]
    shares = share_budget([len(block) for block in recalled], budget_chars(RECALL_TOKENS))
    recalled = [cut_lines(block, share, title="") for block, share in zip(recalled, shares, strict=True)]
    room = (
        MAX_INJECTED_CHARS
        - FRAME_CHARS
        - sum(len(BETWEEN) + len(block) for block in ("", lessons, *recalled))
    )
    text = framed_data([lessons, cut_lines(notes, room, title=HEADER), *recalled])
    try:
        seen.add(text)
    except OSError as error:
        _log.error("session %s: later prompts may repeat this one's memories: %s", call.session_id, error)
    return text


async def _lessons(call: HookCall) -> str:
    """Return the lessons of the services that a prompt names; empty if operational memory is new or fails."""
    settings = call.settings
    if call.service is not None or not (settings.database_is_postgres or settings.database_path.exists()):
        return ""
    try:
        async with asyncio.timeout(LESSONS_TIMEOUT_S), OperationalMemory.open(settings) as operational:
            return (await lessons_for(operational, call.prompt, budget_tokens=LESSON_TOKENS)).text
    except (CommonplaceError, OSError) as error:
        reason = str(error) or f"no answer within {LESSONS_TIMEOUT_S:g} s"
        _log.error("session %s: a prompt gets no lessons: %s", call.session_id, reason)
    except Exception:  # noqa: BLE001 - the fail-open boundary: the prompt goes on without lessons
        _log.exception("session %s: a prompt gets no lessons", call.session_id)
    return ""


async def _notes(call: HookCall) -> str:
    """Return the block of the workspace; empty if its directory is gone."""
    if not call.has_workspace:
        _log.warning("session %s: the directory %s is gone", call.session_id, call.settings.workspace)
        return ""
    async with WorkspaceMemory.open(call.settings) as workspace:
        return with_short_ids(await workspace.context(call.prompt, dates=True))


async def _recalled(call: HookCall, memory: KnowledgeMemory) -> list[str]:
    """Return the blocks of knowledge memory for a prompt; no blocks if it does not answer in time."""
    if not call.prompt.strip():
        return []
    try:
        async with asyncio.timeout(RECALL_TIMEOUT_S):
            if call.service is not None:
                return await _from_service(call.service, call)
            return await _from_home(memory, call) if call.has_knowledge else []
    except (CommonplaceError, OSError) as error:
        reason = str(error) or f"no answer within {RECALL_TIMEOUT_S:g} s"
        _log.error("session %s: a prompt gets no knowledge: %s", call.session_id, reason)
    except Exception:  # noqa: BLE001 - the fail-open boundary: the prompt goes on with the workspace's memories
        _log.exception("session %s: a prompt gets no knowledge", call.session_id)
    return []


async def _from_home(memory: KnowledgeMemory, call: HookCall) -> list[str]:
    butler = call.butler
    known = await memory.context(
        call.prompt,
        butler,
        budget_tokens=LOOKED_THROUGH_TOKENS,
        style=HOST_STYLE,
        hides=loaded_texts(call).repeat,
    )
    return [known, await sessions_block(memory, call.prompt, butler, but=call.session_id)]


async def _from_service(service: TeamClient, call: HookCall) -> list[str]:
    sections = await service.sections(
        [BriefingPart.KNOWLEDGE, BriefingPart.SESSIONS],
        prompt=call.prompt[:MAX_PROMPT_CHARS],
        butler=call.butler,
        budgetTokens=LOOKED_THROUGH_TOKENS,
        butSession=call.session_id,
    )
    return list(sections.values())
