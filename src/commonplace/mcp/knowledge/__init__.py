"""The ``knowledge`` MCP server: 19 tools over knowledge memory (KNW-19)."""
