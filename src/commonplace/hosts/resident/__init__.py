"""The resident process: one per home, which answers hooks with an open memory and a loaded model.

- ``client`` uses only the standard library. It asks the resident process, and starts one if necessary.
- ``resident_socket`` is the socket in the home and the lock of the listening process.
- ``start`` is the module that the process runs: it listens first and imports the memories afterwards.
- ``server`` answers requests.
- ``fork_server`` is a child of the process. It imports everything, and forks for each command and MCP server.
- ``fork_client`` uses only the standard library. It runs a command in such a fork, and passes signals on.
- ``preload`` prepares the child before it forks: parsers, tools, statements and the model.

The process ends when nobody needs it. Hooks, commands and servers can always do their own work without it.
"""
