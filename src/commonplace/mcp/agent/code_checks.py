"""Notes in the answers of the tools on files, commands and symbols of the project that are gone or have changed.

Source: FOL-03.
"""

import asyncio
import json
from collections.abc import Sequence
from typing import Any, Final

import mcp_types
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import ToolResult

from commonplace.core.clock import utc_now
from commonplace.core.settings import Settings
from commonplace.mcp.agent.tools import TOOLS
from commonplace.mcp.protocol.profiles import View
from commonplace.services.code.references import CodeReferences

READING: Final = frozenset({"memory_search", "memory_get"})
"""The tools whose answers are checked; the briefing checks its own lines."""


class CheckCode(Middleware):
    """Middleware that adds a note to memories whose references to code are outdated, and puts them last.

    Args:
        settings: Name the directory of the project, the home and the time zone.
        view: Names the tools.
    """

    def __init__(self, settings: Settings, view: View) -> None:
        self._settings = settings
        names = view.names(TOOLS)
        self._tools = {names.shown(spec.name) for spec in TOOLS if spec.name in READING}

    async def on_call_tool(
        self,
        context: MiddlewareContext[mcp_types.CallToolRequestParams],
        call_next: CallNext[mcp_types.CallToolRequestParams, ToolResult],
    ) -> ToolResult:
        """Check the memories of an answer."""
        answer = await call_next(context)
        content = answer.structured_content
        if context.message.name not in self._tools or answer.is_error or not content:
            return answer
        records: Sequence[dict[str, Any]] = content.get("results", [content])
        remarks = await asyncio.to_thread(self._remarks, [str(each.get("text", "")) for each in records])
        if not any(remarks):
            return answer
        pairs = sorted(zip(records, remarks, strict=True), key=lambda pair: bool(pair[1]))
        records = [_with_note(record, remark) for record, remark in pairs]
        content = {**content, "results": records} if "results" in content else records[0]
        return ToolResult(content=json.dumps(content, ensure_ascii=False), structured_content=content)

    def _remarks(self, texts: Sequence[str]) -> list[str]:
        today = utc_now().astimezone(self._settings.zone).date()
        return CodeReferences(self._settings.workspace, self._settings.home, today=today).remarks(texts)


def _with_note(record: dict[str, Any], remark: str) -> dict[str, Any]:
    note = ". ".join(each for each in (record.get("note", ""), remark) if each)
    return {**record, "note": note} if remark else record
