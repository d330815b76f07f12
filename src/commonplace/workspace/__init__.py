"""Workspace memory: small facts about one workspace, kept in a JSONL file inside it.

An agent stores, searches and deletes facts with three tools. The facts that match its last user message go into the
prompt of every model call. Import from here: the names below are public, and each one loads when it is first used.
"""

from typing import TYPE_CHECKING

from commonplace.core.public_names import lazy_names

if TYPE_CHECKING:
    from commonplace.workspace.config import InjectMode, MemoryConfig
    from commonplace.workspace.context import HEADER, Message
    from commonplace.workspace.entries import MAX_TAGS, Memory, Scope
    from commonplace.workspace.guidance import system_prompt_section
    from commonplace.workspace.lines import Problem
    from commonplace.workspace.memory import WorkspaceMemory
    from commonplace.workspace.receipts import DeleteReceipt, StoreReceipt
    from commonplace.workspace.relevance import Relevance
    from commonplace.workspace.search import MAX_RESULTS, SearchResult
    from commonplace.workspace.tools import TOOLS, Tool, call_tool

__all__ = [
    "HEADER",
    "MAX_RESULTS",
    "MAX_TAGS",
    "TOOLS",
    "DeleteReceipt",
    "InjectMode",
    "Memory",
    "MemoryConfig",
    "Message",
    "Problem",
    "Relevance",
    "Scope",
    "SearchResult",
    "StoreReceipt",
    "Tool",
    "WorkspaceMemory",
    "call_tool",
    "system_prompt_section",
]

__getattr__ = lazy_names(
    __name__,
    {
        "config": "InjectMode MemoryConfig",
        "context": "HEADER Message",
        "entries": "MAX_TAGS Memory Scope",
        "guidance": "system_prompt_section",
        "lines": "Problem",
        "memory": "WorkspaceMemory",
        "receipts": "DeleteReceipt StoreReceipt",
        "relevance": "Relevance",
        "search": "MAX_RESULTS SearchResult",
        "tools": "TOOLS Tool call_tool",
    },
)
