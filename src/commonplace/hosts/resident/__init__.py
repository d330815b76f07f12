"""The resident process: one per home, which answers hooks with an open memory and a loaded model.

- ``client`` uses only the standard library. It asks the resident process, and starts one if necessary.
- ``resident_socket`` is the socket in the home and the lock of the listening process.
- ``start`` is the module that the process runs: it listens first and imports the memories afterwards.
- ``server`` answers requests.
- ``mcp_fork_server`` is a child of the process. It preloads the modules of MCP servers, and forks for each server that
  starts.
- ``preload`` prepares the child before it forks: it builds a server and lists its tools.

The process ends when nobody needs it. Hooks and servers can always do their own work without it.
"""
