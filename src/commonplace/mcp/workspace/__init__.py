"""MCP server of workspace memory."""
