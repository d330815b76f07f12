"""MCP servers: thin adapters that offer the memories' tools to any MCP client."""
