"""Parts that every MCP server of the package shares: tools, profiles, parameters and transport."""
