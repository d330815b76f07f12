"""The three built-in tools of the agent, and their answers to the model.

A host with its own loop offers ``TOOLS`` to its model and passes each call to ``call_tool``; the MCP server does the
same. The model always gets JSON, even for bad arguments.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from commonplace.core.clock import format_timestamp
from commonplace.core.errors import CommonplaceError, InvalidInputError, NotFoundError, SecretRefusedError
from commonplace.workspace.memory import WorkspaceMemory
from commonplace.workspace.model.bounds import MAX_RESULTS, MAX_TAG_CHARS, MAX_TAGS, MAX_TEXT_CHARS
from commonplace.workspace.model.memories import DEFAULT_SCOPE, NoteScope
from commonplace.workspace.rules.remarks import related_ids, remark_on

SECRET_REFUSED: Final = "text appears to contain a secret — not stored"  # noqa: S105 - a message, not a secret
"""The error of a refused store. Source: WSP-03.4."""

_log = logging.getLogger(__name__)

_Handler = Callable[[WorkspaceMemory, Mapping[str, Any]], Awaitable[dict[str, Any]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool in the form that model APIs take, with its handler.

    Attributes:
        name: The name in a model's call.
        reads_only: Whether the tool leaves the memory unchanged.
        destroys: Whether the effect of the tool cannot be undone.
        run: Takes the memory and the arguments, and returns the result.
    """

    name: str
    title: str
    description: str
    parameters: dict[str, Any]
    reads_only: bool
    destroys: bool
    run: _Handler


async def call_tool(memory: WorkspaceMemory, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Run a tool for a model.

    Returns:
        The result as specified, or ``{"ok": false, "error": …}`` with a sentence that says what to do; in this case
        nothing was written.
    """
    try:
        tool = next((tool for tool in TOOLS if tool.name == name), None)
        if tool is None:
            raise InvalidInputError("tool", f"one of {', '.join(tool.name for tool in TOOLS)}", name)
        known: dict[str, Any] = tool.parameters["properties"]
        for argument in arguments:
            if argument not in known:
                raise InvalidInputError("arguments", f"{' and '.join(known)} for {name}", argument)
        return await tool.run(memory, arguments)
    except SecretRefusedError as error:
        _log.info("%s", error)
        return _refusal(SECRET_REFUSED)
    except NotFoundError as error:
        return _refusal(f"{error}; use memory_search to find existing ids")
    except CommonplaceError as error:
        return _refusal(str(error))


def _refusal(reason: str) -> dict[str, Any]:
    return {"ok": False, "error": reason}


async def _store(memory: WorkspaceMemory, arguments: Mapping[str, Any]) -> dict[str, Any]:
    receipt = await memory.store(
        cast("str", arguments.get("text")),
        tags=arguments.get("tags"),
        scope=arguments.get("scope"),
        replaces=arguments.get("replaces"),
    )
    remark = remark_on(receipt)
    answer = {"ok": True, "id": receipt.id, **related_ids(receipt)}
    return answer | {"note": remark} if remark else answer


async def _search(memory: WorkspaceMemory, arguments: Mapping[str, Any]) -> dict[str, Any]:
    result = await memory.search(arguments.get("query"), tag=arguments.get("tag"))
    return {
        "count": result.count,
        "memories": [
            {
                "id": found.id,
                "text": found.text,
                "tags": list(found.tags),
                "ts": format_timestamp(found.created_at, precision="seconds"),
            }
            for found in result.memories
        ],
    }


async def _delete(memory: WorkspaceMemory, arguments: Mapping[str, Any]) -> dict[str, Any]:
    await memory.delete(cast("str", arguments.get("id")))
    return {"ok": True}


def _schema(properties: dict[str, Any], *, required: tuple[str, ...] = ()) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**schema, "required": list(required)} if required else schema


TOOLS: Final = (
    Tool(
        name="memory_store",
        title="Store a note",
        description=(
            "Store one stable fact about the user or this workspace for later sessions: a preference, a decision, "
            "a detail of the setup. Store one note a call, in words that make sense on their own. Do not store "
            "secrets, steps of the current task, or information already in files. To correct a note, store "
            "the corrected one and name the old one with replaces. Returns the id of the note: of the one that is "
            "there, if it says the same. If the answer has a note about a contradiction, tell the user."
        ),
        parameters=_schema(
            {
                "text": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": MAX_TEXT_CHARS,
                    "description": f"The fact or note to remember, at most {MAX_TEXT_CHARS} characters.",
                },
                "tags": {
                    "type": "array",
                    "items": {"type": "string", "minLength": 1, "maxLength": MAX_TAG_CHARS},
                    "maxItems": MAX_TAGS,
                    "description": 'Short labels for the note, the main one first, such as ["infra", "deploy"].',
                },
                "scope": {
                    "type": "string",
                    "enum": list(NoteScope),
                    "default": DEFAULT_SCOPE,
                    "description": "The subject of the note: the user, this workspace, or this session only.",
                },
                "replaces": {
                    "type": "string",
                    "description": "The id of the note that is wrong or outdated and that this one corrects, such as "
                    "m-4.",
                },
            },
            required=("text",),
        ),
        reads_only=False,
        destroys=False,
        run=_store,
    ),
    Tool(
        name="memory_search",
        title="Search memories",
        description=(
            f"Find memories of this workspace, newest first, at most {MAX_RESULTS}. With query and tag, both must "
            "match; with neither, the most recent memories are returned. The query is matched as one piece of text, "
            "so use a single distinctive word rather than a question."
        ),
        parameters=_schema(
            {
                "query": {
                    "type": "string",
                    "description": "A part of the text; case does not matter.",
                },
                "tag": {"type": "string", "description": "A whole tag of the memory."},
            }
        ),
        reads_only=True,
        destroys=False,
        run=_search,
    ),
    Tool(
        name="memory_delete",
        title="Delete a memory",
        description=(
            "Delete an outdated or wrong memory for good. The [Memories] block and the results of memory_search "
            "show its id."
        ),
        parameters=_schema(
            {"id": {"type": "string", "description": "The id of the memory, such as m-4."}}, required=("id",)
        ),
        reads_only=False,
        destroys=True,
        run=_delete,
    ),
)
"""The tools, in the order in which they are shown. Source: WSP-02, WSP-05, WSP-06."""
