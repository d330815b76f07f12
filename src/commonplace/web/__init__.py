"""The HTTP service: REST API, dashboard, MCP servers, health check and metrics over the memories.

:mod:`.service` builds the application, :mod:`.serving` runs it. A route calls one function of a memory and converts
the result to a shape; no route knows how memories are stored.
"""
