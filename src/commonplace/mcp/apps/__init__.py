"""The ``apps`` MCP server: conversations of apps, their memories, and the block for a prompt."""
