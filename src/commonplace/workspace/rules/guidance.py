"""The section of the system prompt that tells the agent how to use its memory."""

from typing import Final

GUIDANCE: Final = """\
You have persistent memory tools. Use memory_store when:
- The user explicitly asks you to remember something
- You learn a stable fact about the user or project that will be useful across sessions
Do NOT store: transient task context, secrets/tokens, or information already in files.
Use memory_delete to remove outdated memories. Memories are automatically surfaced in your context when relevant."""
"""The section, word for word. Source: WSP-12."""


def system_prompt_section() -> str:
    """Return the section that a host adds to its system prompt."""
    return GUIDANCE
